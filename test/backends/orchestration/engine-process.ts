/** A program that serves the engine and the definition store until it is killed. Arguments: data directory, clock offset in ms. */
import { join } from 'node:path'
import pino from 'pino'
import { definitionsBackend } from '../../../src/backends/definitions/definitions.ts'
import { createBackendServer } from '../../../src/backends/hosting/server.ts'
import { orchestrationBackend } from '../../../src/backends/orchestration/orchestration.ts'
import { defaultOutsideSettings } from '../../../src/backends/outside/settings.ts'
import type { CallService } from '../../../src/ports/service-call.ts'
import { openDatabase } from '../../../src/storage/database.ts'
import { defaults } from '../../support/backend-settings.ts'

const [dataDir, offsetMs] = process.argv.slice(2)
let base = ''

const call: CallService = async (service, { method, path, body, headers }) => {
  const answer = await fetch(`${base}/${service}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
}

const { server, start } = createBackendServer({
  backends: [definitionsBackend, orchestrationBackend],
  db: openDatabase(join(String(dataDir), 'backends.db')),
  call,
  now: () => Date.now() + Number(offsetMs ?? 0),
  log: pino({ level: 'silent' }),
  settings: {
    ...defaults,
    outside: { ...defaultOutsideSettings, allowed: ['127.0.0.1'] },
  },
})
base = await server.listen({ host: '127.0.0.1', port: 0 })
start()
process.on('SIGTERM', async () => {
  await server.close()
  process.exit(0)
})
process.stdout.write(`${base}\n`)

/** A program that serves the engine and the definition store until it is killed. Arguments: data directory, clock offset in ms. */
import { join } from 'node:path'
import pino from 'pino'
import { createBackendServer } from '../../../packages/app/hosting/server.ts'
import { defaultOutsideSettings } from '../../../packages/base/outside/settings.ts'
import { openDatabase } from '../../../packages/base/storage/database.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { orchestrationBackend } from '../../../packages/engine/orchestration-backend.ts'
import type { CallService } from '../../../packages/ports/service-call.ts'
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

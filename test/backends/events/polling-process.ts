/** A program that serves events and infrastructure, and polls, until it is killed. Arguments: data directory, address of other services. */
import { join } from 'node:path'
import pino from 'pino'
import { createEventsBackend } from '../../../src/backends/events/events.ts'
import { createBackendServer } from '../../../src/backends/hosting/server.ts'
import { createInfrastructureBackend } from '../../../src/backends/infrastructure/infrastructure.ts'
import { defaultOutsideSettings } from '../../../src/backends/outside/settings.ts'
import type { CallService } from '../../../src/ports/service-call.ts'
import { openDatabase } from '../../../src/storage/database.ts'
import { defaults } from '../../support/backend-settings.ts'

const [dataDir, others] = process.argv.slice(2)
let base = ''

const call: CallService = async (service, { method, path, body, headers }) => {
  const answer = await fetch(`${service === 'clouddriver' ? base : others}/${service}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
}

const { server, start } = createBackendServer({
  backends: [createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 5, pollMs: 40 }), createInfrastructureBackend([])],
  db: openDatabase(join(String(dataDir), 'backends.db')),
  call,
  log: pino({ level: 'silent' }),
  settings: {
    ...defaults,
    outside: { ...defaultOutsideSettings, allowed: ['127.0.0.1/32'] },
    infrastructure: { challengedEnvironments: [], primaryAccountTypes: [], providers: {} },
  },
})
base = await server.listen({ host: '127.0.0.1', port: 0 })
start()
process.stdout.write(`${base}\n`)

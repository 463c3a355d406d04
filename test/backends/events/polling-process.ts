/** A program that serves events and infrastructure, and polls, until it is killed. Arguments: data directory, address of other services. */
import { join } from 'node:path'
import pino from 'pino'
import { createBackendServer } from '../../../packages/app/hosting/server.ts'
import { defaultOutsideSettings } from '../../../packages/base/outside/settings.ts'
import { openDatabase } from '../../../packages/base/storage/database.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import type { CallService } from '../../../packages/ports/service-call.ts'
import { createInfrastructureBackend } from '../../../packages/providers/infrastructure/infrastructure.ts'
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
  backends: [
    createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 5, pollMs: 40 }),
    createInfrastructureBackend([]),
  ],
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

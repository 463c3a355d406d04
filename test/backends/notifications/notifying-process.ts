/** A program that serves engine, definitions and events with webhooks until it is killed. Argument: data directory. */
import { join } from 'node:path'
import pino from 'pino'
import { createBackendServer } from '../../../packages/app/hosting/server.ts'
import { defaultOutsideSettings } from '../../../packages/base/outside/settings.ts'
import { openDatabase } from '../../../packages/base/storage/database.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import { orchestrationBackend } from '../../../packages/engine/orchestration-backend.ts'
import type { Backend } from '../../../packages/ports/backend.ts'
import type { CallService } from '../../../packages/ports/service-call.ts'
import { defaults } from '../../support/backend-settings.ts'

const [dataDir, holdsBack] = process.argv.slice(2)
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

const pauses = { firstMs: 50, longestMs: 200, maxAgeMs: 60_000, timeoutMs: 60_000 }
const events = createEventsBackend({
  orchestratorMs: 10,
  buildMs: 1,
  cronMs: 1_000,
  notifications: pauses,
})

/** The engine has stored what happened, and cannot hand it over. */
const deaf: Backend = {
  ...events,
  open(context) {
    const opened = events.open(context)
    const refuse = () => Promise.reject(new Error('The event service is held back.'))
    return { ...opened, ports: { events: { ...opened.ports!.events!, announce: refuse } } }
  },
}

const { server, start } = createBackendServer({
  backends: [definitionsBackend, orchestrationBackend, holdsBack === 'true' ? deaf : events],
  db: openDatabase(join(String(dataDir), 'backends.db')),
  call,
  log: pino({ level: 'silent' }),
  settings: {
    ...defaults,
    outside: { ...defaultOutsideSettings, allowed: ['127.0.0.1'] },
    notifications: { types: { webhook: { secret: 'signing-key-1' } } },
  },
})
base = await server.listen({ host: '127.0.0.1', port: 0 })
start()
process.stdout.write(`${base}\n`)

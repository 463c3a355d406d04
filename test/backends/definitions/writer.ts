/** A process of its own that saves pipelines without end and prints what the store acknowledged, until it is killed. */
import { join } from 'node:path'
import pino from 'pino'
import { createBackendServer } from '../../../packages/app/hosting/server.ts'
import { openDatabase } from '../../../packages/base/storage/database.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { defaults } from '../../support/backend-settings.ts'

const dataDir = process.argv[2] as string
const { server } = createBackendServer({
  backends: [definitionsBackend],
  db: openDatabase(join(dataDir, 'backends.db')),
  call: () => Promise.reject(new Error('no other service')),
  settings: defaults,
  log: pino({ level: 'silent' }),
})
const base = await server.listen({ host: '127.0.0.1', port: 0 })

for (let step = 0; ; step++) {
  const body = {
    application: 'demo',
    id: `P${step % 5}`,
    name: `name ${step % 5}`,
    step,
    ballast: 'x'.repeat(20_000),
  }
  const answer = await fetch(`${base}/front50/pipelines`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  const { updateTs } = (await answer.json()) as { updateTs: string }
  process.stdout.write(`${step} ${body.id} ${updateTs} .\n`)
}

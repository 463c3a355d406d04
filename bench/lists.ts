/** Lists that clients poll, of a size that large organisations have. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openUsers } from '../packages/gateway/login/form/users.ts'
import { toApplications } from './applications.ts'
import { measure, print, type Row, toRows } from './measure.ts'
import type { BenchOptions } from './options.ts'
import {
  logIn,
  password,
  type Scratch,
  startGateway,
  startService,
  type Target,
} from './targets.ts'

const applicationCount = 10_000
const path = '/applications'
/** Other parts switch it off. */
const usual = { HTTP_SHAREDREADS: 'true' }

/** All applications, for users who may read half of them; one is saved every five seconds. */
export async function measureLists(options: BenchOptions, scratch: Scratch): Promise<void> {
  const rows: Row[] = []
  for (const kind of ['embedded', 'external'] as const) {
    const targets: Target[] = []
    try {
      targets.push(
        ...(await (kind === 'embedded'
          ? startEmbedded(options, scratch)
          : startExternal(options, scratch))),
      )
      const [target] = targets as [Target]
      for (const coding of ['identity', 'gzip']) {
        const headers = { 'accept-encoding': coding }
        const [row] = toRows(
          await measure([target], options, { path, connections: 4, rate: 20, headers }),
        )
        rows.push({ services: kind, response: coding, ...row })
      }
      const tag = await tagOf(target)
      const known = { headers: { 'if-none-match': tag }, status: 304, tolerated: [200] }
      const [row] = toRows(
        await measure([target], options, { path, connections: 4, rate: 20, ...known }),
      )
      rows.push({ services: kind, response: '304', ...row })
    } finally {
      for (const target of targets) await target.process.stop()
    }
  }
  print('GET /applications: 10,000 applications, half of them readable, 20 requests a second', rows)
}

async function tagOf(target: Target): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${target.port}${path}`, { headers: target.headers })
  await answer.arrayBuffer()
  return answer.headers.get('etag') ?? ''
}

async function startExternal({ dist }: BenchOptions, scratch: Scratch): Promise<Target[]> {
  const service = await startService(scratch.dir('service'), applicationCount)
  const env = {
    SERVICES_FIAT_ENABLED: 'true',
    SERVICES_FIAT_BASEURL: `http://127.0.0.1:${service.port}`,
  }
  return [
    await logIn(
      await startGateway({
        dir: scratch.dir('external'),
        dist,
        service,
        env: { ...env, ...usual },
      }),
    ),
    service,
  ]
}

async function startEmbedded({ dist }: BenchOptions, scratch: Scratch): Promise<Target[]> {
  const dir = scratch.dir('embedded')
  const dataDir = join(dir, 'data')
  // The first start creates the tables.
  await (await startGateway({ dir, dist })).process.stop()
  const users = openUsers(dataDir)
  await users.add('reader', password, ['dev'])
  users.close()
  addApplications(join(dataDir, 'backends.db'))
  return [await logIn(await startGateway({ dir, dist, env: usual }), 'reader')]
}

/** Half of them are for the role `dev`, the others for `ops`. */
function addApplications(file: string): void {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA synchronous = OFF; BEGIN')
  const write = db.prepare(
    'INSERT OR REPLACE INTO definitions_documents (kind, key, modified_ms, document) VALUES (?, ?, 0, ?)',
  )
  for (const [index, application] of toApplications(applicationCount, 0).entries()) {
    const key = String(application['name']).toLowerCase()
    write.run('application', key, JSON.stringify(application))
    const roles = [index % 2 === 0 ? 'dev' : 'ops']
    const permissions = { READ: roles, WRITE: roles, EXECUTE: roles }
    write.run(
      'application-permission',
      key,
      JSON.stringify({ name: application['name'], permissions, lastModified: 0 }),
    )
  }
  db.exec('COMMIT')
  db.close()
}

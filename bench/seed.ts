/** Data of measurements: rows that Fairlead has written itself, many times over. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { createUlids } from '../src/storage/ulid.ts'
import { toApplications } from './applications.ts'
import { logIn, startGateway, type Target } from './targets.ts'

type Row = Record<string, SQLInputValue>

/** Executions and stages. */
const ulid = /\b01[0-9A-HJKMNP-TV-Z]{24}\b/g
const insertedAtOnce = 10_000
const pipelines = 10

/** A data directory with an application, its pipelines and a run of each, a session and audit records. */
export async function createData(dir: string, dist: boolean): Promise<void> {
  const target = await logIn(await startGateway({ dir, dist, env: { AUDIT_ENABLED: 'true' } }))
  try {
    await send(target, '/tasks', {
      application: 'shop',
      description: 'Create Application',
      job: [{ type: 'createApplication', application: { name: 'shop', email: 'team@example.org' } }],
    })
    for (let index = 0; index < pipelines; index++) {
      const stages = Array.from({ length: 10 }, (_, stage) => ({
        refId: String(stage),
        requisiteStageRefIds: stage === 0 ? [] : [String(stage - 1)],
        type: 'wait',
        name: `Wait for the ${stage}th time`,
        waitTime: 0,
        comments: 'Nothing else happens here, but a stage has some text to show.',
      }))
      await send(target, '/pipelines', { application: 'shop', name: `p${index}`, id: `p${index}`, stages, triggers: [] })
      await send(target, `/pipelines/shop/p${index}`, { type: 'manual' })
    }
    await untilEnded(target)
  } finally {
    await target.process.stop()
  }
}

async function send({ port, headers }: Target, path: string, body: object): Promise<void> {
  const sent = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }
  for (let attempt = 0; ; attempt++) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, sent)
    const text = await answer.text()
    if (answer.status < 300) return
    if (attempt > 50) throw new Error(`${path} was answered with ${answer.status}: ${text}`)
    await sleep(100)
  }
}

async function untilEnded({ port, headers }: Target): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    const answer = await fetch(`http://127.0.0.1:${port}/applications/shop/pipelines?limit=5&expand=false`, { headers })
    const runs = (await answer.json()) as { status?: string }[]
    if (runs.length === pipelines && runs.every(({ status }) => status === 'SUCCEEDED')) return
    await sleep(100)
  }
  throw new Error('The pipelines do not end.')
}

/** Half of them are for the role `dev`, the others for `ops`. */
export function addApplications(dir: string, count: number): void {
  withDatabase(dir, 'backends.db', (db) => {
    const write = db.prepare(
      'INSERT OR REPLACE INTO definitions_documents (kind, key, modified_ms, document) VALUES (?, ?, 0, ?)',
    )
    for (const [index, application] of toApplications(count, 0).entries()) {
      const key = String(application['name']).toLowerCase()
      write.run('application', key, JSON.stringify(application))
      const roles = [index % 2 === 0 ? 'dev' : 'ops']
      const permissions = { READ: roles, WRITE: roles, EXECUTE: roles }
      write.run('application-permission', key, JSON.stringify({ name: application['name'], permissions, lastModified: 0 }))
    }
  })
}

/** Runs of the pipelines, the newest now. @param isLarge Their stages have contexts as deployments leave them */
export function addExecutions(dir: string, count: number, isLarge = false): void {
  const newId = createUlids(() => Date.now())
  withDatabase(dir, 'backends.db', (db) =>
    multiply(db, { table: 'orchestration_executions', where: "type = 'PIPELINE'", count }, (row) => {
      const ids = new Map<string, string>()
      const written = String(row['body'])
      const body = (isLarge ? withContexts(written) : written).replace(ulid, (id) => ids.getOrInsertComputed(id, newId))
      return { ...row, id: ids.get(String(row['id'])) ?? newId(), body }
    }),
  )
}

const filled = new Map<string, string>()

function withContexts(body: string): string {
  return filled.getOrInsertComputed(body, () => {
    const execution = JSON.parse(body) as { stages: { context: object }[] }
    const stages = execution.stages.map((stage, index) => ({ ...stage, context: { ...stage.context, ...deployed(index) } }))
    return JSON.stringify({ ...execution, stages })
  })
}

/** About a kilobyte. */
function deployed(index: number): object {
  const history = [
    'Preparing the server group',
    'Starting instances',
    'Waiting for health checks',
    'Removing the former one',
  ].map((status, step) => ({ phase: 'DEPLOY', status: `${status} shop-main-v${String(index).padStart(3, '0')}, step ${step}` }))
  const instances = Array.from({ length: 5 }, (_, place) => ({
    id: `shop-main-v${index}-${place}${randomBytes(4).toString('hex')}`,
    zone: `here-${place % 3}`,
    healthState: 'Up',
  }))
  return {
    account: 'prod',
    cloudProvider: 'local',
    'deploy.server.groups': { here: [`shop-main-v${String(index).padStart(3, '0')}`] },
    'kato.tasks': [{ id: randomBytes(8).toString('hex'), status: { completed: true, failed: false }, history }],
    instances,
  }
}

/** Each of another user. */
export function addSessions(dir: string, count: number): void {
  const expires = Date.now() + 3_600_000
  let owner = 0
  withDatabase(dir, 'sessions.db', (db) =>
    multiply(db, { table: 'sessions_2', where: 'true', count }, (row) => ({
      ...row,
      key: randomBytes(32).toString('base64url'),
      owner: `user-${owner++}`,
      expires_at_ms: expires,
    })),
  )
}

export function addAuditRecords(dir: string, count: number): void {
  withDatabase(dir, 'audit.db', (db) => {
    let sequence = Number(db.prepare('SELECT max(sequence) AS last FROM events_1').get()?.['last'])
    multiply(db, { table: 'events_1', where: 'true', count }, (row) => ({ ...row, sequence: ++sequence }))
  })
}

function withDatabase(dir: string, file: string, use: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(join(dir, 'data', file))
  db.exec('PRAGMA synchronous = OFF; BEGIN')
  use(db)
  db.exec('COMMIT')
  db.close()
}

/** Inserts changed copies of the rows that there are, in turn. */
function multiply(db: DatabaseSync, what: { table: string; where: string; count: number }, change: (row: Row) => Row): void {
  const models = db.prepare(`SELECT * FROM ${what.table} WHERE ${what.where} LIMIT 1000`).all() as Row[]
  const [first] = models
  if (first === undefined) throw new Error(`There is nothing to copy in ${what.table}.`)
  const columns = Object.keys(first)
  const insert = db.prepare(`INSERT INTO ${what.table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`)
  for (let index = 0; index < what.count; index++) {
    const row = change(models[index % models.length] as Row)
    insert.run(...columns.map((column) => row[column] as SQLInputValue))
    if (index % insertedAtOnce === insertedAtOnce - 1) db.exec('COMMIT; BEGIN')
  }
}

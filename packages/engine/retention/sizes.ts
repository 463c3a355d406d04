/** Size of what is kept, by kind, without reading the texts themselves. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { measureTree } from '@fairlead/base/storage/directory-trees.ts'

interface MeasuredTable {
  readonly kind: string
  readonly table: string
  readonly bytes: string
  readonly where?: string
  /** The key of a table without rowid. */
  readonly key?: string
}

const executionBytes = 'octet_length(body) + octet_length(trigger)'
const measured: readonly MeasuredTable[] = [
  {
    kind: 'executions',
    table: 'orchestration_executions',
    bytes: executionBytes,
    where: "type = 'PIPELINE'",
  },
  {
    kind: 'tasks',
    table: 'orchestration_executions',
    bytes: executionBytes,
    where: "type = 'ORCHESTRATION'",
  },
  {
    kind: 'stages',
    table: 'orchestration_stages',
    bytes: 'octet_length(body)',
  },
  { kind: 'trigger-payloads', table: 'orchestration_parts', bytes: 'octet_length(text)' },
  { kind: 'infrastructure-tasks', table: 'infrastructure_tasks', bytes: 'octet_length(document)' },
  {
    kind: 'events',
    table: 'events_log_events',
    bytes: 'octet_length(summary) + coalesce(octet_length(payload), 0)',
  },
  { kind: 'build-records', table: 'builds_local_builds', bytes: 'octet_length(document)' },
  { kind: 'bakes', table: 'bakery_bakes', bytes: 'octet_length(document)', key: 'id' },
  {
    kind: 'versions-of-definitions',
    table: 'definitions_history',
    bytes: 'octet_length(document)',
  },
]
/** Folders of the data directory. */
const folders = ['images', 'builds', 'instances']
const rowsAtOnce = 200

/** @param turn Called between two portions */
export async function measureKinds(
  db: DatabaseSync,
  dataDir: string,
  turn: () => Promise<void>,
): Promise<Record<string, number>> {
  const sizes: Record<string, number> = {
    database: pragma(db, 'page_count') * pragma(db, 'page_size'),
  }
  sizes['free'] = pragma(db, 'freelist_count') * pragma(db, 'page_size')
  for (const table of measured) {
    const bytes = await measureTable(db, table, turn)
    if (bytes !== undefined) sizes[table.kind] = bytes
  }
  for (const folder of folders) {
    const path = join(dataDir, folder)
    if (existsSync(path)) sizes[folder] = (await measureTree(path)).bytes
  }
  return sizes
}

async function measureTable(
  db: DatabaseSync,
  { table, bytes, where = 'true', key = 'rowid' }: MeasuredTable,
  turn: () => Promise<void>,
): Promise<number | undefined> {
  const columns = new Set(
    db
      .prepare('SELECT name FROM pragma_table_info(?)')
      .all(table)
      .map(({ name }) => name),
  )
  if (
    columns.size === 0 ||
    [...bytes.matchAll(/octet_length\((\w+)\)/g)].some(
      ([, column]) => !columns.has(column as string),
    )
  )
    return undefined
  const portion = db.prepare(
    `SELECT count(*) AS rows, max(place) AS last, sum(bytes) AS bytes FROM
       (SELECT ${key} AS place, iif(${where}, ${bytes}, 0) AS bytes FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${rowsAtOnce})`,
  )
  let sum = 0
  for (let last: SQLOutputValue = key === 'rowid' ? 0 : ''; ; ) {
    const row: Record<string, SQLOutputValue> | undefined = portion.get(last)
    sum += Number(row?.['bytes'] ?? 0)
    if (Number(row?.['rows']) < rowsAtOnce) return sum
    last = row?.['last'] ?? null
    await turn()
  }
}

export function pragma(db: DatabaseSync, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0])
}

/** Metrics in files of a folder, for tests and for comparisons of what was measured elsewhere. */

import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { objectList, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { z } from 'zod'
import { MetricError, type MetricQuestion, type OpenAccount } from '../metric-source.ts'
import { type Point, toValues } from '../series.ts'
import { metricSource, sourceAccountFields } from './source-accounts.ts'

const Account = z.strictObject({
  ...sourceAccountFields,
  folder: z.string().min(1).describe('Folder with files `<metric>.csv` or `<metric>.json`.'),
})
type Account = z.infer<typeof Account>

const maxBytes = 64 * 1024 ** 2
/** No other folder can be named. */
const nameForm = /^[A-Za-z0-9_][A-Za-z0-9_. -]{0,199}$/
const extensions = ['.csv', '.json'] as const
/** Smaller numbers are seconds since the epoch, not milliseconds. */
const firstMs = 100_000_000_000

export const fileSource = metricSource({
  id: 'file',
  title: 'files',
  account: Account,
  open: openAccount,
})

const readQuery = shape({ metricName: or(textOf, '') })

const readRow = shape({
  atMs: [toMs, 'timestamp'],
  value: numberOf,
  scope: textOf,
  location: textOf,
})
type Row = ShapeOf<typeof readRow>
const readRows = objectList(readRow)

function openAccount({ name, folder }: Account): OpenAccount {
  return {
    async fetch(question) {
      const { metricName: metric } = readQuery(question.query)
      const { stepMs } = question.scope
      const { rows, file } = await loadRows(folder, metric)
      const points = rows.filter((row) => isWithin(row, question)).flatMap(toPoints)
      return points.length === 0
        ? []
        : [{ ...toValues(points, { stepMs }), stepMs, tags: {}, query: file }]
    },
    async metricNames() {
      const files = await readdir(folder).catch((error: Error) => {
        throw new MetricError(
          `The folder of the metrics account "${name}" cannot be read: ${error.message}.`,
        )
      })
      return files.flatMap((file) =>
        extensions.filter((each) => file.endsWith(each)).map((each) => file.slice(0, -each.length)),
      )
    },
  }
}

/** @throws {MetricError} */
async function loadRows(folder: string, metric: string): Promise<{ rows: Row[]; file: string }> {
  if (!nameForm.test(metric))
    throw new MetricError(
      `"metricName" must be the name of a file, without its ending: not "${metric}".`,
    )
  for (const extension of extensions) {
    const file = `${metric}${extension}`
    const path = join(folder, file)
    const size = await stat(path).then(
      (found) => found.size,
      () => undefined,
    )
    if (size === undefined) continue
    if (size > maxBytes)
      throw new MetricError(`The file ${file} is larger than ${maxBytes / 1024 ** 2} MB.`)
    const text = await readFile(path, 'utf8').catch((error: Error) => {
      throw new MetricError(`The file ${file} cannot be read: ${error.message}.`)
    })
    const rows = extension === '.csv' ? parseCsv(text) : parseIfJson(text)
    return { rows: readRows(rows), file }
  }
  throw new MetricError(`There is neither a file ${metric}.csv nor ${metric}.json.`)
}

/** The first line names the columns; values have neither quotes nor commas. */
function parseCsv(text: string): JsonObject[] {
  const [head = '', ...lines] = text.split('\n').map((line) => line.trim())
  const names = head.split(',').map((name) => name.trim())
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const cells = line.split(',')
      return Object.fromEntries(names.map((name, index) => [name, cells[index]?.trim() ?? '']))
    })
}

/** Rows without a scope or location count for all. */
function isWithin(
  row: Row,
  { scope: { scope, location, startMs, endMs } }: MetricQuestion,
): boolean {
  if (row.atMs === undefined || row.atMs < startMs || row.atMs > endMs) return false
  return (
    (row.scope ?? scope) === scope &&
    (location === undefined || (row.location ?? location) === location)
  )
}

function toPoints({ atMs, value }: Row): Point[] {
  return atMs === undefined || value === undefined ? [] : [{ atMs, value }]
}

function toMs(timestamp: unknown): number | undefined {
  const number = numberOf(timestamp)
  if (number !== undefined) return number < firstMs ? number * 1000 : number
  const ms = Date.parse(String(timestamp))
  return Number.isNaN(ms) ? undefined : ms
}

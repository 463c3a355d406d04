/** Prints `docs/reference/` from the code: what an error means, a setting does, an operation needs stands there alone. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { formatSettingsReference } from '../src/config/reference.ts'
import { type ErrorCode, errorCodes, shapeOf } from '../src/errors.ts'
import { allOperations, subjects } from '../src/operations/all.ts'
import { formatDemands } from '../src/operations/demands.ts'
import type { Operation } from '../src/operations/operation.ts'
import { createQueryRules } from '../src/operations/parse-query.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'

export interface ReferencePage {
  /** Path from the top of the repository. */
  readonly file: string
  readonly text: string
}

/** Every page as the code says it is now; a test compares them with the files. */
export async function printReference(): Promise<ReferencePage[]> {
  return [
    { file: 'docs/reference/settings.md', text: page('Settings', formatSettingsReference()) },
    { file: 'docs/reference/operations.md', text: page('Operations', formatOperations()) },
    { file: 'docs/reference/errors.md', text: page('Errors', formatErrors()) },
    { file: 'docs/reference/metrics.md', text: page('Metrics', await formatMetrics()) },
  ]
}

function page(title: string, text: string): string {
  return `# ${title}\n\n<!-- Printed by \`npm run docs\`; change the code instead. -->\n\n${text}\n`
}

function formatOperations(): string {
  const sections = subjects.map(
    ({ name, description, operations }) => `## ${name}

${description}

| | Path | Query | Purpose | Demands | Operation id |
|---|---|---|---|---|---|
${operations.map(formatOperation).join('\n')}`,
  )
  return `All ${allOperations.length} operations, by subject. A query parameter with \`*\` is required. Types, bodies and answers stand in the
OpenAPI document: \`fairlead openapi\`, or \`GET /openapi.json\` of a running instance, which shows it at
\`/swagger-ui/index.html\`.

${sections.join('\n\n')}`
}

function formatOperation({ method, path, query, summary, description, demands, id }: Operation): string {
  const parameters = createQueryRules(query).map(({ name, required }) => `\`${name}\`${required ? '*' : ''}`)
  return `| ${method} | \`${path}\` | ${parameters.join(', ')} | ${toCell(description ?? `${summary}.`)} | ${toCell(formatDemands(demands))} | \`${id}\` |`
}

function formatErrors(): string {
  const codes = Object.keys(errorCodes).sort(byStatus) as ErrorCode[]
  const rows = codes.map(
    (code) => `| ${errorCodes[code].status} | \`${code}\` | ${shapeOf(code)} | ${toCell(errorCodes[code].meaning)} |`,
  )
  return `Every error that the gateway itself answers with. The code stands in the log, together with the cause and the request id
that the client got in \`X-SPINNAKER-REQUEST-ID\`; the message in the answer is meant for the person who sent the request.
An error of a service keeps the status of the service.

The body has one of three shapes, those that clients of Gate expect: *error* has \`timestamp\`, \`status\`, \`error\` and
\`message\`; *problem* is RFC 9457, \`application/problem+json\`; *message* has a \`message\` alone.

| Status | Code | Body | Meaning |
|---|---|---|---|
${rows.join('\n')}`
}

function byStatus(a: string, b: string): number {
  return errorCodes[a as ErrorCode].status - errorCodes[b as ErrorCode].status || a.localeCompare(b)
}

/** Asks the metrics themselves; a sample of each shows its labels. */
async function formatMetrics(): Promise<string> {
  const metrics = createMetrics()
  metrics.requestStarted()
  metrics.requestAnswered({ operation: 'sample', method: 'GET', status: 200, seconds: 1, bytes: 1 })
  metrics.upstreamAnswered({ service: 'orca', method: 'GET', status: 200, durationMs: 1, bytes: 1 })
  metrics.upstreamPending(() => [['orca', 1]])
  metrics.requestLimited({ kind: 'user', enforced: true })
  metrics.requestUncounted()
  const { text } = await metrics.print()
  const rows = [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)\n(.*)$/gm)]
    .filter(([, name = '']) => !/^fairlead_(process|nodejs)_/.test(name))
    .map(([, name, help, type, sample = '']) => `| \`${name}\` | ${type} | ${labelsOf(sample)} | ${help} |`)
  return `\`GET /metrics\` answers in the format of Prometheus. Besides these there are the usual ones of the process, under
\`fairlead_process_\` and \`fairlead_nodejs_\`. An operation is named by its id, never by the address that was asked for.

| Name | Type | Labels | Meaning |
|---|---|---|---|
${rows.join('\n')}`
}

function labelsOf(sample: string): string {
  const names = [...sample.matchAll(/(\w+)="/g)].map(([, name]) => name).filter((name) => name !== 'le')
  return names.map((name) => `\`${name}\``).join(', ')
}

/** A line break or a bar would end the cell. */
function toCell(text: string): string {
  return text.replaceAll('\n', ' ').replaceAll('|', '\\|')
}

if (import.meta.main) {
  for (const { file, text } of await printReference()) {
    const path = resolve(import.meta.dirname, '..', file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    console.log(file)
  }
}

/** Prints `docs/reference/` and the types of the console from the code, and the test files in `docs/contracts/scenarios/` from the tests. */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type ErrorCode, errorCodes, errorShapeOf } from '../packages/base/errors.ts'
import { Metrics } from '../packages/base/telemetry/metrics.ts'
import { allOperations, subjects } from '../packages/gateway/operations/all.ts'
import { formatDemands } from '../packages/gateway/operations/demands.ts'
import type { Operation } from '../packages/gateway/operations/operation.ts'
import { formatOpenApi } from '../packages/gateway/operations/serving/openapi.ts'
import { createQueryRules } from '../packages/gateway/operations/serving/parse-query.ts'
import { type ApiDescription, printConsoleTypes } from './print-console-types.ts'
import { formatExpressions } from './reference/expressions.ts'
import { formatPipelines } from './reference/pipelines.ts'
import { formatSettingsReference } from './reference/settings.ts'
import { formatStageTypes } from './reference/stage-types.ts'
import { printScenarios } from './scenarios.ts'

const root = resolve(import.meta.dirname, '..')

export interface ReferencePage {
  /** Path from the top of the repository. */
  readonly file: string
  readonly text: string
}

/** Every page as the code says it is now; a test compares them with the files. */
export function printReference(): ReferencePage[] {
  return [
    { file: 'docs/reference/settings.md', text: page('Settings', formatSettingsReference()) },
    { file: 'docs/reference/operations.md', text: page('Operations', formatOperations()) },
    { file: 'docs/reference/errors.md', text: page('Errors', formatErrors()) },
    { file: 'docs/reference/metrics.md', text: page('Metrics', formatMetrics()) },
    { file: 'console/src/api/schema.d.ts', text: printConsoleTypes(describeApi(), readConsole()) },
    { file: 'docs/reference/stage-types.md', text: page('Stage types', formatStageTypes()) },
    { file: 'docs/reference/pipelines.md', text: page('Pipelines', formatPipelines()) },
    { file: 'docs/reference/expressions.md', text: page('Expressions', formatExpressions()) },
    ...printScenarios(),
  ]
}

/** Its source, without the types themselves. */
function readConsole(): string {
  const files = globSync('console/src/**/*.{ts,tsx}', { cwd: root, exclude: ['**/*.d.ts'] })
  return files.map((file) => readFileSync(resolve(root, file), 'utf8')).join('\n')
}

/** Without the version, so that a release does not change the types. */
function describeApi(): ApiDescription {
  return formatOpenApi(subjects, { version: '' }) as unknown as ApiDescription
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
  return `All ${allOperations.length} operations, by subject. A query parameter with \`*\` is required. Types, bodies and responses are in the
OpenAPI document: \`fairlead openapi\`, or \`GET /openapi.json\` of a running instance, which shows it at
\`/swagger-ui/index.html\`.

${sections.join('\n\n')}`
}

function formatOperation({
  method,
  path,
  query,
  summary,
  description,
  demands,
  id,
}: Operation): string {
  const parameters = createQueryRules(query).map(
    ({ name, required }) => `\`${name}\`${required ? '*' : ''}`,
  )
  return `| ${method} | \`${path}\` | ${parameters.join(', ')} | ${toCell(description ?? `${summary}.`)} | ${toCell(formatDemands(demands))} | \`${id}\` |`
}

function formatErrors(): string {
  const codes = Object.keys(errorCodes).sort(byStatus) as ErrorCode[]
  const rows = codes.map(
    (code) =>
      `| ${errorCodes[code].status} | \`${code}\` | ${errorShapeOf(code)} | ${toCell(errorCodes[code].meaning)} |`,
  )
  return `Every error of the gateway itself. The log has the code, the cause and the request id that the client got in
\`X-SPINNAKER-REQUEST-ID\`; the message in the response is for the client. An error of a service keeps its status.

The body has one of three shapes, as clients of Gate expect: *error* has \`timestamp\`, \`status\`, \`error\` and
\`message\`; *problem* is RFC 9457, \`application/problem+json\`; *message* has a \`message\` alone.

| Status | Code | Body | Meaning |
|---|---|---|---|
${rows.join('\n')}`
}

function byStatus(a: string, b: string): number {
  return errorCodes[a as ErrorCode].status - errorCodes[b as ErrorCode].status || a.localeCompare(b)
}

function formatMetrics(): string {
  const metrics = new Metrics('')
  const never = async () => undefined
  metrics.watch({
    upstreams: { pending: () => [], endpoints: () => [] },
    eventStreams: () => 0,
    missingLogLines: () => ({}),
    liveSessions: () => 0,
    delivery: () => new Map(),
    redis: { isReachable: () => true },
    embedded: { isListening: () => true, observe: never },
  })
  const rows = metrics.descriptions.map(
    ({ name, type, labels, help }) =>
      `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
  )
  return `\`GET /spectator/metrics\` returns the text format of Prometheus without login, as in Gate; \`GET /metrics\` needs one.
Besides these, [prom-client](https://github.com/siimon/prom-client) collects metrics of the process and of Node under their usual
names, such as \`process_cpu_seconds_total\`, \`process_resident_memory_bytes\`, \`nodejs_eventloop_lag_p99_seconds\`
and \`nodejs_gc_duration_seconds\`.

Operations are labelled by id, never by the requested address; clients cannot choose label values.

| Name | Type | Labels | Meaning |
|---|---|---|---|
${rows.join('\n')}`
}

/** A line break or a bar would end the cell. */
function toCell(text: string): string {
  return text.replaceAll('\n', ' ').replaceAll('|', '\\|')
}

if (import.meta.main) {
  for (const { file, text } of printReference()) {
    const path = resolve(root, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    console.log(file)
  }
}

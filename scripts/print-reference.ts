/** Prints `docs/reference/` from the code: what an error means, a setting does, an operation needs stands there alone. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { formatSettingsReference } from '../src/config/reference.ts'
import { type ErrorCode, errorCodes, shapeOf } from '../src/errors.ts'

export interface ReferencePage {
  /** Path from the top of the repository. */
  readonly file: string
  readonly text: string
}

/** Every page as the code says it is now; a test compares them with the files. */
export function printReference(): ReferencePage[] {
  return [
    { file: 'docs/reference/errors.md', text: printErrors() },
    { file: 'docs/reference/settings.md', text: page('Settings', formatSettingsReference()) },
  ]
}

function printErrors(): string {
  const codes = Object.keys(errorCodes).sort(byStatus) as ErrorCode[]
  const rows = codes.map(
    (code) => `| ${errorCodes[code].status} | \`${code}\` | ${shapeOf(code)} | ${errorCodes[code].meaning} |`,
  )
  return page(
    'Errors',
    `Every error that the gateway itself answers with. The code stands in the log, together with the cause and the request id
that the client got in \`X-SPINNAKER-REQUEST-ID\`; the message in the answer is meant for the person who sent the request.
An error of a service keeps the status of the service.

The body has one of three shapes, those that clients of Gate expect: *error* has \`timestamp\`, \`status\`, \`error\` and
\`message\`; *problem* is RFC 9457, \`application/problem+json\`; *message* has a \`message\` alone.

| Status | Code | Body | Meaning |
|---|---|---|---|
${rows.join('\n')}`,
  )
}

function byStatus(a: string, b: string): number {
  return errorCodes[a as ErrorCode].status - errorCodes[b as ErrorCode].status || a.localeCompare(b)
}

function page(title: string, text: string): string {
  return `# ${title}\n\n<!-- Printed by \`npm run docs\`; change the code instead. -->\n\n${text}\n`
}

if (import.meta.main) {
  for (const { file, text } of printReference()) {
    const path = resolve(import.meta.dirname, '..', file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    console.log(file)
  }
}

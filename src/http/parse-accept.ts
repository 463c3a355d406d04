/** Chooses the media type of an answer from the Accept header. */

type AnswerFormat = 'json' | 'yaml' | 'text'

/** Gate knows no other name of YAML, and answers 406 to them. */
const formats: Readonly<Record<string, AnswerFormat>> = {
  '*/*': 'json',
  // The default of Java's own client ends in it.
  '*': 'json',
  'application/*': 'json',
  'application/json': 'json',
  'application/problem+json': 'json',
  'application/x-yaml': 'yaml',
  'text/plain': 'text',
  'text/html': 'text',
  'text/*': 'text',
}

/** Browsers and client libraries name at most twenty; those beyond are not read. */
const maxRanges = 100

/** Media ranges of an Accept header, with their parameters. */
export function rangesOf(header: string): string[] {
  return header.split(',', maxRanges)
}

/**
 * The preferred format among `offered`; JSON when the header is missing; undefined when none of them is acceptable.
 *
 * @see RFC 9110, section 12.5.1; docs/contracts/http.md#content
 */
export function parseAccept(header: string | undefined, offered: readonly AnswerFormat[]): AnswerFormat | undefined {
  if (header === undefined || header === '' || header === '*/*' || header === 'application/json') return 'json'
  let best: AnswerFormat | undefined
  let bestWeight = 0
  for (const range of rangesOf(header)) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const format = formats[type] ?? (type.endsWith('+json') ? 'json' : undefined)
    if (format === undefined || !offered.includes(format)) continue
    const weight = weightOf(parameters)
    if (weight > bestWeight) {
      best = format
      bestWeight = weight
    }
  }
  return best
}

function weightOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='))
  const weight = given === undefined ? 1 : Number(given.slice(2))
  return Number.isFinite(weight) ? weight : 0
}

/** Whether gzip is among the codings that the client accepts. What it says of gzip counts before what it says of all codings. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  if (header === undefined) return false
  const text = String(header)
  const weight = gzipRange.exec(text) ?? anyRange.exec(text)
  return weight !== null && Number(weight[1] ?? 1) > 0
}

const gzipRange = /(?:^|,)\s*gzip\s*(?:;\s*q=([\d.]+)\s*)?(?:,|$)/i
const anyRange = /(?:^|,)\s*\*\s*(?:;\s*q=([\d.]+)\s*)?(?:,|$)/i

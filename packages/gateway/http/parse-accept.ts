/** Chooses the media type of an answer from the Accept header. */

type AnswerFormat = 'json' | 'yaml' | 'text'

export const yamlType = 'application/x-yaml'

const formats: Readonly<Record<string, AnswerFormat>> = {
  'application/json': 'json',
  'application/problem+json': 'json',
  [yamlType]: 'yaml',
  'application/yaml': 'yaml',
  'text/plain': 'text',
  'text/html': 'text',
}

const wildcards: Readonly<Record<string, readonly AnswerFormat[]>> = {
  'application/*': ['json', 'yaml'],
  'text/*': ['text'],
  '*/*': ['json', 'yaml', 'text'],
  // The default of Java's own client ends in it.
  '*': ['json', 'yaml', 'text'],
}

/** Browsers and client libraries name at most twenty; those beyond are not read. */
const maxRanges = 100

export function rangesOf(header: string): { type: string; weight: number }[] {
  return header.split(',', maxRanges).map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1)
    return { type, weight: Number.isFinite(weight) ? weight : 0 }
  })
}

export function yamlTypeFor(header = ''): string {
  return /\bapplication\/yaml\b/i.test(header) && !header.toLowerCase().includes(yamlType)
    ? 'application/yaml'
    : yamlType
}

interface FormatRating {
  /** 0: no format is named, 1: every type, 2: a kind of types, 3: the type itself. */
  readonly specificity: number
  readonly weight: number
}

/**
 * The preferred format among `offered`; JSON when the header is missing; undefined when none of them is acceptable. What a header says of a
 * format itself counts before what it says of all. JSON is preferred to a format that only a wildcard accepts.
 *
 * @see RFC 9110, section 12.5.1; docs/contracts/http.md#content
 */
export function parseAccept(
  header: string | undefined,
  offered: readonly AnswerFormat[],
): AnswerFormat | undefined {
  if (header === undefined || header === '' || header === '*/*' || header === 'application/json')
    return 'json'
  const ratings = rateFormats(header)
  const weightBy = (format: AnswerFormat, minSpecificity: number) => {
    const { specificity, weight } = ratings.get(format) ?? unnamed
    return specificity >= minSpecificity && offered.includes(format) ? weight : 0
  }
  let best: AnswerFormat | undefined
  let bestWeight = 0
  for (const format of ratings.keys()) {
    const weight = weightBy(format, format === 'json' ? 1 : 3)
    if (weight > bestWeight) {
      best = format
      bestWeight = weight
    }
  }
  return best ?? offered.find((format) => weightBy(format, 1) > 0)
}

const unnamed: FormatRating = { specificity: 0, weight: 0 }

/** In the order in which a range has named or included them first. */
function rateFormats(header: string): Map<AnswerFormat, FormatRating> {
  const ratings = new Map<AnswerFormat, FormatRating>()
  for (const { type, weight } of rangesOf(header)) {
    const named = formats[type] ?? (type.endsWith('+json') ? 'json' : undefined)
    const included = named === undefined ? (wildcards[type] ?? []) : [named]
    if (included.length === 0) continue
    const specificity = named !== undefined ? 3 : type.startsWith('*') ? 1 : 2
    for (const format of included) {
      const known = ratings.get(format) ?? unnamed
      const counts =
        specificity > known.specificity ||
        (specificity === known.specificity && weight > known.weight)
      if (counts) ratings.set(format, { specificity, weight })
    }
  }
  return ratings
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

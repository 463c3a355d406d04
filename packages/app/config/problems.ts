/** Errors in the configuration: message, origin, and the printable part of a value. */

export interface SourcePosition {
  /** A file, or `environment variable X`. */
  source: string
  /** From 1; undefined outside files. */
  line?: number
}

export interface Problem {
  origin?: SourcePosition
  key?: string
  message: string
}

export class ConfigError extends Error {
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(formatProblems(problems))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

export function formatProblems(problems: readonly Problem[]): string {
  return problems.map(formatProblem).join('\n')
}

/** Each once, by file and line. */
export function sortProblems(problems: readonly Problem[]): Problem[] {
  const unique = new Map(problems.map((problem) => [formatProblems([problem]), problem]))
  return [...unique.values()].sort(
    (left, right) =>
      (left.origin?.source ?? '').localeCompare(right.origin?.source ?? '') ||
      (left.origin?.line ?? 0) - (right.origin?.line ?? 0),
  )
}

function formatProblem({ origin, key, message }: Problem): string {
  return [origin && formatOrigin(origin), key, message]
    .filter((part) => part !== undefined)
    .join(': ')
}

function formatOrigin({ source, line }: SourcePosition): string {
  return line === undefined ? source : `${source}:${line}`
}

const secretWords = /password|passwd|secret|token|key|credential/i

/** The value as a problem may quote it: never that of a key that sounds secret, never a password within an address. */
export function showValue(key: string, value: unknown): string {
  if (secretWords.test(key)) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return `, is ${value}`
  if (typeof value !== 'string') return ''
  const shown = hideCredentials(value)
  return `, is ${JSON.stringify(shown.length > 60 ? `${shown.slice(0, 60)}…` : shown)}`
}

export function hideCredentials(text: string): string {
  return text.replaceAll(/\/\/\S*/g, hideUser).replace(/\?.*/s, '?…')
}

function hideUser(address: string): string {
  const at = address.lastIndexOf('@')
  return at === -1 ? address : `//***${address.slice(at)}`
}

/** `services.orca.shards.baseUrls[0].priority` */
export function formatPath(path: readonly string[]): string {
  return path
    .map((segment, index) =>
      /^\d+$/.test(segment) ? `[${segment}]` : index === 0 ? segment : `.${segment}`,
    )
    .join('')
}

/** The cause of a failure: the line of an output, or the words of an exit, that says why. docs/contracts/causes.md. */
import { maybeObject } from '../json/shape.ts'

const causeKinds = [
  'code',
  'test',
  'dependency',
  'configuration',
  'network',
  'permission',
  'resource',
  'timeout',
  'killed',
  'unknown',
] as const
export type CauseKind = (typeof causeKinds)[number]

export type CauseStream = 'stdout' | 'stderr' | 'system'

export interface Cause {
  /** Cleaned and without secrets, at most 200 characters. */
  readonly text: string
  /** Number of the original line, from 1, by arrival; none for `system`. */
  readonly line?: number
  readonly stream: CauseStream
  readonly kind: CauseKind
  /** Name of the tool that wrote the line; `any` if it is not known. */
  readonly tool: string
  readonly around: readonly { readonly line: number; readonly text: string }[]
  /** `file:line` */
  readonly place?: string
  readonly tests?: { readonly count: number; readonly names: readonly string[] }
  /** Number of other candidates of the same class. */
  readonly more?: number
}

/** How what wrote the output has ended. */
export interface Ending {
  readonly exitCode?: number
  /** Name of a signal, such as `SIGKILL`. */
  readonly signal?: string
  /** The system has ended it for its memory. */
  readonly isOutOfMemory?: boolean
  /** What Fairlead or an orchestrator knows of the end, such as its own time limit: it precedes the exit. */
  readonly reason?: { readonly text: string; readonly kind: CauseKind } | undefined
}

/** @param text In which Fairlead or an orchestrator says how something ended */
export function reasonEnding(text: string): Pick<Ending, 'isOutOfMemory' | 'reason'> {
  if (
    /OOMKilled|more memory than its limit|exceeded its memory limit|of memory, more than its limit/.test(
      text,
    )
  )
    return { isOutOfMemory: true }
  if (/time limit|DeadlineExceeded/.test(text)) return { reason: { text, kind: 'timeout' } }
  return /disk quota|exceeded its limit of/.test(text) ? { reason: { text, kind: 'resource' } } : {}
}

/** A cause that another process or service has found. */
export function toCause(value: unknown): Cause | undefined {
  const cause = maybeObject(value)
  return typeof cause?.['text'] === 'string' && typeof cause['kind'] === 'string'
    ? (cause as unknown as Cause)
    : undefined
}

/** `cart.test.ts:9: expected 1, got 2` */
export function formatCause({ text, place }: Cause): string {
  return place === undefined || text.includes(place) ? text : `${text} (${place})`
}

export const maxText = 200

/** At most 200 characters, with the one at `at` among them. */
export function cutAround(text: string, at = 0): string {
  if (text.length <= maxText) return text
  if (at < maxText - 20) return `${text.slice(0, maxText - 1)}…`
  const from = at - 40
  const rest = text.slice(from)
  return rest.length < maxText ? `…${text.slice(1 - maxText)}` : `…${rest.slice(0, maxText - 2)}…`
}

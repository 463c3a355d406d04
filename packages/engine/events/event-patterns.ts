/** Patterns of triggers, matched against one event within one common budget. */
import { formatJson } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { createRegexMeter, matchesWhole, occursIn } from '@fairlead/base/regex/bounded-regex.ts'
import { RegexError } from '@fairlead/base/regex/regex-syntax.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { matchesArtifact, toExpected } from '../pipelines/artifact-match.ts'

export interface Patterns {
  /** Whether the pattern matches the whole text. A pattern that cannot be used matches nothing. */
  matchesWhole(pattern: string, text: string): boolean
  /** Whether the pattern matches anywhere in the text. */
  occurs(pattern: string, text: string): boolean
  isExpected(expected: JsonObject, artifact: JsonObject): boolean
  /** Counts other work that grows with the event. */
  spend(steps: number): void
}

const mostReported = 1000

/** Patterns that were said to be unusable: each is logged once, however often events come. */
const reported = new WeakMap<object, Set<string>>()

/**
 * For one event. Every method refuses it with 422 once it has taken too long: sending it again would not help.
 *
 * @see docs/contracts/events.md#expected-artifacts, #payload-constraints
 */
export function createPatterns(context: Pick<BackendContext, 'log'>): Patterns {
  const meter = createRegexMeter()
  /** The meter is shared, so that what is too long for one pattern is too long for the event. */
  const match = (pattern: unknown, work: () => boolean): boolean => {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof RegexError)) throw error
      if (error.kind === 'too-long') throw tooLong()
      report(context, formatJson(pattern), error.message)
      return false
    }
  }
  return {
    matchesWhole: (pattern, text) => match(pattern, () => matchesWhole(pattern, text, meter)),
    occurs: (pattern, text) => match(pattern, () => occursIn(pattern, text, meter)),
    isExpected: (expected, artifact) =>
      match(expected['matchArtifact'], () =>
        matchesArtifact(toExpected(expected), artifact, meter),
      ),
    spend(steps) {
      match(undefined, () => {
        meter.spend(steps)
        return true
      })
    },
  }
}

function report(context: Pick<BackendContext, 'log'>, pattern: string, reason: string): void {
  const known = reported.get(context) ?? new Set()
  reported.set(context, known)
  if (known.has(pattern) || known.size >= mostReported) return
  known.add(pattern)
  context.log.warn({ pattern, reason }, 'a pattern of a trigger is unusable and matches nothing')
}

function tooLong(): PortError {
  return new PortError(
    422,
    'The event was not accepted: matching it with the patterns of all triggers takes too long. Send less in one event, or simplify the patterns.',
  )
}

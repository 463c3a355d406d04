/**
 * Expected artifacts: a trigger that names some fires only when one of them arrived.
 * @see docs/contracts/events.md#expected-artifacts
 */
import { type JsonObject, textsOf } from '../../json/values.ts'
import type { Patterns } from './event-patterns.ts'

/** Whether at least one received artifact is one that the trigger expects; also when it expects none. */
export function hasExpectedArtifact(
  all: readonly JsonObject[],
  trigger: JsonObject,
  received: readonly JsonObject[],
  patterns: Patterns,
): boolean {
  const ids = textsOf(trigger['expectedArtifactIds'])
  if (ids.length === 0) return true
  const expected = all.filter(({ id }) => typeof id === 'string' && ids.includes(id))
  return expected.some((each) => received.some((artifact) => patterns.isExpected(each, artifact)))
}

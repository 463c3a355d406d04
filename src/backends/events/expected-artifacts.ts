/** Expected artifacts: a trigger that names some fires only when one of them arrived. Events contract, section 3.2. */
import { type JsonObject, objectOf, textOf, textsOf } from '../json-values.ts'
import { matchesWhole } from './patterns.ts'

/** What is compared; id, provenance and account are not. */
const compared = ['type', 'name', 'version', 'location', 'reference']

/** Whether at least one received artifact is one that the trigger expects; also when it expects none. */
export function hasExpectedArtifact(all: readonly JsonObject[], trigger: JsonObject, received: JsonObject[]): boolean {
  const ids = textsOf(trigger['expectedArtifactIds'])
  if (ids.length === 0) return true
  const expected = all.filter(({ id }) => typeof id === 'string' && ids.includes(id))
  return expected.some(({ matchArtifact }) => received.some((artifact) => isMatch(objectOf(matchArtifact), artifact)))
}

/** Each field that is given is a pattern for the whole value. */
function isMatch(match: JsonObject, artifact: JsonObject): boolean {
  return compared.every((field) => {
    const pattern = textOf(match[field])
    return pattern === undefined || (typeof artifact[field] === 'string' && matchesWhole(pattern, artifact[field]))
  })
}

/** Validation of patterns in triggers and expected artifacts when they are saved. */
import { isTrue, type JsonObject, objectOf, objectsOf } from '@fairlead/base/json/values.ts'
import { findRegexProblem } from '@fairlead/base/regex/bounded-regex.ts'
import { flatMapInTurns } from '@fairlead/base/stores/in-turns.ts'
import { mask } from '@fairlead/model/secrets/secret-names.ts'
import { comparedFields } from '../pipelines/artifact-match.ts'
import { refusal } from './requests.ts'

/** Where the pattern stands, for the person who has written it. */
interface PatternPlace {
  place: string
  pattern: unknown
  /** Whether a text that Java would not take for a pattern has a meaning of its own. */
  mayBeText?: boolean
}

/** The slowest ones take two milliseconds each. */
const patternsAtATime = 5

/**
 * Other requests have their turn in between, thus before the transaction of a save.
 *
 * @throws {PortError} 400 with each pattern that cannot be used, in enabled triggers and in expected artifacts
 */
export async function checkPatterns(definition: JsonObject): Promise<void> {
  const patterns = [...triggerPatterns(definition), ...artifactPatterns(definition)]
  const problems = await flatMapInTurns(patterns, describeProblem, patternsAtATime)
  if (problems.length > 0)
    throw refusal(`Some patterns can never match. ${problems.join(' ')}`, problems)
}

function describeProblem({ place, pattern, mayBeText = false }: PatternPlace): string[] {
  // What is an expression is a pattern only once it is evaluated; behind a mask is what is stored.
  if (typeof pattern !== 'string' || pattern === '' || pattern === mask || pattern.includes('${'))
    return []
  const problem = findRegexProblem(pattern)
  if (problem === undefined || (mayBeText && problem.kind === 'malformed')) return []
  return [`${place}: ${problem.message}`]
}

function triggerPatterns(definition: JsonObject): PatternPlace[] {
  return objectsOf(definition['triggers']).flatMap((trigger, index) => {
    if (!isTrue(trigger['enabled'])) return []
    const place = `Trigger ${index + 1} (${trigger['type']})`
    const fields = patternFields(String(trigger['type'])).map((field) => ({
      place: `${place}, ${field}`,
      pattern: trigger[field],
    }))
    const constraints = ['payloadConstraints', 'attributeConstraints'].flatMap((field) =>
      Object.entries(objectOf(trigger[field])).map(([key, pattern]) => ({
        place: `${place}, constraint "${key}"`,
        pattern,
      })),
    )
    return [...fields, ...constraints]
  })
}

function patternFields(type: string): string[] {
  if (type === 'git') return ['branch', 'tags']
  if (type === 'artifact') return ['version']
  return type === 'docker' || type === 'helm/oci' ? ['tag'] : []
}

function artifactPatterns(definition: JsonObject): PatternPlace[] {
  return objectsOf(definition['expectedArtifacts']).flatMap((expected) =>
    comparedFields.map((field) => ({
      place: `Expected artifact "${expected['displayName'] ?? expected['id'] ?? ''}", ${field}`,
      pattern: objectOf(expected['matchArtifact'])[field],
      mayBeText: true,
    })),
  )
}

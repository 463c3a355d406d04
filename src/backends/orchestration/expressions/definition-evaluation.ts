/** Evaluates, at submission, what can be evaluated then (orchestration contract, 7.2). */
import type { JsonObject } from '../model.ts'

export function evaluateDefinition(definition: JsonObject, _now: number): JsonObject {
  return definition
}

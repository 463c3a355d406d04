/** Evaluation of a list of variables, each with those above it in scope (evaluator v4). */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Scope } from './evaluator.ts'
import { executionScope } from './scopes.ts'
import type { EvaluationPlace } from './stage-evaluation.ts'
import { type ExpressionSummary, evaluateTree } from './template.ts'

export interface Variable extends JsonObject {
  key?: unknown
  value?: unknown
  /** The value as it was written, when evaluation changed it. */
  sourceValue?: unknown
}

export function evaluateVariables(
  variables: readonly Variable[],
  place: EvaluationPlace,
): { result: Variable[]; summary: ExpressionSummary } {
  const outer = executionScope(place)
  const known = new Map<string, unknown>()
  const summary: ExpressionSummary = Object.create(null) as ExpressionSummary
  const scope = withVariables(outer, known)
  const result = variables.map((variable): Variable => {
    const { value, summary: failed } = evaluateTree(
      { value: variable.value },
      { scope, now: place.now, meter: place.meter },
    )
    Object.assign(summary, failed)
    if (typeof variable.key === 'string') known.set(variable.key, value.value)
    return { ...variable, value: value.value, sourceValue: variable.value }
  })
  return { result, summary }
}

function withVariables(outer: Scope, known: ReadonlyMap<string, unknown>): Scope {
  return {
    ...outer,
    has: (name) => known.has(name) || outer.has(name),
    lookUp: (name) => (known.has(name) ? known.get(name) : outer.lookUp(name)),
    all: () => ({ ...outer.all(), ...Object.fromEntries(known) }),
  }
}

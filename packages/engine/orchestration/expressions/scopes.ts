/** Names that an expression can refer to, by its place. @see docs/contracts/orchestration.md#names-in-scope */
import { isObject, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import type { Meter } from '@fairlead/base/regex/meter.ts'
import { graphOf } from '../machine/graph.ts'
import type { ExecutionPlace } from '../model.ts'
import type { ExpressionPlace } from './answers.ts'
import { deployedServerGroups } from './deployments.ts'
import type { Scope } from './evaluator.ts'
import { executionObject, expressionFunctions } from './functions.ts'

/** At submission: only what is known then, and unknown names are errors. */
export function submissionScope(
  trigger: JsonObject,
  templateVariables: JsonObject | undefined,
): Scope {
  const { parameters } = trigger
  return objectScope({ trigger, parameters, ...(templateVariables && { templateVariables }) })
}

/** An object whose own members are the names. Without an execution, functions about stages have nothing to look at. */
export function objectScope(members: JsonObject): Scope {
  return {
    has: (name) => Object.hasOwn(members, name),
    lookUp: (name) => members[name],
    all: () => members,
    functions: functionsWithoutPlace,
    strict: true,
  }
}

/** The execution as a whole, and what a stage sees when one is given. Ad-hoc tasks see neither their execution nor a trigger. */
export function executionScope(place: ExpressionPlace): Scope {
  const { execution, stage } = place
  const names = new Map<string, () => unknown>()
  if (execution.type === 'PIPELINE') {
    const whole = once(() => executionObject(execution))
    const deployed = once(() => deployedServerGroups(execution, []))
    names.set('execution', whole)
    names.set('trigger', () => execution.trigger)
    names.set('parameters', () => parametersOf(place))
    names.set('deployedServerGroups', deployed)
    names.set('scmInfo', () => scmInfo(place))
    if (execution.templateVariables !== undefined)
      names.set('templateVariables', () => execution.templateVariables)
  }
  const outputs = once(() =>
    stage === undefined ? new Map<string, unknown>() : graphOf(execution).visibleOutputs(stage),
  )
  const own = stage?.context ?? {}
  const read = (name: string) => (Object.hasOwn(own, name) ? own[name] : outputs().get(name))
  return {
    has: (name) => names.has(name) || read(name) !== undefined,
    lookUp: (name) => (names.has(name) ? names.get(name)?.() : read(name)),
    all: once(() => ({
      ...Object.fromEntries(outputs()),
      ...own,
      ...Object.fromEntries([...names].map(([name, value]) => [name, value()])),
    })),
    functions: functionsAt(place),
    strict: false,
  }
}

/** Expressions change nothing, so the value of a name is computed once for all of them. */
function once<T>(find: () => T): () => T {
  let found: { value: T } | undefined
  return () => {
    found ??= { value: find() }
    return found.value
  }
}

function functionsAt(place: ExpressionPlace, functions = expressionFunctions): Scope['functions'] {
  return new Map(
    functions.map((each) => [
      each.name,
      (args: unknown[], meter: Meter) => each.call(place, args, meter),
    ]),
  )
}

const placelessNames =
  'toJson readJson readYaml readAllYaml readProperties toInt toFloat toBoolean toBase64 fromBase64 alphanumerical doNotEval'.split(
    ' ',
  )

const functionsWithoutPlace = functionsAt(
  undefined as never,
  expressionFunctions.filter((each) => placelessNames.includes(each.name)),
)

function parametersOf({ execution, stage }: ExecutionPlace): JsonObject {
  const { parameters } = execution.trigger
  if (Object.keys(parameters).length > 0) return parameters
  return objectOf(stage?.context['parameters'])
}

/** The first of several entries whose branch is not a main one. */
function scmInfo({ execution, stage }: ExecutionPlace): unknown {
  const sources = [stage?.context['buildInfo'], execution.trigger['buildInfo']]
  const found = sources
    .map((source) => (isObject(source) ? source['scm'] : undefined))
    .find(Array.isArray)
  if (found === undefined || found.length === 0) return null
  const isSideBranch = (entry: unknown) =>
    isObject(entry) && !['master', 'develop'].includes(String(entry['branch']))
  return found.length === 1 ? found[0] : (found.find(isSideBranch) ?? found[0])
}

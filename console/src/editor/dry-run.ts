/** A draft with its expressions evaluated by the results of a run: what is asked for each stage, and what the answers say. */
import { type Json, objectOf, objectsOf, textOf } from '../model/read.ts'
import { descriptionOf, type StageTypes } from './descriptions.ts'
import { isExpression } from './problems.ts'
import { refIdOf, requisitesOf, stagesOf, titleOfStage } from './stages.ts'

/** One call of `evaluateVariables`. */
interface StageQuestion {
  /** Stages of the run whose results are in sight, the nearest first. */
  readonly requisites: readonly string[]
  /** Fields of the stage, which see those before them. */
  readonly variables: readonly { readonly key: string; readonly value: unknown }[]
}

/** Read by the engine before a stage begins. */
const structure = ['refId', 'requisiteStageRefIds', 'type']

/**
 * Undefined for a stage without expressions.
 *
 * @param inRun References of the stages of the run.
 */
export function toQuestion(
  stage: Json,
  definition: Json,
  inRun: ReadonlySet<string>,
  types: StageTypes | undefined,
): StageQuestion | undefined {
  const fields = [...(descriptionOf(types, stage)?.fields ?? []), ...(types?.commonFields ?? [])]
  // The engine evaluates others at another time, or never.
  const isEvaluated = (key: string) =>
    ['stageEnabled', variablesOf(stage)].includes(key) || fields.find(({ name }) => name === key)?.expression !== false
  const all = Object.entries(stage)
    .filter(([key]) => !structure.includes(key) && isEvaluated(key))
    .flatMap(([key, value]) =>
      key === variablesOf(stage)
        ? objectsOf(value).map((variable) => ({ key: textOf(variable['key']) ?? '', value: variable['value'] }))
        : [{ key, value: key === 'stageEnabled' ? withBraces(objectOf(value)) : value }],
    )
  const hasExpression = (value: unknown) => JSON.stringify(value)?.includes('${') === true
  if (!hasExpression(all)) return undefined
  const before = new Set(requisitesOf(stage))
  const refIdsBefore = (id: string) => requisitesOf(stagesOf(definition).find((each) => refIdOf(each) === id) ?? {})
  // Also those that are added meanwhile.
  for (const id of before) for (const each of refIdsBefore(id)) before.add(each)
  return {
    variables: all.toSorted((one, other) => Number(hasExpression(one)) - Number(hasExpression(other))),
    requisites: [...before].filter((id) => inRun.has(id)),
  }
}

/** The field whose items later expressions of the stage see by their names. */
function variablesOf(stage: Json): string {
  return stage['type'] === 'evaluateVariables' ? 'variables' : ''
}

/** A condition may be written without `${}`. */
function withBraces(condition: Json): Json {
  const { type, expression } = condition
  const isBare = type === 'expression' && textOf(expression)?.trim() && !isExpression(expression)
  return isBare ? { ...condition, expression: `\${${expression}}` } : condition
}

interface Answer {
  readonly result?: readonly Json[] | undefined
  /** By expression. */
  readonly detail?: unknown
}

/** The stage with values instead of expressions. */
export function withValues(stage: Json, { variables }: StageQuestion, { result = [] }: Answer): Json {
  const values = new Map(variables.map(({ key }, index) => [key, objectOf(result[index])['value']]))
  const entries = Object.entries(stage).map(([key, value]) => {
    if (key !== variablesOf(stage)) return [key, values.has(key) ? values.get(key) : value]
    return [key, objectsOf(value).map((variable) => ({ ...variable, value: values.get(textOf(variable['key']) ?? '') }))]
  })
  return Object.fromEntries(entries) as Json
}

/** Why an expression has no value. */
export interface Note {
  readonly title: string
  readonly expression: string
  readonly message: string
  /** Otherwise a part of it is not there, so the whole is null or has a gap. */
  readonly isError: boolean
}

export function notesOf(stage: Json, { detail }: Answer): readonly Note[] {
  return Object.entries(objectOf(detail)).flatMap(([expression, entries]) =>
    objectsOf(entries).map(({ description, level }) => {
      // Without the expression that stands beside it anyway.
      const message = (textOf(description) ?? '').replace(/^Failed to evaluate (?:\[[^\]]*\] )?[\s\S]*?: (?=\S)/, '')
      return { title: titleOfStage(stage), expression, message, isError: level !== 'INFO' }
    }),
  )
}

/** A draft with its expressions evaluated by the results of a run: what is asked for each stage, and what the answers say. */
import { type JsonObject, objectOf, objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import { isExpression } from '@fairlead/model/stage-types/check-stage.ts'
import { descriptionOf, type StageTypes, stagesBefore, titleOfStage, toNodes } from './stages.ts'

type StageQuestion = NonNullable<ReturnType<typeof toQuestion>>

/** Read by the engine before a stage begins. */
const structure = ['refId', 'requisiteStageRefIds', 'type']
const hasExpression = (value: unknown) => JSON.stringify(value)?.includes('${') === true

/**
 * One call of `evaluateVariables`: fields that see those before them, and stages whose results are in sight, the nearest first.
 * Undefined for a stage without expressions.
 */
export function toQuestion(
  stage: JsonObject,
  definition: JsonObject,
  inRun: ReadonlySet<string>,
  types: StageTypes | undefined,
) {
  const fields = [...(descriptionOf(types, stage)?.fields ?? []), ...(types?.commonFields ?? [])]
  const variables = Object.entries(stage).flatMap(([key, value]) => {
    if (key === variablesOf(stage))
      return objectsOf(value).map((item) => ({
        key: scalarOf(item['key']) ?? '',
        value: item['value'],
      }))
    if (key === 'stageEnabled') return [{ key, value: withBraces(objectOf(value)) }]
    // The engine evaluates others at another time, or never.
    const isEvaluated =
      !structure.includes(key) && fields.find(({ name }) => name === key)?.expression !== false
    return isEvaluated ? [{ key, value }] : []
  })
  if (!hasExpression(variables)) return undefined
  const nodes = toNodes(definition)
  const key = nodes.find((node) => node.stage === stage)?.key ?? ''
  return {
    variables: variables.toSorted(
      (one, other) => Number(hasExpression(one)) - Number(hasExpression(other)),
    ),
    requisites: [...stagesBefore(nodes, key)].filter((id) => inRun.has(id)),
  }
}

/** The field whose items later expressions of the stage see by their names. */
function variablesOf(stage: JsonObject) {
  return stage['type'] === 'evaluateVariables' ? 'variables' : ''
}

/** A condition may be written without `${}`. */
function withBraces(condition: JsonObject) {
  const { type, expression } = condition
  const isBare = type === 'expression' && scalarOf(expression)?.trim() && !isExpression(expression)
  return isBare ? { ...condition, expression: `\${${expression}}` } : condition
}

/** `detail`: by expression. */
type Answer = { readonly result?: readonly JsonObject[]; readonly detail?: unknown }

export function withValues(
  stage: JsonObject,
  { variables }: StageQuestion,
  { result = [] }: Answer,
): JsonObject {
  const values = new Map(variables.map(({ key }, index) => [key, objectOf(result[index])['value']]))
  const entries = Object.entries(stage).map(([key, value]) => {
    if (key !== variablesOf(stage)) return [key, values.has(key) ? values.get(key) : value]
    return [
      key,
      objectsOf(value).map((item) => ({ ...item, value: values.get(scalarOf(item['key']) ?? '') })),
    ]
  })
  return Object.fromEntries(entries) as JsonObject
}

/** Why expressions have no value; without an error, a part of one is not there, so the whole is null or has a gap. */
export function notesOf(stage: JsonObject, { detail }: Answer) {
  return Object.entries(objectOf(detail)).flatMap(([expression, entries]) =>
    objectsOf(entries).map(({ description, level }) => {
      // Without the expression that stands beside it anyway.
      const message = (scalarOf(description) ?? '').replace(
        /^Failed to evaluate (?:\[[^\]]*\] )?[\s\S]*?: (?=\S)/,
        '',
      )
      return { title: titleOfStage(stage), expression, message, isError: level !== 'INFO' }
    }),
  )
}

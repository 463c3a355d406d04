/** A draft with its expressions evaluated by the results of a run: what is asked for each stage, and what the answers say. */
import { type Json, objectOf, objectsOf, textOf } from '../model/read.ts'
import { descriptionOf, type StageTypes } from './descriptions.ts'
import { isExpression } from './problems.ts'
import { refIdOf, requisitesOf, stagesOf, titleOfStage } from './stages.ts'

/** One call of `evaluateVariables`. */
interface StageQuestion {
  /** Stages of the run whose results are in sight. */
  readonly requisites: readonly string[]
  /** Fields of the stage, which see those before them. */
  readonly variables: readonly { readonly key: string; readonly value: unknown }[]
  /** Stages that come before and that the run does not have. */
  readonly missing: readonly string[]
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
  const evaluated = ['stageEnabled', variablesOf(stage)]
  // The engine evaluates these at another time, or never.
  const isLeft = (key: string) => fields.find(({ name }) => name === key)?.expression === false && !evaluated.includes(key)
  const own = Object.entries(stage).filter(([key]) => !structure.includes(key) && !isLeft(key))
  const all = own.flatMap(([key, value]) =>
    key === variablesOf(stage) ? toVariables(value) : [{ key, value: asked(key, value) }],
  )
  if (!hasExpression(all)) return undefined
  const variables = all.toSorted((one, other) => Number(hasExpression(one)) - Number(hasExpression(other)))
  return { variables, ...requisitesIn(stage, definition, inRun) }
}

/** The field whose items later expressions of the stage see by their names. */
function variablesOf(stage: Json): string | undefined {
  return stage['type'] === 'evaluateVariables' ? 'variables' : undefined
}

function toVariables(value: unknown): StageQuestion['variables'] {
  return objectsOf(value).map((variable) => ({ key: textOf(variable['key']) ?? '', value: variable['value'] }))
}

/** A condition may be written without `${}`. */
function asked(key: string, value: unknown): unknown {
  const { type, expression } = objectOf(value)
  const isBare = key === 'stageEnabled' && type === 'expression' && textOf(expression)?.trim() && !isExpression(expression)
  return isBare ? { type, expression: `\${${expression}}` } : value
}

function hasExpression(value: unknown): boolean {
  return JSON.stringify(value)?.includes('${') === true
}

/** Instead of a stage that the run does not have, those that it requires. */
function requisitesIn(stage: Json, definition: Json, inRun: ReadonlySet<string>): Omit<StageQuestion, 'variables'> {
  const [missing, requisites] = [new Set<string>(), new Set<string>()]
  const collect = (of: Json) => {
    for (const id of requisitesOf(of)) {
      const before = stagesOf(definition).find((each) => refIdOf(each) === id)
      const title = before === undefined ? id : titleOfStage(before)
      if (inRun.has(id)) requisites.add(id)
      else if (!missing.has(title)) {
        missing.add(title)
        collect(before ?? {})
      }
    }
  }
  collect(stage)
  return { requisites: [...requisites], missing: [...missing] }
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

export interface Failure {
  readonly expression: string
  readonly message: string
  /** Otherwise a part of it is not there, so the whole is null or has a gap. */
  readonly isError: boolean
}

export function failuresIn({ detail }: Answer): readonly Failure[] {
  return Object.entries(objectOf(detail)).flatMap(([expression, entries]) =>
    objectsOf(entries).map((entry) => {
      const text = textOf(entry['description']) ?? ''
      // Without the expression that stands beside it anyway.
      const message = text.replace(/^Failed to evaluate (?:\[[^\]]*\] )?[\s\S]*?: (?=\S)/, '')
      return { expression, message, isError: entry['level'] !== 'INFO' }
    }),
  )
}

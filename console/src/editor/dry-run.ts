/** Expressions of a draft, and what they give with the results of a run. Nothing is stored or started. */
import { type Json, objectOf, objectsOf, textOf } from '../model/read.ts'
import { descriptionOf, type StageTypes } from './descriptions.ts'
import { formatPath, type Path } from './json-path.ts'
import { isExpression } from './problems.ts'
import { inRunOrder, refIdOf, requisitesOf, type StageNode, titleOfStage, toNodes } from './stages.ts'

/** One text of a stage that has an expression. */
export interface StageExpression {
  /** As people write it: `clusters[0].imageId`. */
  readonly field: string
  readonly text: string
  /** The engine evaluates it at another time than the rest of the stage, or never. */
  readonly hasOwnTime: boolean
}

export interface StageExpressions {
  readonly node: StageNode
  readonly expressions: readonly StageExpression[]
}

/** The condition decides whether the stage runs; it may be written without `${}`. */
export const conditionField = 'stageEnabled'
/** Read by the engine before a stage begins. */
const structure = ['refId', 'requisiteStageRefIds', 'type']

/** In the order in which the stages run; stages without expressions are left out. */
export function findExpressions(definition: Json, types: StageTypes | undefined): readonly StageExpressions[] {
  const found = inRunOrder(toNodes(definition)).map((node) => ({ node, expressions: expressionsOf(node.stage, types) }))
  return found.filter(({ expressions }) => expressions.length > 0)
}

function expressionsOf(stage: Json, types: StageTypes | undefined): readonly StageExpression[] {
  const fields = [...(descriptionOf(types, stage)?.fields ?? []), ...(types?.commonFields ?? [])]
  const { expression: condition, type } = objectOf(stage[conditionField])
  const found: StageExpression[] = []
  if (type === 'expression' && textOf(condition)?.trim()) {
    found.push({ field: conditionField, text: String(condition), hasOwnTime: false })
  }
  for (const [key, value] of Object.entries(stage)) {
    if (key === conditionField || structure.includes(key)) continue
    const isVariables = stage['type'] === 'evaluateVariables' && key === 'variables'
    const hasOwnTime = fields.find(({ name }) => name === key)?.expression === false && !isVariables
    for (const [path, text] of textsIn(value, [key])) found.push({ field: formatPath(path), text, hasOwnTime })
  }
  return found
}

/** Keys may be expressions, too. */
function textsIn(value: unknown, path: Path): readonly (readonly [Path, string])[] {
  if (isExpression(value)) return [[path, String(value)]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => {
    const here = [...path, Array.isArray(value) ? Number(key) : key]
    return [...textsIn(key, here), ...textsIn(item, here)]
  })
}

/** One call of `evaluateVariables`. */
interface StageQuestion {
  /** Stages of the run whose results are in sight. */
  readonly requisites: readonly string[]
  /** Own fields of the stage, then its expressions. */
  readonly variables: readonly { readonly key: string; readonly value: unknown }[]
  /** Stages that come before and that the run does not have. */
  readonly missing: readonly string[]
}

/** @param inRun References of the stages of the run. */
export function toQuestion({ node, expressions }: StageExpressions, definition: Json, inRun: ReadonlySet<string>): StageQuestion {
  const { stage } = node
  const nodes = toNodes(definition)
  const [missing, requisites] = [new Set<string>(), new Set<string>()]
  /** Instead of a stage that the run does not have, those that it requires. */
  const require = (of: Json) => {
    for (const id of requisitesOf(of)) {
      const before = nodes.find((other) => refIdOf(other.stage) === id)?.stage
      const title = before === undefined ? id : titleOfStage(before)
      if (inRun.has(id)) requisites.add(id)
      else if (!missing.has(title)) {
        missing.add(title)
        require(before ?? {})
      }
    }
  }
  require(stage)
  const own = Object.entries(stage).filter(([key, value]) => !structure.includes(key) && textsIn(value, []).length === 0)
  const asked = expressions.map(({ field, text }) => ({
    key: variableName(stage, field) ?? ` ${field}`,
    value: field === conditionField && !isExpression(text) ? `\${${text}}` : text,
  }))
  return {
    requisites: [...requisites],
    variables: [...own.map(([key, value]) => ({ key, value })), ...asked],
    missing: [...missing],
  }
}

/** Each variable of the stage is known to those below it. */
function variableName(stage: Json, field: string): string | undefined {
  const index = /^variables\[(\d+)\]\.value$/.exec(field)?.[1]
  return stage['type'] === 'evaluateVariables' ? textOf(objectsOf(stage['variables'])[Number(index)]?.['key']) : undefined
}

/** `null`: a part of it is not there, so the whole is null or has a gap. */
export interface Outcome {
  readonly kind: 'value' | 'null' | 'error'
  readonly value: unknown
  readonly message: string
}

export interface EvaluatedStage extends Pick<StageQuestion, 'missing'> {
  readonly title: string
  readonly rows: readonly { readonly expression: StageExpression; readonly outcome: Outcome }[]
}

interface Answer {
  readonly result?: readonly Json[] | undefined
  readonly detail?: unknown
}

export function toOutcome({ text }: StageExpression, place: number, { result = [], detail }: Answer): Outcome {
  const value = objectOf(result[place])['value'] ?? null
  const failures = Object.entries(objectOf(detail)).flatMap(([name, entries]) => (text.includes(name) ? objectsOf(entries) : []))
  const failure = failures.find(({ level }) => level !== 'INFO') ?? failures[0]
  const message = failure === undefined ? '' : plainMessage(failure)
  const isError = failure !== undefined && failure['level'] !== 'INFO'
  return { kind: isError ? 'error' : failure !== undefined || value === null ? 'null' : 'value', value, message }
}

/** Without the expression that stands beside it anyway. */
function plainMessage(entry: Json): string {
  const text = textOf(entry['description']) ?? ''
  const message = text.replace(/^Failed to evaluate (?:\[[^\]]*\] )?[\s\S]*?: (?=\S)/, '')
  return message.charAt(0).toUpperCase() + message.slice(1)
}

/** Of a condition: whether the stage would run; undefined where it gives neither true nor false. */
export function wouldRun({ value }: Outcome): boolean | undefined {
  const text = String(value).toLowerCase()
  return text === 'true' ? true : text === 'false' || value === null ? false : undefined
}

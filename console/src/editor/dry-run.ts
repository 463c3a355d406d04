/** Expressions of a draft, the questions that give their values with the results of a run, and the answers in plain words. */
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
  /** The condition `stageEnabled`: it decides whether the stage runs. */
  readonly isCondition: boolean
  /** The engine evaluates it at another time than the rest of the stage, or never. */
  readonly hasOwnTime: boolean
  /** Under this name later expressions of the stage see the value. */
  readonly name: string | undefined
}

export interface StageExpressions {
  readonly key: string
  readonly title: string
  readonly stage: Json
  readonly expressions: readonly StageExpression[]
}

/** In the order in which the stages run; stages without expressions are left out. */
export function findExpressions(definition: Json, types: StageTypes | undefined): readonly StageExpressions[] {
  return inRunOrder(toNodes(definition)).flatMap(({ key, stage }) => {
    const expressions = expressionsOf(stage, types)
    return expressions.length === 0 ? [] : [{ key, title: titleOfStage(stage), stage, expressions }]
  })
}

/** Read by the engine before a stage begins. */
const structure = ['refId', 'requisiteStageRefIds', 'type']

function expressionsOf(stage: Json, types: StageTypes | undefined): readonly StageExpression[] {
  const fields = [...(descriptionOf(types, stage)?.fields ?? []), ...(types?.commonFields ?? [])]
  const condition = conditionOf(stage)
  const found: StageExpression[] = condition === undefined ? [] : [condition]
  for (const [key, value] of Object.entries(stage)) {
    if (key === 'stageEnabled' || structure.includes(key)) continue
    const field = fields.find(({ name }) => name === key)
    collect(value, [key], field?.expression === false && !isVariables(stage, key), found)
  }
  return isVariables(stage, 'variables') ? found.map((each) => withName(each, stage)) : found
}

function isVariables(stage: Json, key: string): boolean {
  return stage['type'] === 'evaluateVariables' && key === 'variables'
}

/** Each variable is known to those below it. */
function withName(expression: StageExpression, stage: Json): StageExpression {
  const index = /^variables\[(\d+)\]\.value$/.exec(expression.field)?.[1]
  const name = index === undefined ? undefined : textOf(objectsOf(stage['variables'])[Number(index)]?.['key'])
  return { ...expression, name }
}

/** An expression may be written there without `${}`. */
function conditionOf(stage: Json): StageExpression | undefined {
  const { expression, type } = objectOf(stage['stageEnabled'])
  if (type !== 'expression' || typeof expression !== 'string' || expression.trim() === '') return undefined
  return { field: 'stageEnabled', text: expression, isCondition: true, hasOwnTime: false, name: undefined }
}

function collect(value: unknown, path: Path, hasOwnTime: boolean, found: StageExpression[]): void {
  if (isExpression(value)) {
    found.push({ field: formatPath(path), text: value as string, isCondition: false, hasOwnTime, name: undefined })
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) collect(item, [...path, index], hasOwnTime, found)
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      if (isExpression(key)) collect(key, [...path, key], hasOwnTime, found)
      collect(item, [...path, key], hasOwnTime, found)
    }
  }
}

interface Variable {
  readonly key: string
  readonly value: unknown
}

/** One call of `evaluateVariables`. */
interface StageQuestion {
  /** Stages of the run whose results are in sight. */
  readonly requisites: readonly string[]
  readonly variables: readonly Variable[]
  /** Place of each expression among the variables. */
  readonly places: readonly number[]
  /** Stages that come before and that the run does not have. */
  readonly missing: readonly string[]
}

/** @param inRun References of the stages of the run. */
export function toQuestion(part: StageExpressions, definition: Json, inRun: ReadonlySet<string>): StageQuestion {
  const nodes = toNodes(definition)
  const missing = new Set<string>()
  const requisites = new Set<string>()
  requisitesInRun(
    nodes.find(({ key }) => key === part.key),
    nodes,
    inRun,
    { requisites, missing },
  )
  const own = Object.entries(part.stage).filter(([key, value]) => !structure.includes(key) && !hasExpression(value))
  const variables: Variable[] = own.map(([key, value]) => ({ key, value }))
  const places = part.expressions.map(({ text, name, isCondition }, index) => {
    variables.push({ key: name ?? ` ${index}`, value: isCondition && !isExpression(text) ? `\${${text}}` : text })
    return variables.length - 1
  })
  return { requisites: [...requisites], variables, places, missing: [...missing] }
}

/** Instead of a stage that the run does not have, those that it requires. */
function requisitesInRun(
  node: StageNode | undefined,
  nodes: readonly StageNode[],
  inRun: ReadonlySet<string>,
  found: { readonly requisites: Set<string>; readonly missing: Set<string> },
): void {
  for (const id of node === undefined ? [] : requisitesOf(node.stage)) {
    if (inRun.has(id)) {
      found.requisites.add(id)
      continue
    }
    const before = nodes.find(({ stage }) => refIdOf(stage) === id)
    const title = before === undefined ? id : titleOfStage(before.stage)
    if (found.missing.has(title)) continue
    found.missing.add(title)
    requisitesInRun(before, nodes, inRun, found)
  }
}

function hasExpression(value: unknown): boolean {
  return JSON.stringify(value)?.includes('${') === true
}

export type Outcome =
  | { readonly kind: 'value'; readonly value: unknown }
  /** A part of it is not there, so the whole is null or has a gap. */
  | { readonly kind: 'null'; readonly value: unknown; readonly message: string }
  | { readonly kind: 'error'; readonly message: string }

interface Answer {
  readonly result?: readonly Json[] | undefined
  readonly detail?: unknown
}

export function toOutcome(expression: StageExpression, place: number, { result = [], detail }: Answer): Outcome {
  const value = objectOf(result[place])['value']
  const failures = Object.entries(objectOf(detail))
    .filter(([name]) => expression.text.includes(name))
    .flatMap(([, entries]) => objectsOf(entries))
  const error = failures.find(({ level }) => level !== 'INFO')
  if (error !== undefined) return { kind: 'error', message: plainMessage(error) }
  const info = failures[0]
  if (info !== undefined || value === undefined || value === null) {
    return { kind: 'null', value: value ?? null, message: info === undefined ? '' : plainMessage(info) }
  }
  return { kind: 'value', value }
}

/** Without the expression that stands beside it anyway. */
function plainMessage(entry: Json): string {
  const text = textOf(entry['description']) ?? ''
  const message = text.replace(/^Failed to evaluate (?:\[[^\]]*\] )?[\s\S]*?: (?=\S)/, '')
  return /^(?:the|an?) /.test(message) ? message.charAt(0).toUpperCase() + message.slice(1) : message
}

/** Whether the stage would run; undefined while that is not known. */
export function conditionHolds(outcome: Outcome): boolean {
  return outcome.kind === 'value' && (outcome.value === true || String(outcome.value).toLowerCase() === 'true')
}

/** A condition may give another expression, as a text that is neither true nor false. */
export function nextCondition(outcome: Outcome): string | undefined {
  if (outcome.kind !== 'value' || typeof outcome.value !== 'string') return undefined
  return /^\s*(?:true|false)?\s*$/i.test(outcome.value) ? undefined : `\${${outcome.value}}`
}

/** Differences between two executions, as values by their paths. */
import { type Execution, type Stage, titleOf, toStageTree } from './execution.ts'
import { listOf, objectOf } from './read.ts'

export interface ComparedValue {
  /** Such as `parameters.version`. */
  readonly path: string
  /** As text; undefined where the side has no such value. */
  readonly left: string | undefined
  readonly right: string | undefined
  readonly differs: boolean
}

interface Comparison {
  readonly facts: readonly ComparedValue[]
  readonly stages: readonly { readonly name: string; readonly differences: readonly ComparedValue[] }[]
}

/** Values of a stage that differ in every run and explain nothing. */
const always = new Set([
  'startTime',
  'endTime',
  'id',
  'stageDetails',
  'deploy.account.name',
  'previousAttempts',
  'restartDetails',
])
const maxDepth = 6
/** Values of one stage that are compared. */
const maxValues = 500

export function compareExecutions(left: Execution, right: Execution): Comparison {
  return {
    facts: compare(factsOf(left), factsOf(right)),
    stages: pairs(left.stages, right.stages).map(([one, other]) => ({
      name: titleOf((one ?? other) as Stage),
      differences: compare(stageFacts(one), stageFacts(other)),
    })),
  }
}

function factsOf({ trigger }: Execution): Record<string, unknown> {
  const { type, parameters, tag, branch, hash, artifacts, buildInfo } = trigger as Record<string, unknown>
  return { trigger: type, parameters, tag, branch, hash, artifacts, build: objectOf(buildInfo)['url'] }
}

function stageFacts(stage: Stage | undefined): Record<string, unknown> {
  if (stage === undefined) return {}
  const { status, type, context, outputs } = stage
  return { status, type, context: without(objectOf(context)), outputs: without(objectOf(outputs)) }
}

function without(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([key]) => !always.has(key)))
}

/** Stages of the definitions by reference, else by name; those of one side only stay alone. */
export function pairs(left: readonly Stage[], right: readonly Stage[]): (readonly [Stage | undefined, Stage | undefined])[] {
  const others = [...toStageTree(right).top]
  const found = toStageTree(left).top.map((stage) => {
    const fits = (other: Stage) => other.type === stage.type && titleOf(other) === titleOf(stage)
    const byRef = others.findIndex((other) => other.refId === stage.refId && fits(other))
    const at = byRef === -1 ? others.findIndex(fits) : byRef
    return [stage, at === -1 ? undefined : others.splice(at, 1)[0]] as const
  })
  return [...found, ...others.map((other) => [undefined, other] as const)]
}

/** Values by their paths, also those that only one side has. */
export function compare(left: unknown, right: unknown): ComparedValue[] {
  const [one, other] = [leaves(left), leaves(right)]
  return [...new Set([...one.keys(), ...other.keys()])].map((path) => ({
    path,
    left: one.get(path),
    right: other.get(path),
    differs: one.get(path) !== other.get(path),
  }))
}

/** Values as text by their paths. */
function leaves(value: unknown): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const visit = (item: unknown, path: string, depth: number): void => {
    if (item === undefined || found.size >= maxValues) return
    const entries = Array.isArray(item) ? listOf(item).entries() : Object.entries(objectOf(item))
    const list = [...entries]
    if (typeof item !== 'object' || item === null || list.length === 0 || depth === maxDepth) {
      found.set(path, typeof item === 'string' ? item : JSON.stringify(item))
      return
    }
    for (const [key, inner] of list) visit(inner, path === '' ? String(key) : `${path}.${key}`, depth + 1)
  }
  visit(value, '', 0)
  return found
}

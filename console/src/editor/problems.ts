/** What is wrong with a definition, by the descriptions of its fields; values of expressions are known later. */

import { type JsonObject, objectOf, objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import { findProblemsIn } from '@fairlead/model/stage-types/check-stage.ts'
import type { Field } from '@fairlead/model/stage-types/description.ts'
import { parameterFields, triggerTypes } from '@fairlead/model/stage-types/pipeline-parts.ts'
import { checkStage, missing, wrong } from './forms/checks.ts'
import type { Path } from './json-path.ts'
import {
  descriptionOf,
  type FieldDescription,
  findCircle,
  refIdOf,
  requisitesOf,
  type StageNode,
  type StageTypes,
  titleOfStage,
  toNodes,
} from './stages.ts'

export interface Problem {
  readonly path: Path
  readonly message: string
  /** The stage that it belongs to, as `StageNode.key`. */
  readonly stage?: string | undefined
  /** What is missing is said after the user was there. */
  readonly kind: 'missing' | 'wrong'
  /** Whether the definition can be saved and run all the same. */
  readonly isWarning?: boolean
}

export const nameMissing = 'Enter a name.'
export const doesNotRun = 'This instance cannot run stages of this type.'
const pathOfMachine =
  'A path of this machine is not polled. Enter an address such as https://git.example.com/shop/web.git, or turn the polls off.'

/** @param types Undefined while they are unknown: only the graph and the head are checked then. */
export function findProblems(
  definition: JsonObject,
  types: StageTypes | undefined,
): readonly Problem[] {
  const nodes = toNodes(definition)
  const circle = findCircle(nodes)
  const isNamed = String(definition['name'] ?? '').trim() !== ''
  const ofStages = nodes.flatMap((node) => {
    const found = [
      ...problemsInGraph(node, nodes, circle),
      ...(types === undefined ? [] : problemsOfStage(node, types, definition)),
    ]
    return found.map((problem) => ({
      ...problem,
      path: ['stages', node.index, ...problem.path],
      stage: node.key,
    }))
  })
  return [
    ...(isNamed ? [] : [missing(['name'], nameMissing)]),
    ...problemsOfList(definition, 'triggers'),
    ...problemsOfList(definition, 'parameterConfig'),
    ...ofStages,
  ]
}

/** Fields of the items of lists. */
const itemFields = {
  triggers: ({ type }: JsonObject) =>
    triggerTypes.find((known) => known.type === type)?.fields ?? [],
  parameterConfig: () => parameterFields,
}

function problemsOfList(definition: JsonObject, list: keyof typeof itemFields): readonly Problem[] {
  return objectsOf(definition[list]).flatMap((item, index) => {
    const { type, poll, enabled, repository } = item
    const isPathPolled = type === 'git' && poll === true && String(repository).startsWith('/')
    const found = problemsOf(item, itemFields[list](item), [list, index], enabled !== false)
    return isPathPolled ? [...found, wrong([list, index, 'repository'], pathOfMachine)] : found
  })
}

function problemsInGraph(
  { key, stage }: StageNode,
  nodes: readonly StageNode[],
  circle: readonly string[],
): readonly Problem[] {
  const refId = refIdOf(stage)
  const lost = requisitesOf(stage).filter((id) => !nodes.some((node) => node.key === id))
  const names = circle.map((id) => titleOfStage(nodes.find((node) => node.key === id)?.stage ?? {}))
  const after = ['requisiteStageRefIds']
  return [
    ...(scalarOf(stage['type']) === undefined ? [wrong(['type'], 'The stage has no type.')] : []),
    ...(refId === undefined || refId === key
      ? []
      : [wrong(['refId'], `Another stage has the reference ${refId}.`)]),
    ...lost.map((id) => wrong(after, `There is no stage with the reference ${id}.`)),
    ...(circle.includes(key)
      ? [wrong(after, `These stages wait for each other: ${names.join(', ')}.`)]
      : []),
  ]
}

function problemsOfStage(
  { stage, index }: StageNode,
  types: StageTypes,
  definition: JsonObject,
): readonly Problem[] {
  // A stage whose condition may skip it need not be complete.
  const isComplete =
    (scalarOf(objectOf(stage['stageEnabled'])['expression']) ?? 'true').trim() === 'true'
  const { fields = [], runsHere, reason = doesNotRun } = descriptionOf(types, stage) ?? {}
  const common = types.commonFields.filter(
    ({ name }) => name !== 'type' && name !== 'requisiteStageRefIds',
  )
  return [
    ...problemsOf(stage, common, [], false),
    ...problemsOf(stage, fields, [], isComplete),
    ...(isComplete ? checkStage(stage, definition, index) : []),
    ...(runsHere === false ? [{ ...wrong(['type'], reason), isWarning: true }] : []),
  ]
}

/** By the check of the engine. @param base Leads to the holder, from the stage or the definition, and is no part of the words. */
function problemsOf(
  holder: JsonObject,
  fields: readonly FieldDescription[],
  base: Path,
  isComplete: boolean,
): readonly Problem[] {
  return findProblemsIn(holder, fields as readonly Field[], isComplete).map(
    ({ field, message }) => {
      const path = [...base, ...parsePath(field)]
      return / is missing\. /.test(message)
        ? missing(path, `Enter ${field}.`)
        : wrong(path, message)
    },
  )
}

/** `clusters[0].capacity` as keys and positions. */
function parsePath(field: string): Path {
  const steps = field.split(/[.[\]]+/).filter((step) => step !== '')
  return steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step))
}

export function isExpression(value: unknown): boolean {
  return typeof value === 'string' && value.includes('${')
}

/** Ties the words of a refusal to the stages and fields that they name: one for each part of the message that names a stage. */
export function toRefusals(message: string, definition: JsonObject): readonly Problem[] {
  const nodes = toNodes(definition)
  const parts = message.split(/(?=\bStage (?:"|\d))/).filter((part) => part.startsWith('Stage '))
  return parts.flatMap((part): readonly Problem[] => {
    // By name, or by number from 1.
    const named = nodes.find(({ stage }) => part.startsWith(`Stage "${titleOfStage(stage)}"`))
    const node = named ?? nodes[Number(/^Stage (\d+)/.exec(part)?.[1]) - 1]
    if (node === undefined) return []
    const path = ['stages', node.index, ...parsePath(/: "([^"]+)"/.exec(part)?.[1] ?? 'type')]
    return [{ ...wrong(path, part.trim()), stage: node.key }]
  })
}

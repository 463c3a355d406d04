/** Stages of a definition: types, references and requisites, with a check of the graph. */

import { isRawNumber } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject, listOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { describeExcess, type PipelineLimits } from '../../limits.ts'
import { createStage } from '../machine/new-stage.ts'
import type { Stage } from '../model.ts'

/** Cloud providers whose jobs carry no suffix (docs/contracts/orchestration.md#submission). */
const unsuffixedProviders = ['aws', 'titus', standalone.provider]

/** @throws {PortError} 400 when it is not an array of objects that each have a type, or there are too many. */
export function checkStageList(value: unknown, what: string, limits: PipelineLimits): JsonObject[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new PortError(400, `"${what}" must be an array.`)
  const stages = value.map((each, index) => {
    if (!isObject(each) || typeof each['type'] !== 'string' || each['type'] === '') {
      throw new PortError(400, `Element ${index} of "${what}" needs a "type".`)
    }
    return each
  })
  const excess = describeExcess(stages, limits)
  if (excess !== undefined) throw new PortError(400, excess)
  return stages
}

/**
 * Gives references when no stage has one: a chain in the order of the list. Numbers become text.
 *
 * @throws {PortError} 400 for references that are neither text nor numbers: a stage would run too early
 */
export function referencedStages(stages: readonly JsonObject[]): JsonObject[] {
  const hasReferences = stages.some(
    (stage) => stage['refId'] !== undefined && stage['refId'] !== null,
  )
  return stages.map((stage, index) => {
    checkReferences(stage, index)
    if (!hasReferences)
      return {
        ...stage,
        refId: String(index),
        requisiteStageRefIds: index === 0 ? [] : [String(index - 1)],
      }
    const requisites = Array.isArray(stage['requisiteStageRefIds'])
      ? stage['requisiteStageRefIds']
      : []
    return {
      ...stage,
      refId: String(stage['refId'] ?? ''),
      requisiteStageRefIds: requisites.map(String),
    }
  })
}

function checkReferences(
  { refId, requisiteStageRefIds: requisites }: JsonObject,
  index: number,
): void {
  if (!isReference(refId ?? ''))
    throw new PortError(400, `The "refId" of stage ${index + 1} must be text or a number.`)
  const list = requisites ?? []
  if (Array.isArray(list) && list.every(isReference)) return
  throw new PortError(
    400,
    `"requisiteStageRefIds" of stage ${index + 1} must be a list of refIds, such as ["1"].`,
  )
}

function isReference(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || isRawNumber(value)
}

/** @throws {PortError} 400 for a missing or repeated reference, a requisite that does not exist, and a cycle. */
export function checkGraph(stages: readonly JsonObject[]): void {
  const requisites = new Map<string, string[]>()
  for (const stage of stages) {
    const refId = stage['refId'] as string
    if (refId === '') throw new PortError(400, 'Either every stage has a "refId" or none has.')
    if (requisites.has(refId)) throw new PortError(400, `Two stages have the refId "${refId}".`)
    requisites.set(refId, stage['requisiteStageRefIds'] as string[])
  }
  for (const [refId, required] of requisites) {
    const missing = required.find((each) => !requisites.has(each))
    if (missing !== undefined) {
      throw new PortError(
        400,
        `Stage "${refId}" requires "${missing}", but no stage has that refId.`,
      )
    }
  }
  const cycle = describeStageCycle(stages)
  if (cycle !== undefined) throw new PortError(400, cycle)
}

/** The record of a stage; what has no place of its own becomes its context. */
export function stageFrom(
  { type, name, refId, requisiteStageRefIds, startTimeExpiry, ...context }: JsonObject,
  nextId: () => string,
): Stage {
  const expiry = Number(startTimeExpiry ?? Number.NaN)
  return createStage({
    id: nextId(),
    refId: refId as string,
    type: withProvider(type as string, context['providerType']),
    name: typeof name === 'string' && name !== '' ? name : undefined,
    requisiteStageRefIds: [...new Set(requisiteStageRefIds as string[])],
    context,
    startTimeExpiry: Number.isFinite(expiry) ? expiry : undefined,
  })
}

/** The type of a stage of a pipeline for one cloud provider carries the provider's name. */
export function withProvider(type: string, provider: unknown): string {
  return typeof provider !== 'string' || unsuffixedProviders.includes(provider)
    ? type
    : `${type}_${provider}`
}

/** Stages of a circle that a message names. */
const mostNamed = 10

/**
 * A sentence that names stages which wait for each other, so that the pipeline never finishes, or undefined.
 * References to stages that do not exist are no fault.
 */
function describeStageCycle(stages: readonly JsonObject[]): string | undefined {
  const waiting = requisitesByRef(stages)
  const cycle = findCycle(waiting)
  if (cycle === undefined) return undefined
  const named = new Map(stages.map((stage) => [refOf(stage['refId']), stage['name']]))
  const names = cycle.slice(0, mostNamed).map((ref) => describeStage(ref, named.get(ref)))
  if (cycle.length === 1) return `The stage ${names[0]} waits for itself.`
  const rest = cycle.length > mostNamed ? ` and ${cycle.length - mostNamed} more` : ''
  return `The stages ${names.join(', ')}${rest} wait for each other in a circle.`
}

function requisitesByRef(stages: readonly JsonObject[]): Map<string, string[]> {
  const waiting = new Map<string, string[]>()
  for (const stage of stages) {
    const ref = refOf(stage['refId'])
    if (ref === undefined) continue
    const known = waiting.getOrInsertComputed(ref, () => [])
    for (const requisite of listOf(stage['requisiteStageRefIds']).map(refOf))
      if (requisite !== undefined) known.push(requisite)
  }
  return waiting
}

/** Follows requisites until one is on the way already; each is followed once. @param waiting Is emptied. */
function findCycle(waiting: Map<string, string[]>): string[] | undefined {
  for (const start of waiting.keys()) {
    const way = [start]
    const onWay = new Set(way)
    for (let ref = way.at(-1); ref !== undefined; ref = way.at(-1)) {
      const next = waiting.get(ref)?.pop()
      if (next === undefined) {
        waiting.delete(ref)
        onWay.delete(ref)
        way.pop()
      } else if (onWay.has(next)) {
        return way.slice(way.indexOf(next)).reverse()
      } else if (waiting.has(next)) {
        onWay.add(next)
        way.push(next)
      }
    }
  }
  return undefined
}

function refOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

function describeStage(ref: string, name: unknown): string {
  return typeof name === 'string' && name !== '' ? `"${name}" (refId ${ref})` : `with refId ${ref}`
}

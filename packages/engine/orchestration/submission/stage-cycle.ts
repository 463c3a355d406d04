/** Detection of stages that wait for each other; such a pipeline never finishes. */
import { type JsonObject, listOf } from '@fairlead/base/json/values.ts'

/** Stages of a circle that a message names. */
const mostNamed = 10

/** A sentence that names the stages of one cycle, or undefined. References to stages that do not exist are no fault. */
export function describeStageCycle(stages: readonly JsonObject[]): string | undefined {
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

/** Detection of stages that wait for each other; such a pipeline never finishes. */
import type { JsonObject } from '../../../json/values.ts'

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

function requisitesByRef(stages: readonly JsonObject[]): Map<string, Set<string>> {
  const waiting = new Map<string, Set<string>>()
  for (const stage of stages) {
    const ref = refOf(stage['refId'])
    if (ref === undefined) continue
    const requisites = Array.isArray(stage['requisiteStageRefIds']) ? stage['requisiteStageRefIds'] : []
    const known = waiting.get(ref) ?? new Set<string>()
    for (const requisite of requisites) {
      const requisiteRef = refOf(requisite)
      if (requisiteRef !== undefined) known.add(requisiteRef)
    }
    waiting.set(ref, known)
  }
  return waiting
}

/** Takes away stages that wait for nothing that is left, until none can go; what remains waits in or behind a circle. */
function findCycle(waiting: Map<string, Set<string>>): string[] | undefined {
  const followers = new Map<string, string[]>()
  const open = new Map<string, number>()
  for (const [ref, requisites] of waiting) {
    const existing = [...requisites].filter((requisite) => waiting.has(requisite))
    open.set(ref, existing.length)
    for (const requisite of existing) {
      const known = followers.get(requisite)
      if (known === undefined) followers.set(requisite, [ref])
      else known.push(ref)
    }
  }
  const free = [...open].filter(([, count]) => count === 0).map(([ref]) => ref)
  for (let ref = free.pop(); ref !== undefined; ref = free.pop()) {
    open.delete(ref)
    for (const follower of followers.get(ref) ?? []) {
      const count = (open.get(follower) as number) - 1
      open.set(follower, count)
      if (count === 0) free.push(follower)
    }
  }
  const start = open.keys().next()
  return start.done ? undefined : walkBack(waiting, open, start.value)
}

/** Every stage that is left waits for another that is left: going back from one must come round. */
function walkBack(waiting: Map<string, Set<string>>, left: ReadonlyMap<string, number>, start: string): string[] {
  const path: string[] = []
  const seen = new Set<string>()
  let ref = start
  while (!seen.has(ref)) {
    seen.add(ref)
    path.push(ref)
    for (const requisite of waiting.get(ref) as Set<string>) {
      if (left.has(requisite)) {
        ref = requisite
        break
      }
    }
  }
  return path.slice(path.indexOf(ref)).reverse()
}

function refOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

function describeStage(ref: string, name: unknown): string {
  return typeof name === 'string' && name !== '' ? `"${name}" (refId ${ref})` : `with refId ${ref}`
}

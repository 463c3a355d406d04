/** Selectors of services, and the labels that they select. */

import type { Labels } from '../objects.ts'
import type { KeptService, KeptWorkload } from './kept-object.ts'
import { byName } from './owned-objects.ts'

/** An empty selector selects nothing. */
export function selects(selector: Labels, labels: Labels): boolean {
  const entries = Object.entries(selector)
  return (
    entries.length > 0 &&
    entries.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
  )
}

/** Services of a namespace by the workloads that they select, and the reverse. */
export interface Relations {
  readonly workloadsOf: ReadonlyMap<KeptService, readonly KeptWorkload[]>
  readonly servicesOf: ReadonlyMap<KeptWorkload, readonly KeptService[]>
}

/** Workloads come sorted by name. Candidates are looked up by a label of the selector, as there may be thousands of workloads. */
export function relate(
  services: Iterable<KeptService>,
  workloads: Iterable<KeptWorkload>,
): Relations {
  const byLabel = new Map<string, KeptWorkload[]>()
  for (const workload of [...workloads].sort(byName)) {
    for (const [key, value] of Object.entries(workload.podLabels)) {
      byLabel.getOrInsertComputed(toText(key, value), () => []).push(workload)
    }
  }
  const workloadsOf = new Map<KeptService, KeptWorkload[]>()
  const servicesOf = new Map<KeptWorkload, KeptService[]>()
  for (const service of services) {
    const lists = Object.entries(service.selector).map(
      ([key, value]) => byLabel.get(toText(key, value)) ?? [],
    )
    const [shortest = []] = lists.toSorted((one, other) => one.length - other.length)
    const selected = shortest.filter(({ podLabels }) => selects(service.selector, podLabels))
    workloadsOf.set(service, selected)
    for (const workload of selected)
      servicesOf.getOrInsertComputed(workload, () => []).push(service)
  }
  return { workloadsOf, servicesOf }
}

function toText(key: string, value: string): string {
  return `${key}=${value}`
}

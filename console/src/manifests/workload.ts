/** Managers, the server groups that they own, and the revisions that those are. */
import type { components } from '../api/schema.d.ts'
import { numberOf, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import { accountOf, countsOf, type ServerGroup } from '../model/server-groups.ts'
import { bareName } from './names.ts'
import type { ObjectPlace } from './object.ts'

export type Manager = components['schemas']['ServerGroupManager']

export function managerPlace(manager: Manager): ObjectPlace {
  return { account: manager.account ?? '', location: manager.region ?? manager.namespace ?? '', name: manager.name }
}

export function isManagedBy(group: ServerGroup, { account, location, name }: ObjectPlace): boolean {
  if (accountOf(group) !== account || group.region !== location) return false
  // Their names have no kind.
  return objectsOf(group.serverGroupManagers).some((owner) => [name, bareName(name)].includes(textOf(owner['name']) ?? ''))
}

export interface Revision {
  readonly number: number
  readonly group: ServerGroup
  readonly images: readonly string[]
  readonly isCurrent: boolean
}

/** Newest first: the cluster gives a revision that is restored a new number. */
export function revisionsOf(groups: readonly ServerGroup[], manager: ObjectPlace): readonly Revision[] {
  const found = groups.filter((group) => isManagedBy(group, manager)).map((group) => ({ group, number: revisionOf(group) ?? 0 }))
  const sorted = found.toSorted((a, b) => b.number - a.number || (b.group.createdTime ?? 0) - (a.group.createdTime ?? 0))
  return sorted.map(({ group, number }, at) => ({
    number,
    group,
    images: textsOf(objectOf(group.buildInfo)['images']),
    isCurrent: at === 0,
  }))
}

export function revisionOf({ moniker }: ServerGroup): number | undefined {
  return numberOf(moniker?.sequence)
}

/** Whether it runs pods, or shall. */
export function isInUse(group: ServerGroup): boolean {
  return (group.capacity?.desired ?? 0) > 0 || countsOf(group).total > 0
}

/** Whether all pods that are wanted are up, and no others are there. */
export function isAllUp(group: ServerGroup): boolean {
  const { total, up } = countsOf(group)
  return up === total && total === (group.capacity?.desired ?? total)
}

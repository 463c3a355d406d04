/** Managers, the server groups that they own, and the revisions that those are. */
import { numberOf, objectsOf, textOf, textsOf, valueIn } from '../model/read.ts'
import { accountOf, countsOf, type ServerGroup } from '../model/server-groups.ts'
import { bareName } from './names.ts'
import { isSameObject, type ObjectPlace } from './object.ts'

export function placeOfGroup(group: ServerGroup): ObjectPlace {
  return { account: accountOf(group), location: group.region, name: group.name }
}

export function isManagedBy(group: ServerGroup, { account, location, name }: ObjectPlace): boolean {
  // Names of managers have no kind there.
  const names = objectsOf(group.serverGroupManagers).map((owner) => textOf(owner['name']))
  return accountOf(group) === account && group.region === location && [name, bareName(name)].some((one) => names.includes(one))
}

/** Whether it is the object, or is managed by it. */
export function isPartOf(group: ServerGroup, place: ObjectPlace): boolean {
  return isSameObject(placeOfGroup(group), place) || isManagedBy(group, place)
}

export type Revision = ReturnType<typeof revisionsOf>[number]

/** Newest first: the cluster gives a revision that is restored a new number. */
export function revisionsOf(groups: readonly ServerGroup[], manager: ObjectPlace) {
  const owned = groups.filter((group) => isManagedBy(group, manager))
  const sorted = owned.toSorted(
    (a, b) => (revisionOf(b) ?? 0) - (revisionOf(a) ?? 0) || (b.createdTime ?? 0) - (a.createdTime ?? 0),
  )
  return sorted.map((group, at) => ({
    number: revisionOf(group) ?? 0,
    group,
    images: textsOf(valueIn(group, 'buildInfo.images')),
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

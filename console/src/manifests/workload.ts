/** Managers, the server groups that they own, and the revisions that those are. */
import { fieldAt, numberOf, objectsOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import { accountOf, countsOf, type ServerGroup } from '../model/server-groups.ts'
import { bareName, isSameObject, type ObjectPlace } from './object.ts'

export function placeOfGroup(group: ServerGroup): ObjectPlace {
  return { account: accountOf(group), location: group.region, name: group.name }
}

export function isManagedBy(group: ServerGroup, { account, location, name }: ObjectPlace): boolean {
  // Names of managers have no kind there.
  const names = objectsOf(group.serverGroupManagers).map((owner) => scalarOf(owner['name']))
  return (
    accountOf(group) === account &&
    group.region === location &&
    [name, bareName(name)].some((one) => names.includes(one))
  )
}

/** Whether it is the object, or is managed by it. */
export function isPartOf(group: ServerGroup, place: ObjectPlace): boolean {
  return isSameObject(placeOfGroup(group), place) || isManagedBy(group, place)
}

export type Revision = ReturnType<typeof revisionsOf>[number]

/** Newest first: the cluster gives a revision that is restored a new number. */
export function revisionsOf(groups: readonly ServerGroup[], manager: ObjectPlace) {
  const owned = groups.flatMap((group) => {
    const images = textsOf(fieldAt(group, 'buildInfo', 'images'))
    return isManagedBy(group, manager) ? [{ number: revisionOf(group) ?? 0, group, images }] : []
  })
  return owned
    .toSorted(
      (a, b) => b.number - a.number || (b.group.createdTime ?? 0) - (a.group.createdTime ?? 0),
    )
    .map((revision, at) => ({ ...revision, isCurrent: at === 0 }))
}

export function revisionOf({ moniker }: ServerGroup): number | undefined {
  return numberOf(moniker?.sequence)
}

/** Whether it does not run yet what it shall. */
export function isMoving(group: ServerGroup): boolean {
  const { total, up } = countsOf(group)
  return up !== total || total !== (group.capacity?.desired ?? total)
}

/** Whether it runs pods, or shall. */
export function isInUse(group: ServerGroup): boolean {
  return (group.capacity?.desired ?? 0) > 0 || countsOf(group).total > 0
}

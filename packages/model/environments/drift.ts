/** What differs in an environment from what was deployed there last. */
import { or, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { Environment } from './declaration.ts'
import { type Group, hasServed, type Running, type RunningCluster, toVersions } from './running.ts'

const toDrift = shape({
  account: or(textOf, ''),
  namespace: or(textOf, ''),
  name: textOf,
  fields: textsOf,
  deleted: isTrue,
  manager: or(textOf, 'Something else'),
})

/** @param drift Objects that something else has changed, as the infrastructure service reports them */
export function driftIn(
  { accounts, regions }: Environment,
  { clusters }: Running,
  drift: readonly JsonObject[],
): JsonObject[] {
  const own = drift.flatMap((each) => {
    const { account, namespace, name, fields, deleted, manager } = toDrift(each)
    if (!accounts.includes(account) || !(regions?.includes(namespace) ?? true)) return []
    const what = fields.length > 1 ? `${fields.length} fields` : (fields[0] ?? 'it')
    const text = deleted
      ? `${manager} has deleted ${name}.`
      : `${manager} has changed ${what} of ${name}.`
    return [{ ...each, text }]
  })
  return [...own, ...clusters.flatMap(driftOf)]
}

/** Server groups that serve another version than the one that was deployed last. */
function driftOf({ account, region, cluster, serverGroups, all }: RunningCluster): JsonObject[] {
  const latest = all.find((group) => hasServed(group, serverGroups))
  if (latest === undefined) return []
  const wanted = versionOf(latest)
  return serverGroups.flatMap((group) => {
    const { name } = group
    const version = versionOf(group)
    if (group === latest || version === wanted) return []
    const text = `${name} serves ${version}; ${latest.name} with ${wanted} was deployed last.`
    return [{ account, region, cluster, name, text }]
  })
}

function versionOf(group: Group): string {
  return toVersions(group)
    .map(({ image }) => image)
    .join(', ')
}

/** What differs in an environment from what was deployed there last. */
import { type JsonObject, textOf, textsOf } from '../json/values.ts'
import type { Environment } from './declaration.ts'
import { hasServed, type Running, type RunningCluster, versionsOf } from './running.ts'

/** @param drift Objects that something else has changed, as the infrastructure service reports them */
export function driftIn({ accounts, regions }: Environment, { clusters }: Running, drift: readonly JsonObject[]): JsonObject[] {
  const isHere = ({ account, namespace }: JsonObject) =>
    accounts.includes(String(account)) && (regions?.includes(String(namespace)) ?? true)
  return [...drift.filter(isHere).map(withText), ...clusters.flatMap(driftOf)]
}

function withText(drift: JsonObject): JsonObject {
  const fields = textsOf(drift['fields'])
  const what = fields.length === 0 ? 'it' : fields.length === 1 ? String(fields[0]) : `${fields.length} fields`
  return { ...drift, text: `${textOf(drift['manager']) ?? 'Something else'} has changed ${what} of ${String(drift['name'])}.` }
}

/** Server groups that serve another version than the one that was deployed last. */
function driftOf({ account, region, cluster, serverGroups, all }: RunningCluster): JsonObject[] {
  const latest = all.find((group) => hasServed(group, serverGroups))
  if (latest === undefined) return []
  const wanted = versionOf(latest)
  return serverGroups.flatMap((group) => {
    const version = versionOf(group)
    if (group === latest || version === wanted) return []
    const text = `${String(group['name'])} serves ${version}; ${String(latest['name'])} with ${wanted} was deployed last.`
    return [{ account, region, cluster, name: group['name'], text }]
  })
}

function versionOf(group: JsonObject): string {
  return versionsOf(group)
    .map(({ image }) => image)
    .join(', ')
}

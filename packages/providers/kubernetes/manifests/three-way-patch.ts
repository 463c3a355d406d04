/** Patches by which a live object gets what a manifest says, and loses what an earlier one said. */
import { isDeepStrictEqual } from 'node:util'
import { isObject, type JsonObject, objectOf, objectsOf } from '@fairlead/base/json/values.ts'

/** Fields whose list entries are known by a key, as the API server merges them. Other lists are replaced. */
const entryKeys: ReadonlyMap<string, string> = new Map([
  ...'containers initContainers ephemeralContainers volumes env imagePullSecrets secrets webhooks'
    .split(' ')
    .map((field) => [field, 'name'] as const),
  ['volumeMounts', 'mountPath'],
  ['volumeDevices', 'devicePath'],
  ['hostAliases', 'ip'],
  ['topologySpreadConstraints', 'topologyKey'],
  ['ownerReferences', 'uid'],
])

/** Fields with several alternatives: the patch removes those that the manifest does not choose. */
const alternatives: ReadonlySet<string> = new Set(['strategy', 'volumes'])

interface ThreeWay {
  /** The manifest that was applied last; empty where none was. */
  readonly applied: JsonObject
  readonly live: JsonObject
  readonly manifest: JsonObject
}

/** @param lists `by-key`: a strategic merge patch, of kinds that the API server itself has; `whole`: a JSON merge patch */
export function threeWayPatch(
  { applied, live, manifest }: ThreeWay,
  lists: 'by-key' | 'whole',
): JsonObject {
  const isService = manifest['kind'] === 'Service'
  const keyed: KeyOf | undefined =
    lists === 'whole' ? undefined : (field, entries) => keyOf(field, entries, isService)
  return patchOf({ before: applied, live, after: manifest }, keyed)
}

/** Undefined for a list that is replaced. */
type KeyOf = (field: string, entries: readonly JsonObject[]) => string | undefined

interface States<T> {
  readonly before: T
  readonly live: T
  readonly after: T
}

function keyOf(
  field: string,
  entries: readonly JsonObject[],
  isService: boolean,
): string | undefined {
  if (field !== 'ports') return entryKeys.get(field)
  if (entries.some((entry) => entry['containerPort'] !== undefined)) return 'containerPort'
  return isService ? 'port' : undefined
}

function patchOf(
  { before, live, after }: States<JsonObject>,
  keyed: KeyOf | undefined,
): JsonObject {
  const gone = Object.keys(before).filter(
    (field) => after[field] === undefined && live[field] !== undefined,
  )
  const patch: JsonObject = Object.fromEntries(gone.map((field) => [field, null]))
  for (const [field, value] of Object.entries(after)) {
    const states = { before: before[field], live: live[field], after: value }
    if (!isDeepStrictEqual(states.live, value))
      Object.assign(patch, fieldPatch(field, states, keyed))
  }
  return patch
}

function fieldPatch(
  field: string,
  { before, live, after }: States<unknown>,
  keyed: KeyOf | undefined,
): JsonObject {
  if (isObject(after) && isObject(live)) {
    const patch = patchOf({ before: objectOf(before), live, after }, keyed)
    return {
      [field]:
        keyed !== undefined && alternatives.has(field)
          ? { ...patch, $retainKeys: Object.keys(after) }
          : patch,
    }
  }
  if (!Array.isArray(after) || !Array.isArray(live)) return { [field]: after }
  const lists = { before: objectsOf(before), live: objectsOf(live), after: objectsOf(after) }
  const key =
    lists.after.length < after.length ? undefined : keyed?.(field, Object.values(lists).flat())
  return key === undefined ? { [field]: after } : listPatch(field, key, lists, keyed)
}

function listPatch(
  field: string,
  key: string,
  { before, live, after }: States<JsonObject[]>,
  keyed: KeyOf | undefined,
): JsonObject {
  const keys = after.map((entry) => entry[key])
  // Entries with one key cannot be told apart.
  if (new Set(keys).size < keys.length || keys.includes(undefined))
    return { [field]: [{ $patch: 'replace' }, ...after] }
  const ofKey = (entries: readonly JsonObject[], value: unknown) =>
    entries.find((entry) => entry[key] === value)
  const patched = after.map((entry) => {
    const former = ofKey(live, entry[key])
    if (former === undefined) return entry
    const patch = {
      ...patchOf({ before: ofKey(before, entry[key]) ?? {}, live: former, after: entry }, keyed),
      [key]: entry[key],
    }
    return alternatives.has(field) ? { ...patch, $retainKeys: Object.keys(entry) } : patch
  })
  const gone = before.filter(
    (entry) => !keys.includes(entry[key]) && ofKey(live, entry[key]) !== undefined,
  )
  return {
    [field]: [...patched, ...gone.map((entry) => ({ $patch: 'delete', [key]: entry[key] }))],
    [`$setElementOrder/${field}`]: after.map((entry) => ({ [key]: entry[key] })),
  }
}

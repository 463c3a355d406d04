/** Writes prepared manifests to the API server (docs/contracts/kubernetes.md#deployments). */
import { isDeepStrictEqual } from 'node:util'
import { list, or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { type ApiError, isApiError } from '../api/api-error.ts'
import type { ObjectPlace, WriteOptions } from '../api/cluster-api.ts'
import { partDigestsOf } from '../drift/parts.ts'
import { isBuiltInGroup } from '../kinds.ts'
import {
  annotationOf,
  fieldManager,
  partsAnnotation,
  writtenByAnnotation,
} from '../manifests/annotations.ts'
import { describeDuplicates } from '../manifests/duplicates.ts'
import { withField } from '../manifests/edit.ts'
import { threeWayPatch } from '../manifests/three-way-patch.ts'
import { lastAppliedOf } from '../manifests/versions.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount } from '../parts.ts'
import { whenServed } from './custom-resources.ts'
import type { ManifestRun } from './parts.ts'
import { type PreparedManifest, toWire } from './prepared.ts'
import { explainRefusal } from './refusals.ts'
import { removeManifest } from './remove.ts'
import { isPassingOrConflict, pollUntil, retrying } from './retry.ts'
import { planTakeover } from './take-over.ts'

/** An apply with it creates, and never changes: the version of every object is higher. */
const versionOfNone = '1'
/** How long what is recreated may take to go. */
const recreateMs = 10 * 60_000

/** @param live As it was when the rights were checked; it is what may be changed. */
export async function applyManifest(
  running: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject | undefined,
): Promise<KubeObject> {
  try {
    const applied = await whenReady(running, prepared, () => write(running, prepared, live))
    const written = await withPartDigests(running, applied, prepared)
    running.account.lists.observe(written)
    if (prepared.objectName !== undefined) running.account.deployed.record(written)
    return written
  } catch (error) {
    throw await explainRefusal(running, prepared, live, error)
  }
}

/** An object that is too large for its manifest to be kept has digests of what the API server made of it. */
async function withPartDigests(
  { account: { api } }: ManifestRun,
  written: KubeObject,
  { resource, namespace }: PreparedManifest,
): Promise<KubeObject> {
  const digests = partDigestsOf(written)
  if (digests === undefined || annotationOf(written, partsAnnotation) === digests) return written
  const { name, uid } = written.metadata
  const body = { metadata: { uid, annotations: { [partsAnnotation]: digests } } }
  return api.patch({ resource, namespace, name }, body, { type: 'merge', fieldManager })
}

/** How long the program that serves a custom resource may take to start. */
const startMs = 60_000
const starting =
  /no matches for|failed calling webhook|connection refused|no endpoints available|conversion webhook/

/** Custom resources wait for the webhooks that check them, which may be part of the same deployment. */
async function whenReady<T>(
  running: ManifestRun,
  { resource, name }: PreparedManifest,
  call: () => Promise<T>,
): Promise<T> {
  if (isBuiltInGroup(resource.group)) return call()
  let isNoted = false
  let last: unknown
  const answer = await pollUntil(running, { limitMs: startMs }, async () => {
    try {
      return { value: await call() }
    } catch (error) {
      if (!isApiError(error) || error.status === 0 || !starting.test(error.message)) throw error
      last = error
      if (!isNoted) running.run.note(`Waiting for the webhook of ${name}: ${error.message}`)
      isNoted = true
      return undefined
    }
  })
  if (answer === undefined) throw last
  return answer.value
}

async function write(
  running: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject | undefined,
): Promise<KubeObject> {
  const { strategy, objectName } = prepared
  if (objectName === undefined) return createOnce(running, prepared)
  if (strategy.recreates) {
    const isOurs = live !== undefined && annotationOf(live, writtenByAnnotation) === prepared.writer
    if (live !== undefined && !isOurs) await makeRoom(running, prepared, live)
    return applyTo(running, prepared, isOurs ? live : undefined)
  }
  return strategy.replaces
    ? replaceOrCreate(running, prepared, live)
    : applyTo(running, prepared, live)
}

/** An object whose name the API server makes up is found again by its writer. */
function createOnce(running: ManifestRun, prepared: PreparedManifest): Promise<KubeObject> {
  const { api } = running.account
  const { resource, namespace, writer } = prepared
  return retrying(running, async () => {
    const existing = await api.list(resource, { namespace, metadataOnly: true })
    const own = existing.find((object) => annotationOf(object, writtenByAnnotation) === writer)
    const found = own && (await api.get({ resource, namespace, name: own.metadata.name }))
    if (found !== undefined) return found
    return whenServed(running, prepared.isPlanned, () =>
      api.create(resource, namespace, toWire(prepared), { fieldManager, isStrict: true }),
    )
  })
}

async function makeRoom(
  running: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject,
): Promise<void> {
  const { name } = prepared
  try {
    await removeManifest(
      running,
      { name, place: preparedPlace(prepared), live },
      {
        propagation: prepared.strategy.orphans ? 'Orphan' : 'Background',
        limitMs: recreateMs,
      },
    )
  } catch (error) {
    if (!isApiError(error)) throw error
    // The apply says what is wrong, if it is still there.
    running.run.note(`${name} could not be deleted: ${error.message}`)
  }
}

export function preparedPlace({
  resource,
  namespace,
  objectName = '',
}: PreparedManifest): ObjectPlace {
  return { resource, namespace, name: objectName }
}

/** Present object; undefined where it is missing, or the API server makes its name. */
export async function loadLive(
  { api }: KubernetesAccount,
  prepared: PreparedManifest,
): Promise<KubeObject | undefined> {
  return prepared.objectName === undefined ? undefined : api.get(preparedPlace(prepared))
}

async function replaceOrCreate(
  running: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject | undefined,
): Promise<KubeObject> {
  const { api } = running.account
  const place = preparedPlace(prepared)
  const options = { fieldManager, isStrict: true }
  let current = live
  return retrying(
    running,
    async () => {
      const object = toWire(prepared)
      try {
        if (current === undefined) {
          const create = () => api.create(place.resource, place.namespace, object, options)
          return await whenServed(running, prepared.isPlanned, create)
        }
        const { resourceVersion, uid } = current.metadata
        const versioned = withField(
          withField(object, ['metadata', 'resourceVersion'], resourceVersion),
          ['metadata', 'uid'],
          uid,
        )
        return await api.replace(place, versioned, options)
      } catch (error) {
        if (isApiError(error, 404, 409)) current = sameObject(prepared, live, await api.get(place))
        throw error
      }
    },
    (error) => isPassingOrConflict(error) || (isApiError(error, 404) && live !== undefined),
  )
}

/** The deployment may begin again: it finds another version, and what it has written already. */
export class CreatedMeanwhileError extends Error {
  constructor({ name }: Pick<PreparedManifest, 'name'>) {
    super(`${name} was created by another client meanwhile; deploy again to change it.`)
  }
}

/** A version that is new is no other's. @throws {CreatedMeanwhileError} */
export function checkNewVersion(prepared: PreparedManifest, live: KubeObject | undefined): void {
  const isOthers = live !== undefined && annotationOf(live, writtenByAnnotation) !== prepared.writer
  if (prepared.isNewVersion && isOthers) throw new CreatedMeanwhileError(prepared)
}

/** Another object of the same name is not the one whose owner was asked for, unless an earlier attempt has written it. */
function sameObject(
  prepared: PreparedManifest,
  checked: KubeObject | undefined,
  found: KubeObject | undefined,
): KubeObject | undefined {
  if (found === undefined || found.metadata.uid === checked?.metadata.uid) return found
  const applied = lastAppliedOf(found)
  if (
    checked === undefined &&
    applied !== undefined &&
    isDeepStrictEqual(applied, prepared.manifest)
  )
    return found
  throw new CreatedMeanwhileError(prepared)
}

async function applyTo(
  running: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject | undefined,
): Promise<KubeObject> {
  let current = live
  return retrying(
    running,
    async () => {
      try {
        return await applyOnce(running, prepared, current)
      } catch (error) {
        if (isApiError(error, 409) && conflictsOf(error).length === 0) {
          current = sameObject(
            prepared,
            live,
            await running.account.api.get(preparedPlace(prepared)),
          )
        }
        throw error
      }
    },
    (error) => isPassingOrConflict(error) && !(isApiError(error) && conflictsOf(error).length > 0),
  ).catch((error: unknown) => {
    throw isApiError(error, 409) ? toConflictError(error) : error
  })
}

async function applyOnce(
  running: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject | undefined,
): Promise<KubeObject> {
  const { api } = running.account
  const place = preparedPlace(prepared)
  const { strategy, isPlanned } = prepared
  if (strategy.clientSide || hasDuplicates(prepared, live))
    return applyFromClient(running, prepared, live)
  const force = strategy.serverSide !== 'conflicts-fail'
  if (live !== undefined) await takeOver(running, prepared, live)
  // With its id, an object that was replaced meanwhile is not touched; with a version that none has, neither is one that is new.
  const [key, value] =
    live === undefined ? ['resourceVersion', versionOfNone] : ['uid', live.metadata.uid]
  const wire = withField(toWire(prepared), ['metadata', String(key)], value)
  const apply = (isForced: boolean) =>
    api.patch(place, wire, { type: 'apply', fieldManager, force: isForced, isStrict: true })
  try {
    return await whenServed(running, isPlanned, () => apply(force))
  } catch (error) {
    if (isApiError(error, 405, 415)) return replaceOrCreate(running, prepared, live)
    const conflicts = isApiError(error, 409) ? conflictsOf(error) : []
    // What Fairlead itself has changed since, such as the number of replicas, is no conflict.
    if (
      conflicts.length === 0 ||
      !conflicts.every(({ manager }) => manager.startsWith(fieldManager))
    )
      throw error
    return apply(true)
  }
}

/** Also looks where the last apply had some: the API server cannot tell which of them went. */
export function hasDuplicates(
  prepared: Pick<PreparedManifest, 'hasDuplicates'>,
  live: KubeObject | undefined,
): boolean {
  const applied = live && lastAppliedOf(live)
  return prepared.hasDuplicates || (applied !== undefined && describeDuplicates(applied).length > 0)
}

async function takeOver(
  running: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject,
): Promise<void> {
  const { managedFields } = await planTakeover(running, prepared, live)
  if (managedFields === undefined) return
  const { resourceVersion } = live.metadata
  const patch = [
    { op: 'replace', path: '/metadata/managedFields', value: managedFields },
    // Fails where another client has written meanwhile.
    { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
  ]
  await running.account.api.patch(preparedPlace(prepared), patch, { type: 'json', fieldManager })
}

const text = or(textOf, '')
const toDetails = shape({ causes: list(shape({ reason: text, field: text, message: text })) })

interface FieldConflict {
  readonly field: string
  readonly manager: string
}

/** Conflicts of an apply that may not take fields over. */
function conflictsOf({ details }: ApiError): FieldConflict[] {
  return toDetails(details)
    .causes.filter(({ reason }) => reason === 'FieldManagerConflict')
    .map(({ field, message }) => {
      const [, manager = 'another manager'] = /conflict with "([^"]*)"/.exec(message) ?? []
      return { field, manager }
    })
}

function toConflictError(error: ApiError): unknown {
  const conflicts = conflictsOf(error)
  if (conflicts.length === 0) return error
  const fields = conflicts.map(({ field, manager }) => `${field} is managed by ${manager}`)
  return new Error(
    `Conflict: ${fields.join('; ')}. Remove these fields from the manifest, or take them over with the annotation ` +
      'strategy.spinnaker.io/server-side-apply: "force-conflicts".',
    { cause: error },
  )
}

/** Fails with 409 when the live object has changed since it was read. */
export async function applyFromClient(
  running: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject | undefined,
  { dryRun = false }: Pick<WriteOptions, 'dryRun'> = {},
): Promise<KubeObject> {
  const { api } = running.account
  const { resource, namespace, isPlanned } = prepared
  const options = { fieldManager, dryRun, isStrict: true }
  const wire = toWire(prepared)
  if (live === undefined)
    return whenServed(running, isPlanned, () => api.create(resource, namespace, wire, options))
  const place = { resource, namespace, name: live.metadata.name }
  const states = { applied: wireOfLastApply(prepared, live), live, manifest: wire }
  const patch = (lists: 'by-key' | 'whole') =>
    withField(
      threeWayPatch(states, lists),
      ['metadata', 'resourceVersion'],
      live.metadata.resourceVersion,
    )
  const byWhole = () => api.patch(place, patch('whole'), { ...options, type: 'merge' })
  // Entries with equal keys would be merged into one.
  if (hasDuplicates(prepared, live)) return byWhole()
  try {
    return await api.patch(place, patch('by-key'), { ...options, type: 'strategic' })
  } catch (error) {
    // Custom resources know no keys of list entries.
    if (!isApiError(error, 415)) throw error
    return byWhole()
  }
}

/** The last applied manifest as it was sent. */
function wireOfLastApply(prepared: PreparedManifest, live: KubeObject): JsonObject {
  const applied = lastAppliedOf(live)
  return applied === undefined
    ? {}
    : toWire({ ...prepared, manifest: applied, isNewVersion: false })
}

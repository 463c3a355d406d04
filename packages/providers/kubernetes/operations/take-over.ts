/** Takes over fields before an apply, so that what a manifest no longer has disappears (docs/contracts/kubernetes.md#deployments). */
import { isDeepStrictEqual } from 'node:util'
import { fieldAt, isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { isApiError } from '../api/api-error.ts'
import { fieldManager, lastAppliedAnnotation, undoManager } from '../manifests/annotations.ts'
import { diffObjects } from '../manifests/diff.ts'
import { withField } from '../manifests/edit.ts'
import {
  type FieldSet,
  type ManagedFields,
  managedFieldsOf,
  missingFields,
  unionOf,
  withoutFields,
} from '../manifests/managed-fields.ts'
import { lastAppliedOf } from '../manifests/versions.ts'
import type { KubeObject } from '../objects.ts'
import type { ManifestRun } from './parts.ts'
import { type PreparedManifest, toWire } from './prepared.ts'

/** Fields that an apply has to remove, and who owns what so that it does. */
interface Takeover {
  /** Fields of the last apply that the manifest does not have. */
  readonly dropped: FieldSet | undefined
  /** Undefined: nothing needs to change. */
  readonly managedFields: readonly JsonObject[] | undefined
}

/**
 * An apply removes the fields that its manager owns alone. Fields of the last apply may belong to others as well: to the tool that
 * applied it, or to a user who has changed them since.
 */
export async function planTakeover(
  running: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject,
): Promise<Takeover> {
  const entries = managedFieldsOf(live)
  const wire = toWire(prepared)
  const own = entries.find(isOwn)
  if (own !== undefined && own.apiVersion !== wire['apiVersion'])
    return { dropped: undefined, managedFields: undefined }
  if (prepared.strategy.serverSide === 'conflicts-fail')
    return { dropped: undefined, managedFields: withMigrated(entries, own, running) }
  const undone = entries.filter(({ manager }) => manager === undoManager)
  const sets = [...(own === undefined ? [] : [own]), ...undone].map(({ fieldsV1 }) => fieldsV1)
  const applied = await fieldsOfLastApply(running, prepared, live)
  const [first, ...more] = [...sets, ...(applied === undefined ? [] : [applied])]
  const dropped = first && missingFields(more.reduce(unionOf, first), wire)
  return {
    dropped,
    managedFields: dropped && withOwnership(entries, dropped, running, wire['apiVersion']),
  }
}

function isOwn({ manager, operation, subresource }: ManagedFields): boolean {
  return manager === fieldManager && operation === 'Apply' && subresource === undefined
}

/** Undefined where nothing of it is dropped, or it is not known. */
async function fieldsOfLastApply(
  { account }: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject,
): Promise<FieldSet | undefined> {
  const applied = lastAppliedOf(live)
  const { manifest, resource, namespace } = prepared
  if (
    applied === undefined ||
    applied['apiVersion'] !== manifest['apiVersion'] ||
    !drops(applied, manifest)
  )
    return undefined
  const again = toWire({
    ...prepared,
    manifest: withField(applied, ['metadata', 'name'], live.metadata.name),
    isNewVersion: false,
  })
  try {
    // The API server knows which fields a manifest sets: those that it would own if it were applied.
    const dry = await account.api.patch({ resource, namespace, name: live.metadata.name }, again, {
      type: 'apply',
      force: true,
      fieldManager,
      dryRun: true,
    })
    return managedFieldsOf(dry).find(isOwn)?.fieldsV1
  } catch (error) {
    // What was valid once may be no longer; then only the fields that are owned are removed.
    if (isApiError(error, 400, 404, 409, 415, 422)) return undefined
    throw error
  }
}

function drops(applied: JsonObject, manifest: JsonObject): boolean {
  return diffObjects(applied, manifest).some(
    ({ change, before }) =>
      change === 'removed' || (change === 'changed' && (Array.isArray(before) || isObject(before))),
  )
}

/** Lets Fairlead alone own the fields; undefined where it does already. */
function withOwnership(
  entries: readonly ManagedFields[],
  fields: FieldSet,
  { parts }: ManifestRun,
  apiVersion: unknown,
): readonly JsonObject[] | undefined {
  const others = entries
    .filter((entry) => !isOwn(entry))
    .flatMap((entry) => {
      if (entry.apiVersion !== apiVersion) return [entry]
      const left = withoutFields(entry.fieldsV1, fields)
      return left === undefined ? [] : [{ ...entry, fieldsV1: left }]
    })
  const own = entries.find(isOwn)
  const owned = own === undefined ? fields : unionOf(own.fieldsV1, fields)
  const next = [
    { ...(own ?? newEntry(parts.now(), String(apiVersion))), fieldsV1: owned },
    ...others,
  ]
  const before = [...entries.filter(isOwn), ...entries.filter((entry) => !isOwn(entry))]
  return isDeepStrictEqual(next, before) ? undefined : next
}

function newEntry(nowMs: number, apiVersion: string): Omit<ManagedFields, 'fieldsV1'> {
  const time = `${new Date(nowMs).toISOString().slice(0, 19)}Z`
  return { manager: fieldManager, operation: 'Apply', apiVersion, time, fieldsType: 'FieldsV1' }
}

/** Fields of client-side applies become Fairlead's, as `kubectl apply --server-side` does it; all others stay whose they are. */
function withMigrated(
  entries: readonly ManagedFields[],
  own: ManagedFields | undefined,
  { parts }: ManifestRun,
): readonly JsonObject[] | undefined {
  const isClientSide = ({ operation, subresource, fieldsV1 }: ManagedFields) =>
    operation === 'Update' &&
    subresource === undefined &&
    fieldAt(fieldsV1, 'f:metadata', 'f:annotations', `f:${lastAppliedAnnotation}`) !== undefined
  const clientSide = entries.filter(isClientSide)
  const [first] = clientSide
  if (first === undefined) return undefined
  const sets = clientSide
    .filter(({ apiVersion }) => apiVersion === (own ?? first).apiVersion)
    .map(({ fieldsV1 }) => fieldsV1)
  const entry = own ?? { ...newEntry(parts.now(), first.apiVersion), fieldsV1: first.fieldsV1 }
  const kept = entries.filter((each) => !isOwn(each) && !clientSide.includes(each))
  return [{ ...entry, fieldsV1: sets.reduce(unionOf, entry.fieldsV1) }, ...kept]
}

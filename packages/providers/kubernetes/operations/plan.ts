/** Difference between manifests and what is deployed, by a dry run; nothing is written. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import type { OperationRun } from '../../infrastructure/operation-type.ts'
import { isApiError } from '../api/api-error.ts'
import { parseKind } from '../kinds.ts'
import { fieldManager } from '../manifests/annotations.ts'
import { diffObjects, type FieldChange, withMaskedValues } from '../manifests/diff.ts'
import { withField, withoutField } from '../manifests/edit.ts'
import { withoutFieldsOf } from '../manifests/managed-fields.ts'
import { type Reference, referencesIn } from '../manifests/references.ts'
import { isSecret } from '../manifests/secrets.ts'
import type { KubeObject } from '../objects.ts'
import { applyFromClient, hasDuplicates, loadLive, preparedPlace } from './apply.ts'
import { deployedApplications, describeDeployProblems } from './deploy.ts'
import { defineManifestOperation, type ManifestRun } from './parts.ts'
import { type Preparation, prepare, respecting } from './prepare.ts'
import {
  type DeployFields,
  type PreparedManifest,
  toDeployment,
  toWire,
  VersionLists,
} from './prepared.ts'
import { explainRefusal } from './refusals.ts'
import { checkChanges } from './rights.ts'
import { planTakeover } from './take-over.ts'

interface Difference {
  readonly account: string
  /** Empty for cluster-wide objects. */
  readonly namespace: string
  readonly name: string
  readonly change: 'create' | 'update' | 'none' | 'error'
  readonly fields: readonly FieldChange[]
  /** Full name of the version that a new one is compared with. */
  readonly comparedWith?: string
  readonly message?: string
  /** Sentences: what is not as users may expect. */
  readonly warnings?: readonly string[]
}

export const planManifest = defineManifestOperation({
  reads: toDeployment,
  check: describeDeployProblems,
  applications: deployedApplications,
  changes: () => [],
  run: async (running, fields) =>
    running.run.report({ differences: await planManifests(running, fields) }),
})

/** The user needs the same rights as for the deployment. @throws {Error} for people, where the manifests cannot be prepared */
export async function planManifests(
  planned: Omit<ManifestRun, 'run'> & {
    readonly run: Pick<OperationRun, 'id' | 'user' | 'signal'>
  },
  fields: DeployFields,
): Promise<Difference[]> {
  const running: ManifestRun = {
    ...planned,
    run: { ...planned.run, note: () => {}, report: () => {} },
  }
  const preparation = await prepare(running, fields)
  await checkChanges(running, preparation.services)
  const missing = await missingNamespaces(running, preparation)
  const differences: Difference[] = []
  for (const prepared of preparation.manifests) {
    const isPlaceLess = prepared.isPlanned || missing.has(prepared.namespace)
    const difference = await planOne(running, prepared, { ...preparation, isPlaceLess })
    const warnings = [
      ...prepared.notes,
      ...(await missingReferences(running, prepared, preparation)),
    ]
    differences.push({ ...difference, ...(warnings.length > 0 && { warnings }) })
  }
  return differences
}

async function planOne(
  running: ManifestRun,
  prepared: PreparedManifest,
  preparation: Preparation & { readonly isPlaceLess: boolean },
): Promise<Difference> {
  const { name, namespace, resource } = prepared
  const place = { account: running.account.settings.name, namespace, name }
  let live: KubeObject | undefined
  try {
    live = preparation.isPlaceLess ? undefined : await loadLive(running.account, prepared)
    await checkChanges(running, [{ name, isNamespaced: resource.isNamespaced, live }])
    const next = preparation.isPlaceLess
      ? prepared.manifest
      : await dryRun(running, respecting(preparation, prepared, live), live)
    const { base, comparedWith } = await baseOf(running, prepared, live)
    const changes = diffObjects(comparable(base, prepared), comparable(next, prepared))
    const fields = isSecret(prepared.manifest) ? withMaskedValues(changes) : changes
    const change = live === undefined ? 'create' : fields.length === 0 ? 'none' : 'update'
    return { ...place, change, fields, ...(comparedWith !== undefined && { comparedWith }) }
  } catch (error) {
    if (running.run.signal.aborted) throw error
    const { message } = (await explainRefusal(running, prepared, live, error)) as Error
    return { ...place, change: 'error', fields: [], message }
  }
}

/** A sentence for each object that it names, and that neither exists nor is deployed with it. */
async function missingReferences(
  { account }: ManifestRun,
  { name, namespace, manifest }: PreparedManifest,
  { manifests }: Preparation,
): Promise<string[]> {
  const { references } = account.settings
  const wanted = referencesIn(manifest, references).filter(
    ({ to, isOptional, use }) => to !== 'image' && !isOptional && use !== 'written',
  )
  const written = manifests
    .flatMap((each) => referencesIn(each.manifest, references))
    .filter(({ use }) => use === 'written')
  const isExpected = ({ to, name: wantedName }: Reference) =>
    manifests.some(({ kind, objectName }) => kind.name === to && objectName === wantedName) ||
    written.some((each) => each.to === to && each.name === wantedName)
  const missing = await callInTurns(
    wanted.filter((reference) => !isExpected(reference)),
    async (reference) => {
      const { kind, group } = parseKind(reference.to)
      const resource = await account.api.find({ kind, group })
      if (resource === undefined) return undefined
      const place = resource.isNamespaced ? (reference.namespace ?? namespace) : ''
      const found = await account.api
        .get({ resource, namespace: place, name: reference.name })
        // What may not be read may exist.
        .catch(() => ({}))
      if (found !== undefined) return undefined
      const where = place === '' ? '' : ` in ${place}`
      return `${name} names ${reference.to} ${reference.name}${where} in ${reference.path}, and there is none.`
    },
  )
  return [...new Set(missing.filter((each) => each !== undefined))]
}

/** Names that the same deployment creates: nothing can be tried in them. */
async function missingNamespaces(
  { account }: ManifestRun,
  { manifests }: Preparation,
): Promise<ReadonlySet<string>> {
  const named = manifests.filter(({ kind }) => kind.name === 'namespace')
  const missing = await callInTurns(named, async (prepared) => {
    // What may not be read may exist.
    const live = await loadLive(account, prepared).catch(() => null)
    return live === undefined ? (prepared.objectName ?? []) : []
  })
  return new Set(missing.flat())
}

async function dryRun(
  running: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject | undefined,
): Promise<JsonObject> {
  const { api } = running.account
  const { resource, namespace, strategy, objectName, manifest } = prepared
  const options = { fieldManager, dryRun: true, isStrict: true }
  const wire = toWire(prepared)
  if (objectName === undefined) return api.create(resource, namespace, wire, options)
  if (strategy.recreates && live !== undefined) return manifest
  if (strategy.replaces && live !== undefined) {
    return api.replace(
      preparedPlace(prepared),
      withField(wire, ['metadata', 'resourceVersion'], live.metadata.resourceVersion),
      options,
    )
  }
  if (strategy.clientSide || hasDuplicates(prepared, live))
    return applyFromClient(running, prepared, live, { dryRun: true })
  const force = strategy.serverSide !== 'conflicts-fail'
  const dropped = live && (await planTakeover(running, prepared, live)).dropped
  try {
    const applied = await api.patch(preparedPlace(prepared), wire, {
      ...options,
      type: 'apply',
      force,
    })
    return dropped === undefined ? applied : (withoutFieldsOf(applied, dropped) as JsonObject)
  } catch (error) {
    if (isApiError(error, 405, 415)) return manifest
    throw error
  }
}

/** A new version is compared with the one before it. */
async function baseOf(
  running: ManifestRun,
  prepared: PreparedManifest,
  live: KubeObject | undefined,
): Promise<{ readonly base: JsonObject; readonly comparedWith?: string }> {
  if (live !== undefined) return { base: live }
  const { resource, namespace, artifact, kind, isPlanned } = prepared
  if (!prepared.isNewVersion || isPlanned) return { base: {} }
  const { account } = running
  const previous = await new VersionLists(account).newestName({
    resource,
    namespace,
    artifactName: String(artifact['name']),
  })
  const before =
    previous === undefined
      ? undefined
      : await account.api.get({ resource, namespace, name: previous })
  if (before === undefined) return { base: {} }
  const comparedWith = `${kind.name} ${previous}`
  const isOpen = await checkChanges(running, [
    { name: comparedWith, isNamespaced: resource.isNamespaced, live: before },
  ]).then(
    () => true,
    () => false,
  )
  // That of another application is not shown.
  return isOpen ? { base: before, comparedWith } : { base: {} }
}

/** Versions differ in name and number, which is no difference of content. */
function comparable(
  object: JsonObject,
  { isNewVersion, objectName }: PreparedManifest,
): JsonObject {
  if (!isNewVersion && objectName !== undefined) return object
  const sequence = 'moniker.spinnaker.io/sequence'
  const paths = [
    ['metadata', 'name'],
    ['metadata', 'labels', sequence],
    ['spec', 'template', 'metadata', 'labels', sequence],
  ]
  return paths.reduce((left, path) => withoutField(left, path), object)
}

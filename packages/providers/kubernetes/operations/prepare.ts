/** Prepares manifests for deployment: versions, artifacts, annotations and traffic; nothing is written. */

import { or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { formatFullName, type Kind, kindOfManifest } from '../kinds.ts'
import { annotated, labelled } from '../manifests/annotate.ts'
import { type ManifestStrategy, manifestStrategyOf } from '../manifests/annotations.ts'
import {
  bindArtifacts,
  firstOfEachArtifact,
  isSameArtifact,
  withArtifact,
} from '../manifests/artifacts.ts'
import { withField, withoutField } from '../manifests/edit.ts'
import { isGenerated, nameOf, namespaceOf, normalized, originalOf } from '../manifests/input.ts'
import { hasSelectors, parseSelectors } from '../manifests/selectors.ts'
import type { ChosenVersion } from '../manifests/versions.ts'
import { toWorkload } from '../objects/workload.ts'
import { toHead } from '../objects.ts'
import { resourceDefinedBy } from './custom-resources.ts'
import type { ManifestRun } from './parts.ts'
import {
  type DeployFields,
  type ManifestDraft,
  type PreparedManifest,
  VersionLists,
} from './prepared.ts'
import type { ObjectChange } from './rights.ts'
import {
  aboutObject,
  describeNamespaceProblem,
  describeObjectPlace,
  findResource,
  groupAndVersion,
} from './targets.ts'
import { type RequestTraffic, withTraffic } from './traffic.ts'

export interface Preparation {
  /** Those that labels select, in the order of deployment. */
  readonly manifests: readonly PreparedManifest[]
  readonly boundArtifacts: readonly JsonObject[]
  readonly services: readonly ObjectChange[]
}

/** @throws {Error} for people */
export async function prepare(running: ManifestRun, fields: DeployFields): Promise<Preparation> {
  const drafts = await draftsOf(running, fields)
  const versions = new VersionLists(running.account)
  const traffic: RequestTraffic = { drafts, services: new Map() }
  let artifacts = fields.bindsArtifacts
    ? firstOfEachArtifact([...fields.requiredArtifacts, ...fields.optionalArtifacts])
    : []
  const bound: JsonObject[] = []
  const prepared: PreparedManifest[] = []
  for (const [index, draft] of drafts.entries()) {
    const step: PreparationStep = {
      draft,
      fields,
      versions,
      traffic,
      artifacts,
      writer: `${running.run.id}-${index}`,
    }
    const done = await aboutObject(
      describeObjectPlace(running.account, fullNameOf(draft), draft.namespace),
      () => prepareOne(running, step),
    )
    prepared.push(done.prepared)
    for (const artifact of done.bound)
      if (!bound.some((other) => isSameArtifact(other, artifact))) bound.push(artifact)
    if (fields.bindsArtifacts) artifacts = withArtifact(artifacts, done.prepared.artifact)
  }
  if (fields.bindsArtifacts) checkBound(fields.requiredArtifacts, bound)
  return {
    manifests: selected(prepared, fields),
    boundArtifacts: bound,
    services: [...traffic.services.values()],
  }
}

async function draftsOf(running: ManifestRun, fields: DeployFields): Promise<ManifestDraft[]> {
  const drafts: ManifestDraft[] = []
  for (const manifest of fields.manifests) drafts.push(await toDraft(running, manifest, fields))
  // The order of the request counts among equals: sorting is stable.
  return drafts.sort((one, other) => one.kind.priority - other.kind.priority)
}

const undeployable: ReadonlySet<string> = new Set(['controllerRevision', 'event'])

async function toDraft(
  running: ManifestRun,
  given: JsonObject,
  fields: DeployFields,
): Promise<ManifestDraft> {
  const { kind: kindName, apiVersion } = toHead(given)
  const { account } = running
  const name = { kind: kindName, ...groupAndVersion(apiVersion) }
  const planned = resourceDefinedBy(fields.manifests, { kind: kindName, apiVersion })
  const served = await (planned === undefined
    ? findResource(running, name)
    : account.api.find(name))
  const resource = served ?? planned
  if (resource === undefined) {
    throw new Error(
      `${kindName} ${nameOf(given)}: the API server of the account ${account.settings.name} has no kind ${kindName} in ${apiVersion}. ` +
        'Deploy its custom resource definition first, or use an API version that is served.',
    )
  }
  const kind = account.kinds.kindOf(
    kindOfManifest({ kind: kindName, apiVersion }),
    resource.isNamespaced,
  )
  if (undeployable.has(kind.name))
    throw new Error(`${kind.name} ${nameOf(given)}: objects of this kind cannot be deployed.`)
  const namespace = resource.isNamespaced
    ? (fields.namespaceOverride ?? namespaceOf(given) ?? account.defaultNamespace ?? 'default')
    : ''
  const problem = describeNamespaceProblem(
    account,
    kind.name === 'namespace' ? nameOf(given) : namespace,
  )
  if (problem !== undefined) throw new Error(`${kind.name} ${nameOf(given)}: ${problem}`)
  const original = isVersionedKind(given, kind, fields) ? originalOf(given) : undefined
  const place = ['metadata', 'namespace']
  const manifest = normalized(
    namespace === ''
      ? withoutField(original ?? given, place)
      : withField(original ?? given, place, namespace),
  )
  return {
    manifest,
    kind,
    resource,
    namespace,
    isPlanned: served === undefined,
    isEdit: original !== undefined,
    artifactName: nameOf(manifest),
    strategy: strategyOf(manifest, account, fields),
  }
}

function strategyOf(
  manifest: JsonObject,
  { settings }: ManifestRun['account'],
  { recreates }: DeployFields,
): ManifestStrategy {
  const strategy = manifestStrategyOf(manifest)
  const clientSide = strategy.clientSide ?? settings.apply === 'client'
  return { ...strategy, clientSide, ...(recreates && { recreates: true }) }
}

function isVersionedKind(manifest: JsonObject, kind: Kind, { isVersioned }: DeployFields): boolean {
  return manifestStrategyOf(manifest).isVersioned ?? isVersioned ?? kind.isVersioned
}

function fullNameOf({ kind, artifactName }: ManifestDraft): string {
  return formatFullName(kind, artifactName)
}

interface PreparationStep {
  readonly draft: ManifestDraft
  readonly fields: DeployFields
  readonly versions: VersionLists
  readonly traffic: RequestTraffic
  readonly artifacts: readonly JsonObject[]
  readonly writer: string
}

interface StepResult {
  readonly prepared: PreparedManifest
  readonly bound: readonly JsonObject[]
}

async function prepareOne(running: ManifestRun, step: PreparationStep): Promise<StepResult> {
  const { draft, fields, versions, artifacts, writer } = step
  const { kind, namespace, artifactName, strategy } = draft
  checkHistory(draft, fields)
  const { settings } = running.account
  const matchesImages = running.parts.settings.imageBinding
  const { manifest: bound, ...binding } = bindArtifacts(draft.manifest, {
    artifacts,
    namespace,
    matchesImages,
    account: settings.name,
  })
  const isVersioned = isVersionedKind(bound, kind, fields) && !isGenerated(bound)
  const chosen = isVersioned
    ? await versions.choose({ ...draft, manifest: bound, writer })
    : undefined
  const artifact = toArtifact(draft, chosen, settings.name)
  const { app, cluster = fullNameOf(draft), stack, detail } = fields.moniker
  const moniker = { app, cluster, stack, detail, sequence: chosen?.number }
  const withNotes = annotated(
    bound,
    { ...artifact, name: artifactName, location: namespace },
    moniker,
  )
  const scaled = strategy.usesSourceCapacity
    ? await withSourceCapacity(running, withNotes, step, isVersioned)
    : withNotes
  const reached = await withTraffic(running, scaled, step)
  const { appliesAppLabels, managedBySuffix } = running.parts.settings
  const managedBy = managedBySuffix === '' ? 'spinnaker' : `spinnaker-${managedBySuffix}`
  const labels = appliesAppLabels
    ? labelled(reached, moniker, { managedBy, skipsTemplate: fields.skipsTemplateLabels })
    : reached
  const isNamed = !isGenerated(labels)
  const prepared: PreparedManifest = {
    kind,
    namespace,
    strategy,
    writer,
    artifact,
    resource: draft.resource,
    isPlanned: draft.isPlanned,
    manifest: isNamed ? withField(labels, ['metadata', 'name'], artifact.reference) : labels,
    name: formatFullName(kind, artifact.reference),
    objectName: isNamed ? artifact.reference : undefined,
    isNewVersion: chosen?.isNew === true,
  }
  return { prepared, ...binding }
}

/** What later manifests and stages refer to it by. */
function toArtifact(
  { kind, namespace, artifactName }: ManifestDraft,
  chosen: ChosenVersion | undefined,
  account: string,
) {
  const version = chosen === undefined ? '' : chosen.version
  return {
    type: `kubernetes/${kind.name}`,
    name: artifactName,
    location: namespace,
    version,
    reference: version === '' ? artifactName : `${artifactName}-${version}`,
    metadata: { account },
  }
}

const keepsOldVersion: ReadonlySet<string> = new Set(['REDBLACK', 'BLUEGREEN'])

function checkHistory(draft: ManifestDraft, { rolloutStrategy }: DeployFields): void {
  const { maxVersionHistory } = draft.strategy
  if (
    !keepsOldVersion.has(rolloutStrategy) ||
    maxVersionHistory === undefined ||
    maxVersionHistory >= 2
  )
    return
  throw new Error(
    `${fullNameOf(draft)} has the annotation strategy.spinnaker.io/max-version-history: "${maxVersionHistory}"; a blue/green ` +
      'deployment keeps the old version, so that it must be at least 2.',
  )
}

const withCapacity: ReadonlySet<string> = new Set(['deployment', 'replicaSet', 'statefulSet'])

async function withSourceCapacity(
  { account }: ManifestRun,
  manifest: JsonObject,
  { draft, versions }: PreparationStep,
  isVersioned: boolean,
): Promise<JsonObject> {
  if (!withCapacity.has(draft.kind.name)) return manifest
  const name = isVersioned ? await versions.newestName(draft) : draft.artifactName
  const { resource, namespace } = draft
  const live = name === undefined ? undefined : await account.api.get({ resource, namespace, name })
  const { replicas } = toWorkload(live).spec
  return replicas === undefined ? manifest : withField(manifest, ['spec', 'replicas'], replicas)
}

const toArtifactNames = shape({
  type: or(textOf, 'artifact'),
  name: or(textOf, ''),
  detail: [textOf, 'version', 'reference'],
})

/** @throws {Error} where a required artifact occurs nowhere */
export function checkBound(required: readonly JsonObject[], bound: readonly JsonObject[]): void {
  const missing = required.filter(
    (artifact) => !bound.some((other) => isSameArtifact(artifact, other)),
  )
  if (missing.length === 0) return
  const names = missing.map((artifact) => {
    const { type, name, detail } = toArtifactNames(artifact)
    return `${type} ${name}${detail === undefined ? '' : ` (${detail})`}`
  })
  throw new Error(
    `Required artifacts occur in no manifest: ${names.join(', ')}. Use them in a manifest, or do not require them in the stage.`,
  )
}

function selected(
  prepared: readonly PreparedManifest[],
  fields: DeployFields,
): readonly PreparedManifest[] {
  if (!hasSelectors(fields.labelSelectors)) return prepared
  const replaced = prepared.find(({ strategy }) => strategy.replaces)
  if (replaced !== undefined) {
    throw new Error(
      `${replaced.name} is to be replaced (strategy.spinnaker.io/replace), which does not work with labelSelectors.`,
    )
  }
  const selector = parseSelectors(fields.labelSelectors)
  const chosen = prepared.filter(({ manifest }) =>
    selector.matches(toHead(manifest).metadata.labels),
  )
  if (chosen.length === 0 && !fields.maySelectNothing) {
    throw new Error(
      'No manifest has the labels of labelSelectors. Correct them, or allow that nothing is selected (allowNothingSelected).',
    )
  }
  return chosen
}

/** Prepares manifests for deployment: versions, artifacts, annotations and traffic; nothing is written. */
import { isDeepStrictEqual } from 'node:util'
import { or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { apiVersionOf } from '../api/cluster-api.ts'
import { loadIgnored } from '../application-rules.ts'
import { type IgnoreRule, ownRulesOf, withKept } from '../drift/ignore.ts'
import { formatFullName, type Kind, kindOfManifest } from '../kinds.ts'
import { annotated, labelled } from '../manifests/annotate.ts'
import { type ManifestStrategy, manifestStrategyOf } from '../manifests/annotations.ts'
import {
  bindArtifacts,
  firstOfEachArtifact,
  isSameArtifact,
  withArtifact,
} from '../manifests/artifacts.ts'
import { describeDuplicates } from '../manifests/duplicates.ts'
import { withField, withoutField } from '../manifests/edit.ts'
import {
  describeUnquoted,
  isGenerated,
  nameOf,
  namespaceOf,
  normalized,
  originalOf,
} from '../manifests/input.ts'
import { describeSizeProblem } from '../manifests/limits.ts'
import { type NamingChoice, Renaming } from '../manifests/renaming.ts'
import { hasSelectors, parseSelectors } from '../manifests/selectors.ts'
import type { ChosenVersion } from '../manifests/versions.ts'
import { compareWaves, isHook, type Wave, wavesOf } from '../manifests/waves.ts'
import { toWorkload } from '../objects/workload.ts'
import { type KubeObject, toHead } from '../objects.ts'
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
  /** Manifests that labels select, in the order of deployment. */
  readonly manifests: readonly PreparedManifest[]
  readonly boundArtifacts: readonly JsonObject[]
  readonly services: readonly ObjectChange[]
  /** Rules of the account and the application. */
  readonly ignored: readonly IgnoreRule[]
}

/** Takes over the live values of fields that `ignoreDifferences` leaves as they are. */
export function respecting(
  { ignored }: Preparation,
  prepared: PreparedManifest,
  live: KubeObject | undefined,
): PreparedManifest {
  if (live === undefined || prepared.strategy.recreates) return prepared
  const rules = [...ignored, ...ownRulesOf(prepared.manifest)]
  return { ...prepared, manifest: withKept(prepared.manifest, live, rules) }
}

/** @throws {Error} for people */
export async function prepare(running: ManifestRun, fields: DeployFields): Promise<Preparation> {
  const { settings } = running.account
  const drafts = await draftsOf(running, fields)
  const renaming = new Renaming(drafts, {
    versioning: settings.versioning,
    references: settings.references,
    isVersioned: fields.isVersioned,
  })
  const versions = new VersionLists(running.account)
  const traffic: RequestTraffic = { drafts, services: new Map() }
  let artifacts = fields.bindsArtifacts
    ? firstOfEachArtifact([...fields.requiredArtifacts, ...fields.optionalArtifacts])
    : []
  const bound: JsonObject[] = []
  const prepared: PreparedManifest[] = []
  // What is named comes before what names it, whichever is applied first.
  const order = [...drafts.entries()].sort(
    ([, one], [, other]) => Number(isData(other.kind)) - Number(isData(one.kind)),
  )
  for (const [index, draft] of order) {
    const step: PreparationStep = {
      draft,
      fields,
      versions,
      traffic,
      artifacts,
      renaming,
      writer: `${running.run.id}-${index}`,
    }
    const done = await aboutObject(
      describeObjectPlace(running.account, fullNameOf(draft), draft.namespace),
      () => prepareOne(running, step),
    )
    prepared[index] = done.prepared
    for (const artifact of done.bound)
      if (!bound.some((other) => isSameArtifact(other, artifact))) bound.push(artifact)
    if (fields.bindsArtifacts) artifacts = withArtifact(artifacts, done.prepared.artifact)
  }
  if (fields.bindsArtifacts) checkBound(fields.requiredArtifacts, bound)
  return {
    manifests: selected(prepared, fields),
    boundArtifacts: bound,
    services: [...traffic.services.values()],
    ignored: [
      ...settings.ignoreDifferences,
      ...(await loadIgnored(running.parts, fields.moniker.app)),
    ],
  }
}

function isData({ name }: Kind): boolean {
  return name === 'configMap' || name === 'secret'
}

/** In the order in which they are applied: by waves, then by kinds, then as the request has them. */
async function draftsOf(running: ManifestRun, fields: DeployFields): Promise<ManifestDraft[]> {
  const waves = wavesOf(fields.manifests)
  const drafts = new Map<string, ManifestDraft & { readonly position: number }>()
  for (const [index, manifest] of fields.manifests.entries()) {
    const wave = waves[index]
    if (wave === undefined) continue
    const draft = await toDraft(running, manifest, fields, wave)
    const key = isGenerated(draft.manifest)
      ? String(index)
      : [draft.resource.group, fullNameOf(draft), draft.namespace].join(' ')
    const first = drafts.get(key)
    drafts.set(
      key,
      first === undefined
        ? { ...draft, position: index + 1 }
        : sameTwice(running, first, draft, index),
    )
  }
  return [...drafts.values()].sort(
    (one, other) => compareWaves(one.wave, other.wave) || one.kind.priority - other.kind.priority,
  )
}

/** An object that is given twice with the same text counts once. @throws {Error} where the texts differ */
function sameTwice<T extends ManifestDraft & { readonly position: number }>(
  { account }: ManifestRun,
  first: T,
  second: ManifestDraft,
  index: number,
): T {
  const subject = describeObjectPlace(account, fullNameOf(first), first.namespace)
  const places = `manifests ${first.position} and ${index + 1}`
  if (!isDeepStrictEqual(first.manifest, second.manifest)) {
    throw new Error(
      `${subject} is given twice with different content, as ${places} of the request. Remove one of them.`,
    )
  }
  return {
    ...first,
    notes: [...first.notes, `${subject} is given twice, as ${places}, and deployed once.`],
  }
}

const undeployable: ReadonlySet<string> = new Set(['controllerRevision', 'event'])

async function toDraft(
  running: ManifestRun,
  given: JsonObject,
  fields: DeployFields,
  wave: Wave,
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
    const other = await account.api.find({ kind: kindName })
    throw new Error(
      `${kindName} ${nameOf(given)}: the API server of the account ${account.settings.name} has no kind ${kindName} in ${apiVersion}. ` +
        (other?.kind === kindName
          ? `It serves ${kindName} in ${apiVersionOf(other)}; change apiVersion, and look for fields that have moved.`
          : 'Deploy its custom resource definition first, or use an API version that is served.'),
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
  const size = describeSizeProblem(manifest)
  const subject = describeObjectPlace(account, `${kind.name} ${nameOf(given)}`, namespace)
  if (size !== undefined) throw new Error(`${subject}: ${size}`)
  const dropped = resource.isNamespaced ? undefined : namespaceOf(given)
  const duplicates = describeDuplicates(manifest)
  return {
    manifest,
    kind,
    resource,
    namespace,
    wave,
    hasDuplicates: duplicates.length > 0,
    notes: [
      ...duplicates.map((each) => `${subject}: ${each}.`),
      ...describeUnquoted(given).map((each) => `${subject}: ${each}`),
      ...(dropped === undefined
        ? []
        : [`${subject} is cluster-wide, so that its namespace ${dropped} is left out.`]),
    ],
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
  return { ...strategy, clientSide, ...((recreates || isHook(manifest)) && { recreates: true }) }
}

function isVersionedKind(manifest: JsonObject, kind: Kind, { isVersioned }: DeployFields): boolean {
  return manifestStrategyOf(manifest).isVersioned ?? isVersioned ?? kind.isVersioned
}

function fullNameOf({ kind, artifactName }: ManifestDraft): string {
  return formatFullName(kind, artifactName)
}

/** An editor of live objects sends a version under its name: it has been one, and stays one. */
function namingOf({ draft, fields, renaming }: PreparationStep): NamingChoice {
  if (draft.isEdit) return { isVersioned: isVersionedKind(draft.manifest, draft.kind, fields) }
  return renaming.choose(draft)
}

interface PreparationStep {
  readonly draft: ManifestDraft
  readonly fields: DeployFields
  readonly versions: VersionLists
  readonly traffic: RequestTraffic
  readonly artifacts: readonly JsonObject[]
  readonly renaming: Renaming
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
    references: settings.references,
  })
  const naming = namingOf(step)
  const isVersioned = naming.isVersioned && !isGenerated(bound)
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
    wave: draft.wave,
    hasDuplicates: draft.hasDuplicates,
    notes: [...draft.notes, ...(naming.note === undefined ? [] : [naming.note])],
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

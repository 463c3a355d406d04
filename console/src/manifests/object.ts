/** What the screens say about an object, read from its manifest and its status. */
import type { components } from '../api/schema.d.ts'
import { type Json, numberOf, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import type { Status } from '../model/status.ts'
import { isKind } from './names.ts'

type Schemas = components['schemas']

/** An object as `GET /manifests/{account}/{location}/{name}` has it. */
export type ManifestView = Schemas['Manifest']

export interface ObjectPlace {
  readonly account: string
  /** A namespace; empty for what is of the whole cluster. */
  readonly location: string
  /** With its kind. */
  readonly name: string
}

export function manifestOf({ manifest }: ManifestView): Json {
  return objectOf(manifest)
}

export function specOf(view: ManifestView): Json {
  return objectOf(manifestOf(view)['spec'])
}

export function metadataOf(view: ManifestView): Json {
  return objectOf(manifestOf(view)['metadata'])
}

export function timeOf(value: unknown): number | undefined {
  const ms = Date.parse(textOf(value) ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

interface Pill extends Status {
  readonly message: string | undefined
}

/** The gravest first; one at least. */
export function pillsOf({ status }: ManifestView): readonly Pill[] {
  const parts = objectOf(status)
  const part = (key: string) => objectOf(parts[key])
  const pill = (key: string, kind: Status['kind'], word: string): Pill => ({ kind, word, message: textOf(part(key)['message']) })
  const found: Pill[] = []
  if (part('failed')['state'] === true) found.push(pill('failed', 'failed', 'failed'))
  if (part('paused')['state'] === true) found.push(pill('paused', 'paused', 'paused'))
  if (found.length === 0 && part('stable')['state'] === false) found.push(pill('stable', 'running', 'in progress'))
  if (part('available')['state'] === false) found.push(pill('available', 'warning', 'not available'))
  if (found.length > 0) return found
  return [part('stable')['state'] === true ? pill('stable', 'succeeded', 'stable') : pill('stable', 'unknown', 'no status yet')]
}

/** Whether nothing moves any more by itself. */
export function isSettled({ status }: ManifestView): boolean {
  const { stable, failed } = objectOf(status)
  return objectOf(stable)['state'] !== false || objectOf(failed)['state'] === true
}

export function isPaused({ status }: ManifestView): boolean {
  return objectOf(objectOf(status)['paused'])['state'] === true
}

/** Why it is not as wanted, in sentences: those of the API, else the messages of its status. @see `podReasonsOf` */
export function reasonsOf(view: ManifestView): readonly string[] {
  const given = textsOf(view['reasons'])
  if (given.length > 0) return given
  const [first] = pillsOf(view)
  return first?.message === undefined || first.kind === 'succeeded' ? [] : [first.message]
}

export interface Rollout {
  readonly desired: number
  /** Each with its word: updated, ready, available. */
  readonly parts: readonly { readonly word: string; readonly done: number }[]
}

/** Undefined for kinds that are not rolled out. */
export function rolloutOf(view: ManifestView): Rollout | undefined {
  const kind = `${textOf(manifestOf(view)['kind']) ?? ''} `
  const [spec, status] = [specOf(view), objectOf(manifestOf(view)['status'])]
  const count = (key: string) => numberOf(status[key]) ?? 0
  const toRollout = (desired: number, ...keys: readonly [updated: string, ready: string, available: string]): Rollout => ({
    desired,
    parts: ['updated', 'ready', 'available'].map((word, at) => ({ word, done: count(keys[at] ?? '') })),
  })
  if (isKind(kind, 'daemonSet')) {
    return toRollout(count('desiredNumberScheduled'), 'updatedNumberScheduled', 'numberReady', 'numberAvailable')
  }
  const desired = numberOf(spec['replicas']) ?? 1
  if (isKind(kind, 'replicaSet')) return toRollout(desired, 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas')
  if (!isKind(kind, 'deployment', 'statefulSet')) return undefined
  return toRollout(desired, 'updatedReplicas', 'readyReplicas', 'availableReplicas')
}

export interface Condition {
  readonly type: string
  readonly status: Status
  readonly reason: string | undefined
  readonly message: string | undefined
  readonly sinceMs: number | undefined
}

/** Conditions that are bad when they are true. */
const badTypes = /^(?:Failed|FailureTarget|ReplicaFailure|DisruptionTarget|.*Pressure|NetworkUnavailable)$/

export function conditionsOf(view: ManifestView): readonly Condition[] {
  return objectsOf(objectOf(manifestOf(view)['status'])['conditions']).map((condition) => {
    const [type, state] = [textOf(condition['type']) ?? '', textOf(condition['status']) ?? '']
    const isGood = (state === 'True') !== badTypes.test(type)
    const kind = state === 'True' || state === 'False' ? (isGood ? 'succeeded' : 'warning') : 'unknown'
    return {
      type,
      status: { kind, word: state.toLowerCase() },
      reason: textOf(condition['reason']),
      message: textOf(condition['message']),
      sinceMs: timeOf(condition['lastTransitionTime']) ?? timeOf(condition['lastUpdateTime']),
    }
  })
}

interface ObjectEvent {
  readonly isWarning: boolean
  readonly reason: string
  readonly message: string
  readonly count: number
  readonly atMs: number | undefined
  readonly source: string | undefined
}

/** Newest first. */
export function eventsOf({ events }: ManifestView): readonly ObjectEvent[] {
  const found = objectsOf(events).map((event) => ({
    isWarning: event['type'] === 'Warning',
    reason: textOf(event['reason']) ?? '',
    message: textOf(event['message']) ?? textOf(event['note']) ?? '',
    count: numberOf(event['count']) ?? numberOf(objectOf(event['series'])['count']) ?? 1,
    atMs: timeOf(event['lastTimestamp']) ?? timeOf(event['eventTime']) ?? timeOf(event['firstTimestamp']),
    source: textOf(objectOf(event['source'])['component']) ?? textOf(event['reportingComponent']),
  }))
  return found.toSorted((a, b) => (b.atMs ?? 0) - (a.atMs ?? 0))
}

/** The owner that manages it, by full name. */
export function ownersOf(view: ManifestView): readonly string[] {
  return objectsOf(metadataOf(view)['ownerReferences']).flatMap((owner) => {
    const [kind, name] = [textOf(owner['kind']), textOf(owner['name'])]
    return kind === undefined || name === undefined ? [] : [`${kind.charAt(0).toLowerCase()}${kind.slice(1)} ${name}`]
  })
}

/** Of its pods: a pod's own spec, or that of the template, also of a cron job. */
function podSpecOf(view: ManifestView): Json {
  const spec = specOf(view)
  const inner = objectOf(objectOf(spec['jobTemplate'])['spec'])
  const template = objectOf(objectOf((inner['template'] ?? spec['template']) as unknown)['spec'])
  return Object.keys(template).length > 0 ? template : spec
}

export function imagesOf(view: ManifestView): readonly string[] {
  return [...new Set(objectsOf(podSpecOf(view)['containers']).flatMap(({ image }) => textOf(image) ?? []))]
}

/** Names, init containers first, as their logs come. */
export function containerNamesOf(view: ManifestView): readonly string[] {
  const spec = podSpecOf(view)
  return ['initContainers', 'containers'].flatMap((key) => objectsOf(spec[key]).flatMap(({ name }) => textOf(name) ?? []))
}

/** Load balancers that its traffic annotation names. */
export function trafficOf(view: ManifestView): readonly string[] {
  const text = textOf(objectOf(metadataOf(view)['annotations'])['traffic.spinnaker.io/load-balancers'])
  try {
    return text === undefined ? [] : textsOf(JSON.parse(text))
  } catch {
    return []
  }
}

const setByCluster = new Set([
  'creationTimestamp',
  'generation',
  'managedFields',
  'ownerReferences',
  'resourceVersion',
  'selfLink',
  'uid',
])
const setByDeployment =
  /^(?:artifact|moniker)\.spinnaker\.io\/|^(?:deployment|kubectl)\.kubernetes\.io\/|^app\.kubernetes\.io\/managed-by$/

/** As users write it: what was deployed last where that is known, else the object without what others have set. */
export function toEditable(view: ManifestView): Json {
  const last = textOf(objectOf(metadataOf(view)['annotations'])['kubectl.kubernetes.io/last-applied-configuration'])
  return withoutStamps(parseObject(last) ?? manifestOf(view))
}

function parseObject(text: string | undefined): Json | undefined {
  try {
    const value = objectOf(JSON.parse(text ?? ''))
    return textOf(value['kind']) === undefined ? undefined : value
  } catch {
    return undefined
  }
}

function withoutStamps({ status: _, ...manifest }: Json): Json {
  const metadata = objectOf(manifest['metadata'])
  const own = Object.fromEntries(Object.entries(metadata).filter(([key]) => !setByCluster.has(key)))
  const name = unversioned(metadata['name'], objectOf(metadata['annotations']))
  const spec = objectOf(manifest['spec'])
  const template = objectOf(spec['template'])
  const templateMetadata = template['metadata']
  return {
    ...manifest,
    metadata: withoutMarks({ ...own, ...(name !== undefined && { name }) }),
    ...(typeof templateMetadata === 'object' && {
      spec: { ...spec, template: { ...template, metadata: withoutMarks(objectOf(templateMetadata)) } },
    }),
  }
}

/** Annotations and labels that every deployment writes anew. */
function withoutMarks(metadata: Json): Json {
  const kept = Object.entries(metadata).flatMap(([key, value]) => {
    if (key !== 'annotations' && key !== 'labels') return [[key, value]]
    const own = Object.entries(objectOf(value)).filter(([mark]) => !setByDeployment.test(mark))
    return own.length === 0 ? [] : [[key, Object.fromEntries(own)]]
  })
  return Object.fromEntries(kept)
}

/** A deployment gives the object its next version, and with it its name. */
function unversioned(name: unknown, annotations: Json): unknown {
  const [artifact, version] = [annotations['artifact.spinnaker.io/name'], annotations['artifact.spinnaker.io/version']]
  return textOf(version) !== undefined && name === `${artifact}-${version}` ? artifact : name
}

/** As it is shown: without what only programs read. */
export function toShown(view: ManifestView): Json {
  const { managedFields: _, ...metadata } = metadataOf(view)
  return { ...manifestOf(view), metadata }
}

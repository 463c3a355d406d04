/** What the screens say about an object, read from its manifest and its status. */

import {
  fieldAt,
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  scalarOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import type { components } from '../api/schema.d.ts'
import type { Status } from '../model/execution.ts'

/** An object as `GET /manifests/{account}/{location}/{name}` has it. */
export type ManifestView = components['schemas']['Manifest']

export interface ObjectPlace {
  readonly account: string
  /** A namespace; empty for what is of the whole cluster. */
  readonly location: string
  /** Includes its kind. */
  readonly name: string
}

/** Place in a record of the API, or in the output of a stage. */
export function placeIn({ account, namespace, region, name }: JsonObject): ObjectPlace {
  return {
    account: scalarOf(account) ?? '',
    location: scalarOf(namespace) ?? scalarOf(region) ?? '',
    name: scalarOf(name) ?? '',
  }
}

/** Names have no case. */
export function isSameObject(one: ObjectPlace, other: ObjectPlace): boolean {
  const isSamePlace = one.account === other.account && one.location === other.location
  return isSamePlace && one.name.toLowerCase() === other.name.toLowerCase()
}

/** @param path Such as `spec.replicas` */
export function fieldOf({ manifest }: ManifestView, path: string): unknown {
  return fieldAt(manifest, ...path.split('.'))
}

/** Milliseconds since the epoch. */
export function timeOf(value: unknown): number | undefined {
  return Date.parse(scalarOf(value) ?? '') || undefined
}

/** What a status says of its parts, the gravest first. */
const sayings = [
  ['failed', true, 'failed', 'failed'],
  ['paused', true, 'paused', 'paused'],
  ['stable', false, 'running', 'in progress'],
  ['available', false, 'warning', 'not available'],
  ['stable', true, 'succeeded', 'stable'],
] as const

/** How states of `health` are shown. */
const healthPills: Readonly<Record<string, readonly [kind: Status['kind'], word: string]>> = {
  failed: ['failed', 'failed'],
  missing: ['failed', 'missing'],
  terminating: ['running', 'being deleted'],
  unknown: ['unknown', 'unknown'],
  progressing: ['running', 'in progress'],
  unattended: ['warning', 'unattended'],
  suspended: ['paused', 'paused'],
  healthy: ['succeeded', 'stable'],
  done: ['succeeded', 'done'],
}

/** The gravest first; one at least. */
export function pillsOf(view: ManifestView) {
  const unready = conditionsOf(view).find(
    ({ name, status }) => name === 'Ready' && status.word === 'false',
  )
  const failing = containersOf(view).find(({ status }) => status.kind === 'failed')
  // The status of a pod knows its phase alone.
  const isUnready = unready !== undefined && !unready.text.startsWith('PodCompleted')
  const parts = {
    ...view.status,
    ...(isUnready && { available: { state: false, message: (failing ?? unready).text } }),
  }
  const said = sayings.flatMap(([part, wanted, kind, word]) => {
    const { state, message } = objectOf(fieldAt(parts, part))
    return state === wanted ? [{ kind, word, message: scalarOf(message) }] : []
  })
  const { state, sentence } = objectOf(view['health'])
  const known = healthPills[scalarOf(state) ?? '']
  const [first, ...others] =
    known === undefined
      ? said
      : [
          { kind: known[0], word: known[1], message: scalarOf(sentence) },
          ...said.filter(({ kind }) => kind === 'warning'),
        ]
  if (first === undefined)
    return [{ kind: 'unknown' as const, word: 'no status yet', message: undefined }]
  return [first, ...others.filter(({ kind }) => kind === 'paused' || kind === 'warning')]
}

/** Whether something still moves by itself, or is paused. */
export function isIn(kind: 'running' | 'paused', view: ManifestView): boolean {
  return pillsOf(view).some((pill) => pill.kind === kind)
}

/** Why it is not as wanted, in sentences: those of the API, else the message of its status. */
export function reasonsOf(view: ManifestView): readonly string[] {
  const given = textsOf(view['reasons'])
  const [first] = pillsOf(view)
  return given.length > 0 || first?.message === undefined || first.kind === 'succeeded'
    ? given
    : [first.message]
}

const podFields = {
  updated: 'updatedReplicas',
  ready: 'readyReplicas',
  available: 'availableReplicas',
}
/** Fields of a status that count pods. */
const rolloutFields: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Deployment: podFields,
  StatefulSet: podFields,
  ReplicaSet: { ...podFields, updated: 'fullyLabeledReplicas' },
  DaemonSet: {
    updated: 'updatedNumberScheduled',
    ready: 'numberReady',
    available: 'numberAvailable',
  },
}

/** How many pods are wanted, and how many are there; undefined for kinds that are not rolled out. */
export function rolloutOf(view: ManifestView) {
  const kind = scalarOf(fieldOf(view, 'kind')) ?? ''
  const count = (field: string) => numberOf(fieldOf(view, `status.${field}`)) ?? 0
  const desired =
    kind === 'DaemonSet'
      ? count('desiredNumberScheduled')
      : (numberOf(fieldOf(view, 'spec.replicas')) ?? 1)
  const fields = rolloutFields[kind]
  return (
    fields && {
      desired,
      parts: Object.entries(fields).map(([word, field]) => ({ word, done: count(field) })),
    }
  )
}

/** A condition, a container or an event. */
export interface StateRow {
  readonly name: string
  readonly status: Status
  /** Why it is so. */
  readonly text: string
  readonly sinceMs: number | undefined
}

/** Conditions that are bad when they are true. */
const badTypes =
  /^(?:Failed|FailureTarget|ReplicaFailure|DisruptionTarget|.*Pressure|NetworkUnavailable)$/

export function conditionsOf(view: ManifestView): readonly StateRow[] {
  return objectsOf(fieldOf(view, 'status.conditions')).map(
    ({ type, status, reason, message, lastTransitionTime }) => {
      const name = scalarOf(type) ?? ''
      const word = scalarOf(status)?.toLowerCase() ?? 'unknown'
      const kind =
        word === 'unknown'
          ? word
          : (word === 'true') === badTypes.test(name)
            ? 'warning'
            : 'succeeded'
      return {
        name,
        status: { kind, word },
        text: joined(': ', reason, message),
        sinceMs: timeOf(lastTransitionTime),
      }
    },
  )
}

function joined(separator: string, ...texts: readonly unknown[]): string {
  return texts.flatMap((text) => scalarOf(text) ?? []).join(separator)
}

/** Newest first. */
export function eventsOf({ events }: ManifestView): readonly StateRow[] {
  const found = objectsOf(events).map((event): StateRow => {
    const { type, reason, message, count, lastTimestamp, eventTime, reportingComponent } = event
    const name =
      scalarOf(fieldAt(event, 'source', 'component')) ?? scalarOf(reportingComponent) ?? ''
    const text = joined(' ', message, Number(count) > 1 && `(${count} times)`)
    const status: Status = {
      kind: type === 'Warning' ? 'warning' : 'succeeded',
      word: scalarOf(reason) ?? '',
    }
    return { name, status, text, sinceMs: timeOf(lastTimestamp) ?? timeOf(eventTime) }
  })
  return found.toSorted((a, b) => (b.sinceMs ?? 0) - (a.sinceMs ?? 0))
}

/** The full name of what manages it, and would take a change back. */
export function ownerOf(view: ManifestView): string | undefined {
  const [owner] = objectsOf(fieldOf(view, 'metadata.ownerReferences'))
  return owner && `${lowerFirst(String(owner['kind']))} ${owner['name']}`
}

export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/** Containers of its pods or its template, init containers first, in the order of their logs. */
export function containerSpecsOf(view: ManifestView): readonly JsonObject[] {
  const specs = ['spec.jobTemplate.spec.template.spec', 'spec.template.spec', 'spec'].map((path) =>
    objectOf(fieldOf(view, path)),
  )
  const { initContainers, containers } =
    specs.find((spec) => Array.isArray(spec['containers'])) ?? {}
  return [...objectsOf(initContainers), ...objectsOf(containers)]
}

/** Containers of a pod, and what became of them. */
export function containersOf(view: ManifestView): readonly StateRow[] {
  const statuses = ['initContainerStatuses', 'containerStatuses'].flatMap((key) =>
    objectsOf(fieldOf(view, `status.${key}`)),
  )
  return containerSpecsOf(view).map((spec) => {
    const status = statuses.find(({ name }) => name === spec['name']) ?? {}
    return { name: scalarOf(spec['name']) ?? '', ...stateOf(status, scalarOf(spec['image']) ?? '') }
  })
}

function stateOf(container: JsonObject, image: string) {
  const row = (kind: Status['kind'], word: string, text: string, since?: unknown) => {
    return { status: { kind, word }, text, sinceMs: timeOf(since) }
  }
  const { running, waiting, terminated } = objectOf(container['state'])
  const last = fieldAt(container, 'lastState', 'terminated')
  const before = last === undefined ? undefined : `The run before ${exitOf(last)}`
  if (terminated !== undefined) {
    const { exitCode, message, finishedAt } = objectOf(terminated)
    if (exitCode === 0) return row('succeeded', 'done', image, finishedAt)
    return row('failed', 'failed', scalarOf(message) ?? `It ${exitOf(terminated)}`, finishedAt)
  }
  if (waiting !== undefined) {
    const { reason, message } = objectOf(waiting)
    const isFailing = /BackOff|Err|Invalid|CannotRun/.test(scalarOf(reason) ?? '')
    return row(
      isFailing ? 'failed' : 'queued',
      'waiting',
      joined('. ', joined(': ', reason, message), before),
    )
  }
  if (running === undefined) return row('queued', 'not started', image)
  const text =
    before === undefined ? image : `${before} ${numberOf(container['restartCount']) ?? 0} restarts.`
  return row(
    container['ready'] === true ? 'succeeded' : 'running',
    'running',
    text,
    fieldAt(running, 'startedAt'),
  )
}

function exitOf(terminated: unknown): string {
  const { exitCode, reason } = objectOf(terminated)
  return `ended with code ${numberOf(exitCode) ?? 0}${scalarOf(reason) === undefined ? '' : ` (${reason})`}.`
}

const annotationsPath = 'metadata.annotations'

/** Load balancers that its traffic annotation names. */
export function trafficOf(view: ManifestView): readonly string[] {
  return textsOf(
    parsed(objectOf(fieldOf(view, annotationsPath))['traffic.spinnaker.io/load-balancers']),
  )
}

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}

const setByCluster =
  /^(?:creationTimestamp|generation|managedFields|ownerReferences|resourceVersion|selfLink|uid)$/
const setByDeployment =
  /^(?:artifact|moniker)\.spinnaker\.io\/|^(?:deployment|kubectl)\.kubernetes\.io\/|^app\.kubernetes\.io\/managed-by$/

/** What users edit: what was deployed last if known, else the object without what others have set. */
export function toEditable(view: ManifestView): JsonObject {
  const last = objectOf(fieldOf(view, annotationsPath))[
    'kubectl.kubernetes.io/last-applied-configuration'
  ]
  const { status: _, ...manifest } = objectOf(parsed(last) ?? view.manifest)
  const marks = objectOf(fieldAt(manifest, ...annotationsPath.split('.')))
  const name = marks['artifact.spinnaker.io/name']
  const edited = withoutMarks(manifest)
  const metadata = objectOf(edited['metadata'])
  // A deployment gives the object its next version, and with it its name.
  const isVersioned = metadata['name'] === `${name}-${marks['artifact.spinnaker.io/version']}`
  return isVersioned ? { ...edited, metadata: { ...metadata, name } } : edited
}

/** Without fields, annotations and labels that every deployment writes anew, also in the templates of pods. */
function withoutMarks(value: JsonObject, isMetadata = false): JsonObject {
  const own = Object.entries(value).flatMap(([key, inner]) => {
    const object = objectOf(inner)
    if (isMetadata && setByCluster.test(key)) return []
    if (object !== inner) return [[key, inner]]
    if (!isMetadata) return [[key, withoutMarks(object, key === 'metadata')]]
    const marks = Object.entries(object).filter(([mark]) => !setByDeployment.test(mark))
    return marks.length === 0 ? [] : [[key, Object.fromEntries(marks)]]
  })
  return Object.fromEntries(own)
}

export function isFullName(name: string): boolean {
  return /^[^ ]+ [^ ]+$/.test(name)
}

export function bareName(name: string): string {
  return name.slice(name.indexOf(' ') + 1)
}

/** Kinds have no case. */
export function isKind(name: string, ...kinds: readonly string[]): boolean {
  return kinds.some((kind) => name.toLowerCase().startsWith(`${kind.toLowerCase()} `))
}

/** Names without a kind, as records of jobs have them, get one. */
export function toFullName(kind: string, name: string): string {
  return isFullName(name) ? name : `${kind} ${name}`
}

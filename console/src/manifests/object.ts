/** What the screens say about an object, read from its manifest and its status. */

import { asGiven, maybe, objectList, or, shape } from '@fairlead/base/json/shape.ts'
import {
  fieldAt,
  isTrue,
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  scalarOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import type { Schemas } from '../api/schema.d.ts'
import type { Status } from '../model/execution.ts'

/** An object as `GET /manifests/{account}/{location}/{name}` has it. */
export type ManifestView = Schemas['Manifest']

export interface ObjectPlace {
  readonly account: string
  /** A namespace; empty for what is of the whole cluster. */
  readonly location: string
  /** Includes its kind. */
  readonly name: string
}

const text = or(scalarOf, '')
const moment = (value: unknown) => timeOf(value)

/** Place in a record of the API, or in the output of a stage. */
export const placeIn: (record: JsonObject) => ObjectPlace = shape({
  account: text,
  location: [text, 'namespace', 'region'],
  name: text,
})

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

const toPart = shape({ state: asGiven, message: scalarOf })
const readStatus = shape({ failed: toPart, paused: toPart, stable: toPart, available: toPart })
const toHealth = shape({ state: text, sentence: scalarOf })

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
  const read = readStatus(parts)
  const said = sayings.flatMap(([part, wanted, kind, word]) => {
    const { state, message } = read[part]
    return state === wanted ? [{ kind, word, message }] : []
  })
  const { state, sentence } = toHealth(view['health'])
  const known = healthPills[state]
  const [first, ...others] =
    known === undefined
      ? said
      : [
          { kind: known[0], word: known[1], message: sentence },
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

const toConditions = objectList(
  shape({
    name: [text, 'type'],
    status: or(scalarOf, 'unknown'),
    reason: scalarOf,
    message: scalarOf,
    sinceMs: [moment, 'lastTransitionTime'],
  }),
)

export function conditionsOf(view: ManifestView): readonly StateRow[] {
  return toConditions(fieldOf(view, 'status.conditions')).map(
    ({ name, status, reason, message, sinceMs }) => {
      const word = status.toLowerCase()
      const kind =
        word === 'unknown'
          ? word
          : (word === 'true') === badTypes.test(name)
            ? 'warning'
            : 'succeeded'
      return { name, status: { kind, word }, text: joined(': ', reason, message), sinceMs }
    },
  )
}

function joined(separator: string, ...texts: readonly (string | undefined)[]) {
  return texts.filter(Boolean).join(separator)
}

const toEvents = objectList(
  shape({
    type: asGiven,
    word: [text, 'reason'],
    message: scalarOf,
    count: or(numberOf, 0),
    sinceMs: [moment, 'lastTimestamp', 'eventTime'],
    source: shape({ component: scalarOf }),
    reportingComponent: text,
  }),
)

/** Newest first. */
export function eventsOf({ events }: ManifestView): readonly StateRow[] {
  const found = toEvents(events).map(
    ({ type, word, message, count, sinceMs, source, reportingComponent }): StateRow => ({
      name: source.component ?? reportingComponent,
      status: { kind: type === 'Warning' ? 'warning' : 'succeeded', word },
      text: joined(' ', message, count > 1 ? `(${count} times)` : undefined),
      sinceMs,
    }),
  )
  return found.toSorted((a, b) => (b.sinceMs ?? 0) - (a.sinceMs ?? 0))
}

/** The full name of what manages it, and would take a change back. */
export function ownerOf(view: ManifestView): string | undefined {
  const [owner] = toOwners(fieldOf(view, 'metadata.ownerReferences'))
  return owner && `${lowerFirst(owner.kind)} ${owner.name}`
}

const toOwners = objectList(shape({ kind: String, name: String }))

export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/** Containers of its pods or its template, init containers first, in the order of their logs. */
export function containerSpecsOf(view: ManifestView): readonly JsonObject[] {
  const specs = ['spec.jobTemplate.spec.template.spec', 'spec.template.spec', 'spec'].map((path) =>
    toPodSpec(fieldOf(view, path)),
  )
  const { initContainers, containers = [] } = specs.find((spec) => spec.containers) ?? {
    initContainers: [],
  }
  return [...initContainers, ...containers]
}

const toPodSpec = shape({ initContainers: objectsOf, containers: maybe(objectsOf) })

/** Containers of a pod, and what became of them. */
export function containersOf(view: ManifestView): readonly StateRow[] {
  const statuses = ['initContainerStatuses', 'containerStatuses'].flatMap((key) =>
    toStatuses(fieldOf(view, `status.${key}`)),
  )
  return containerSpecsOf(view).map((spec) => {
    const { name, image } = toContainer(spec)
    const status = statuses.find((each) => each.name === name) ?? toStatus({})
    return { name, ...stateOf(status, image) }
  })
}

const toContainer = shape({ name: text, image: text })

const toTerminated = maybe(
  shape({
    exitCode: or(numberOf, 0),
    reason: scalarOf,
    message: scalarOf,
    sinceMs: [moment, 'finishedAt'],
  }),
)

const toStatus = shape({
  name: text,
  ready: isTrue,
  restartCount: or(numberOf, 0),
  state: shape({
    running: maybe(shape({ sinceMs: [moment, 'startedAt'] })),
    waiting: maybe(shape({ reason: scalarOf, message: scalarOf })),
    terminated: toTerminated,
  }),
  lastState: shape({ terminated: toTerminated }),
})
const toStatuses = objectList(toStatus)

function stateOf({ state, lastState, ...container }: ReturnType<typeof toStatus>, image: string) {
  const row = (kind: Status['kind'], word: string, text: string, sinceMs?: number) => {
    return { status: { kind, word }, text, sinceMs }
  }
  const { running, waiting, terminated } = state
  const last = lastState.terminated
  const before = last === undefined ? undefined : `The run before ${exitOf(last)}`
  if (terminated !== undefined) {
    const { exitCode, message, sinceMs } = terminated
    if (exitCode === 0) return row('succeeded', 'done', image, sinceMs)
    return row('failed', 'failed', message ?? `It ${exitOf(terminated)}`, sinceMs)
  }
  if (waiting !== undefined) {
    const { reason, message } = waiting
    const isFailing = /BackOff|Err|Invalid|CannotRun/.test(reason ?? '')
    return row(
      isFailing ? 'failed' : 'queued',
      'waiting',
      joined('. ', joined(': ', reason, message), before),
    )
  }
  if (running === undefined) return row('queued', 'not started', image)
  const text = before === undefined ? image : `${before} ${container.restartCount} restarts.`
  return row(container.ready ? 'succeeded' : 'running', 'running', text, running.sinceMs)
}

function exitOf({ exitCode, reason }: NonNullable<ReturnType<typeof toTerminated>>) {
  return `ended with code ${exitCode}${reason === undefined ? '' : ` (${reason})`}.`
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

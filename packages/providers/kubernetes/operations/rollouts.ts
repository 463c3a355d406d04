/** undoRolloutManifest, pauseRolloutManifest, resumeRolloutManifest and rollingRestartManifest. */
import { isDeepStrictEqual } from 'node:util'
import { type Reader, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, objectOf } from '@fairlead/base/json/values.ts'
import {
  annotationOf,
  lastAppliedAnnotation,
  restartedAnnotation,
  revisionAnnotation,
  undoManager,
  writtenByAnnotation,
} from '../manifests/annotations.ts'
import { withoutField } from '../manifests/edit.ts'
import { matchLabelsOf } from '../manifests/selectors.ts'
import { toPodTemplate } from '../objects/pod.ts'
import { toWorkload } from '../objects/workload.ts'
import { applicationAnnotation, isOwnedBy, type KubeObject } from '../objects.ts'
import {
  type ChangedName,
  defineManifestOperation,
  type KubernetesOperation,
  type ManifestRun,
} from './parts.ts'
import { requireChangeable } from './rights.ts'
import {
  aboutObject,
  type Capability,
  describeTargetProblems,
  type LiveTarget,
  manifestFields,
  type ObjectPatch,
  patchTarget,
} from './targets.ts'

interface RolloutTarget extends LiveTarget {
  readonly subject: string
}

interface RolloutOperation<D> extends Capability {
  readonly reads: Reader<D>
  readonly check?: (description: D) => string | undefined
  readonly run: (running: ManifestRun, workload: RolloutTarget, description: D) => Promise<void>
}

const reads = shape(manifestFields)
const toUndo = shape({ ...manifestFields, revision: numberOf, numRevisionsBack: numberOf })
type Undo = ReturnType<typeof toUndo>

const restartable = ['deployment', 'statefulSet', 'daemonSet']

export const undoRolloutManifest = rolloutOperation({
  reads: toUndo,
  kinds: restartable,
  operation: 'undo a rollout of',
  check: ({ revision, numRevisionsBack }) =>
    revision === undefined && numRevisionsBack === undefined
      ? 'revision: name a revision, or how many to go back in numRevisionsBack (revision.empty).'
      : undefined,
  run: undo,
})

export const pauseRolloutManifest = pausing('pause', true)
export const resumeRolloutManifest = pausing('resume', false)
export const rollingRestartManifest = rolloutOperation({
  reads,
  kinds: restartable,
  operation: 'restart',
  run: restart,
})

function rolloutOperation<D extends ChangedName>({
  reads,
  check,
  run,
  ...capability
}: RolloutOperation<D>): KubernetesOperation {
  return defineManifestOperation({
    reads,
    check: (description, account) => [
      ...describeTargetProblems(account, description),
      check?.(description),
    ],
    changes: (description) => [description],
    run: async (running, description) =>
      run(running, await requireChangeable(running, description, capability), description),
  })
}

function pausing(operation: string, isPaused: boolean): KubernetesOperation {
  return rolloutOperation({
    reads,
    kinds: ['deployment'],
    operation,
    async run(running, workload) {
      if (toWorkload(workload.live).spec.paused === isPaused) return
      await patchWorkload(running, workload, { body: { spec: { paused: isPaused } } })
    },
  })
}

async function restart(running: ManifestRun, workload: RolloutTarget): Promise<void> {
  checkNotPaused(workload, 'restarted')
  const { id } = running.run
  if (annotationOf(workload.live, writtenByAnnotation) === id) return
  const now = `${new Date(running.parts.now()).toISOString().slice(0, 19)}Z`
  const body = {
    metadata: { annotations: { [writtenByAnnotation]: id } },
    spec: { template: { metadata: { annotations: { [restartedAnnotation]: now } } } },
  }
  await patchWorkload(running, workload, { body })
}

function checkNotPaused({ live, subject }: RolloutTarget, word: string): void {
  if (!toWorkload(live).spec.paused) return
  throw new Error(`${subject} is paused, so that it cannot be ${word}. Resume its rollout first.`)
}

interface Revision {
  readonly number: number
  /** Undefined: the workload has it already. */
  readonly change: ObjectPatch | undefined
}

async function undo(running: ManifestRun, workload: RolloutTarget, wanted: Undo): Promise<void> {
  checkNotPaused(workload, 'rolled back')
  // Another undo would go to another revision.
  if (annotationOf(workload.live, writtenByAnnotation) === running.run.id) return
  const isDeployment = workload.kind.name === 'deployment'
  const revisions = isDeployment
    ? await templatesOf(running, workload)
    : await controllerRevisionsOf(running, workload)
  const { number, change } = chooseRevision(
    revisions.sort((one, other) => one.number - other.number),
    wanted,
    workload.subject,
  )
  if (change === undefined) return
  running.run.note(`Rolling ${workload.subject} back to revision ${number} …`)
  await patchWorkload(running, workload, { ...change, fieldManager: undoManager })
}

function chooseRevision(
  revisions: readonly Revision[],
  { revision, numRevisionsBack: back = 0 }: Undo,
  subject: string,
): Revision {
  if (revision !== undefined) {
    const found = revisions.find(({ number }) => number === revision)
    if (found !== undefined) return found
    const known = revisions.map(({ number }) => number).join(', ')
    throw new Error(`${subject} has no revision ${revision}; it has ${known || 'none'}.`)
  }
  const found = Number.isInteger(back) && back >= 0 ? revisions.at(-1 - back) : undefined
  if (found !== undefined) return found
  throw new Error(
    `${subject} has ${revisions.length} revisions, so that it cannot go back ${back}.`,
  )
}

const hashLabel = ['metadata', 'labels', 'pod-template-hash']

/** Annotations of replica sets that a rollback does not bring back; above all, the owner stays. */
const ownOfRevision: ReadonlySet<string> = new Set([
  applicationAnnotation,
  lastAppliedAnnotation,
  revisionAnnotation,
  writtenByAnnotation,
  'deployment.kubernetes.io/revision-history',
  'deployment.kubernetes.io/desired-replicas',
  'deployment.kubernetes.io/max-replicas',
  'deprecated.deployment.rollback.to',
])

async function templatesOf(running: ManifestRun, workload: RolloutTarget): Promise<Revision[]> {
  const current = templateOf(workload.live)
  const owned = await listOwned(running, workload, 'replicaSet')
  return owned.flatMap((replicaSet): Revision[] => {
    const number = Number(replicaSet.metadata.annotations?.[revisionAnnotation] ?? Number.NaN)
    if (!Number.isInteger(number)) return []
    const template = templateOf(replicaSet)
    if (isDeepStrictEqual(template, current)) return [{ number, change: undefined }]
    const kept = Object.entries(replicaSet.metadata.annotations ?? {}).filter(
      ([key]) => !ownOfRevision.has(key),
    )
    const annotations = {
      ...workload.live.metadata.annotations,
      ...Object.fromEntries(kept),
      [writtenByAnnotation]: running.run.id,
    }
    const body = [
      { op: 'replace', path: '/spec/template', value: template },
      { op: 'add', path: '/metadata/annotations', value: annotations },
    ]
    return [{ number, change: { body, type: 'json' } }]
  })
}

/** Without the label of a replica set, and without labels where that was the only one. */
function templateOf(workload: KubeObject): JsonObject {
  const { templateAsGiven } = toWorkload(workload).spec
  const template = withoutField(objectOf(templateAsGiven), hashLabel)
  const { labels } = toPodTemplate(template).metadata
  return Object.keys(labels).length === 0
    ? withoutField(template, ['metadata', 'labels'])
    : template
}

const toRevision = shape({ revision: numberOf, data: objectOf })

async function controllerRevisionsOf(
  running: ManifestRun,
  workload: RolloutTarget,
): Promise<Revision[]> {
  const current = toWorkload(workload.live).status.updateRevision
  const owned = await listOwned(running, workload, 'controllerRevision')
  const newest = Math.max(...owned.map((each) => toRevision(each).revision ?? 0))
  return owned.flatMap((each): Revision[] => {
    const { revision: number, data } = toRevision(each)
    if (number === undefined) return []
    // Daemon sets do not report which one is current: it is the newest.
    const isCurrent = current === undefined ? number === newest : each.metadata.name === current
    const annotations = { [writtenByAnnotation]: running.run.id }
    const body = { ...data, metadata: { annotations } }
    return [{ number, change: isCurrent ? undefined : { body, type: 'strategic' } }]
  })
}

async function listOwned(
  { account }: ManifestRun,
  { live, place, subject }: RolloutTarget,
  kind: string,
): Promise<KubeObject[]> {
  const resource = await account.api.find({ kind, group: 'apps' })
  if (resource === undefined) throw new Error(`${subject}: the API server has no kind ${kind}.`)
  const labelSelector = matchLabelsOf(live['spec'])
  const listed = await aboutObject(subject, () =>
    account.api.list(resource, { namespace: place.namespace, labelSelector }),
  )
  return listed.filter((object) => isOwnedBy(object, live))
}

async function patchWorkload(
  running: ManifestRun,
  workload: RolloutTarget,
  patch: ObjectPatch,
): Promise<void> {
  running.account.lists.observe(await patchTarget(running, workload, patch))
}

import { list, or, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { byAge } from '@fairlead/model/environments/running.ts'
import { deploying } from '@fairlead/model/stage-types/manifests.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import type { CloudManifest, PlacedName } from '@fairlead/ports/cloud-values.ts'
import type { Execution, Stage } from '../../model.ts'
import { isHalt } from '../../statuses.ts'
import { hasHandedOver } from '../infrastructure/canary.ts'
import { kubernetes, requireAccount } from '../infrastructure/cloud-context.ts'
import { lastResults, submitOperations } from '../infrastructure/cloud-task.ts'
import { deployedNote, manifestsNote } from '../infrastructure/notes.ts'
import { groupsIn } from '../infrastructure/server-groups.ts'
import { toOperations, usualRemaining } from '../infrastructure/strategy-parts.ts'
import {
  inSequence,
  type NewStage,
  type Step,
  type TaskContext,
  type TaskResult,
} from '../stage-type.ts'
import {
  abortManifestCanary,
  canaryNotes,
  cancelManifestCanary,
  manifestCanaryStages,
  trafficOf,
} from './canary.ts'
import { isLimited } from './clean-up.ts'
import {
  accountContextOf,
  kindOf,
  readManifestHead,
  readOwner,
  toPathLocation,
} from './manifest-context.ts'
import { loadManifest, stabilizeStepName, stableIn } from './stabilize.ts'

const strategies = {
  redblack: 'RED_BLACK',
  bluegreen: 'BLUE_GREEN',
  highlander: 'HIGHLANDER',
  canary: 'CANARY',
} as const
type Strategy = (typeof strategies)[keyof typeof strategies] | 'NONE'

const oldKey = 'deploy.old.manifests'

/** None for a stage without traffic management. */
export function trafficStrategyOf(context: JsonObject): Strategy {
  const { enabled, strategy = '' } = trafficOf(context)
  const name = strategy.toLowerCase().replace(/[^a-z]/g, '')
  return enabled && isStrategy(name) ? strategies[name] : 'NONE'
}

function isStrategy(name: string): name is keyof typeof strategies {
  return Object.hasOwn(strategies, name)
}

/** The fields of the operation that say which services send traffic to what is deployed. */
export function trafficFields(context: JsonObject): JsonObject {
  const { enabled, services, ...options } = trafficOf(context)
  if (!enabled) return { enableTraffic: true }
  const strategy = trafficStrategyOf(context)
  // Its share comes step by step; both versions stay meanwhile.
  if (strategy === 'CANARY') return { services, enableTraffic: false, strategy: 'BLUE_GREEN' }
  // A strategy takes the traffic of older versions away, so that the new one must have it.
  const { enableTraffic = strategy !== 'NONE' } = options
  return { services, enableTraffic, strategy }
}

const text = or(textOf, '')
const readOld = shape({
  old: [
    list(
      shape({
        location: text,
        manifestName: text,
        app: text,
        /** It never served, so that it is deleted rather than disabled. */
        isBroken: isTrue,
        /** It takes no traffic any more. */
        isDisabled: isTrue,
      }),
    ),
    oldKey,
  ],
})
type OldVersion = ReturnType<typeof readOld>['old'][number]
type TrafficTarget = Pick<OldVersion, 'location' | 'manifestName' | 'app'>

/** Finds the older versions of the deployed replica sets. */
export const findOldStep: Step = {
  name: 'findOldVersions',
  timeoutMs: 5 * 60_000,
  execute: async (context): Promise<TaskResult> => {
    const deployed = manifestsNote
      .in(context.stage.context)
      .filter(({ kind }) => kind === 'ReplicaSet')
    const found = await Promise.all(
      deployed.map((manifest) => findOld(context, manifest, deployed)),
    )
    const [first] = trafficStrategyOf(context.stage.context) === 'CANARY' ? deployed : []
    const notes = first && (await canaryNotes(context, first))
    return { status: 'SUCCEEDED', context: { [oldKey]: found.flat(), ...notes } }
  },
}

async function findOld(
  context: TaskContext,
  manifest: JsonObject,
  deployed: readonly JsonObject[],
): Promise<OldVersion[]> {
  const account = requireAccount(context.stage.context)
  const location = readManifestHead(manifest).metadata.namespace
  const { app, cluster } = readOwner(manifest).metadata.annotations
  if (app === undefined || cluster === undefined) return []
  const place = { account, application: app, cluster }
  const names = await context.infrastructure.manifestsOfCluster({
    ...place,
    location,
    kind: 'replicaSet',
  })
  const groups = await groupsIn(context, { ...place, provider: kubernetes }, location)
  const old = names
    .filter((name) => !deployed.some((each) => isNamed(each, name)))
    .map((name) => ({ name, group: groups.find((group) => isSame(group.name, name)) }))
    // What a Deployment controls is its own: it would change it back.
    .filter(({ group }) => (group?.serverGroupManagers ?? []).length === 0)
    .toSorted((one, other) => byAge(one.group ?? {}, other.group ?? {}))
  return Promise.all(
    old.map(async ({ name, group }) => ({
      location,
      manifestName: name,
      app,
      isBroken: isBroken(await loadManifest(context, { account, location, name })),
      isDisabled: group?.isDisabled === true,
    })),
  )
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

function isNamed(manifest: JsonObject, fullName: string): boolean {
  const { kind, metadata } = readManifestHead(manifest)
  return isSame(`${kind} ${metadata.name}`, fullName)
}

const readReplicas = shape({
  status: shape({ readyReplicas: numberOf, availableReplicas: numberOf }),
})

function isBroken(body: CloudManifest | undefined): boolean {
  if (body === undefined || body.status.stable.state || body.status.failed.state) return false
  const { readyReplicas = 0, availableReplicas = 0 } = readReplicas(body.manifest).status
  return readyReplicas === 0 && availableReplicas === 0
}

/** Stages that run, one after another, once the new versions are stable. */
export function oldVersionStages(stage: Stage, execution: Execution): NewStage[] {
  const { old } = readOld(stage.context)
  switch (trafficStrategyOf(stage.context)) {
    case 'NONE':
      return []
    case 'CANARY': {
      const retired = retire(stage, old)
      // The first version, or one that follows disabled ones, gets all of the traffic at once.
      const enabling = () =>
        replicaSetsOf(stage).map((each) => stageOn(stage, 'enableManifest', each))
      return inSequence(
        manifestCanaryStages(stage, execution, retired) ?? [...enabling(), ...retired],
      )
    }
    case 'HIGHLANDER':
      return inSequence(
        ['disableManifest', 'deleteManifest'].flatMap((type) =>
          old.map((each) => stageOn(stage, type, each)),
        ),
      )
    default:
      return inSequence(retire(stage, old))
  }
}

function toTarget({ context }: Stage, { location, name }: PlacedName): TrafficTarget {
  return { location, manifestName: name, app: readApp(context).moniker.app }
}

const readApp = shape({ moniker: shape({ app: text }) })

/** Replica sets among what is deployed. */
function replicaSetsOf(stage: Stage, deployed = deployedNote.in(stage.context)): TrafficTarget[] {
  return deployed
    .filter(({ name }) => kindOf(name) === 'replicaset')
    .map((each) => toTarget(stage, each))
}

/** The former version stays with its pods, so that enabling it is a rollback. @param old Newest first */
function retire(stage: Stage, old: readonly OldVersion[]): NewStage[] {
  const surplus = surplusOf(stage.context, old)
  const { scaleDown } = trafficOf(stage.context)
  return old.flatMap((each) => {
    if (each.isBroken || surplus.includes(each)) return [stageOn(stage, 'deleteManifest', each)]
    return [
      stageOn(stage, 'disableManifest', each),
      ...(scaleDown ? [stageOn(stage, 'scaleManifest', each, { replicas: 0 })] : []),
    ]
  })
}

/** Disabled versions beyond the number that stay; a manifest that limits its own history has said how many. */
function surplusOf(context: JsonObject, old: readonly OldVersion[]): readonly OldVersion[] {
  const hasHistory = manifestsNote.in(context).some(isLimited)
  const { maxRemainingAsgs: most = hasHistory ? 0 : usualRemaining } = trafficOf(context)
  const whole = old.filter(({ isBroken }) => !isBroken)
  const disabled = whole.filter(({ isDisabled }) => isDisabled)
  return most > 0 ? disabled.slice(Math.max(0, most - 1 - (whole.length - disabled.length))) : []
}

const verbs: Readonly<Record<string, string>> = {
  enableManifest: 'Enable',
  disableManifest: 'Disable',
  deleteManifest: 'Delete',
  scaleManifest: 'Scale down',
  undoRolloutManifest: 'Undo rollout of',
}

function stageOn(
  stage: Stage,
  type: string,
  { location, manifestName, app }: TrafficTarget,
  settings: JsonObject = {},
): NewStage {
  // A version without traffic may be as unstable as it likes.
  const patience = type === 'disableManifest' ? { waitUntilStable: false } : {}
  const context = {
    ...accountContextOf(stage),
    app,
    location,
    manifestName,
    ...patience,
    ...settings,
  }
  return { type, name: `${verbs[type]} ${manifestName}`, context }
}

const rolledOut: ReadonlySet<string> = new Set(['deployment', 'statefulset', 'daemonset'])

/** Stages that bring back what ran before, when what was deployed has not become stable, or was stopped as a canary. */
export function undoStages(stage: Stage, execution: Execution): NewStage[] {
  const { context, tasks } = stage
  const stopped =
    trafficStrategyOf(context) === 'CANARY' ? abortManifestCanary(stage, execution) : []
  if (stopped.length > 0) return inSequence(stopped)
  const hasFailed = tasks.some(
    ({ name, status }) =>
      name === stabilizeStepName && (isHalt(status) || status === 'FAILED_CONTINUE'),
  )
  if (!hasFailed) return []
  const isRollback = readFields(deploying, context).rollback.onFailure
  const stable = stableIn(context)
  const unstable = deployedNote
    .in(context)
    .filter(
      ({ location, name }) =>
        !stable.some(
          (each) => each.manifestName === name && each.location === toPathLocation(location),
        ),
    )
  return inSequence(
    unstable.flatMap((each): NewStage[] => {
      const kind = kindOf(each.name)
      if (rolledOut.has(kind) && isRollback) {
        const settings = { numRevisionsBack: 1, onlyWithEarlierRevision: true }
        return [stageOn(stage, 'undoRolloutManifest', toTarget(stage, each), settings)]
      }
      return kind === 'replicaset' &&
        trafficOf(context).enabled &&
        !isOlder(stage, each.name, manifestsNote.in(context))
        ? [stageOn(stage, 'disableManifest', toTarget(stage, each))]
        : []
    }),
  )
}

/** Clocks of clusters may differ by so much. */
const skewMs = 60_000

/** It existed before the stage, which has deployed the same once more: it may be what serves. */
function isOlder(
  { startTime = 0 }: Stage,
  name: string,
  manifests: readonly JsonObject[],
): boolean {
  const found = manifests.find((each) => isNamed(each, name))
  return Date.parse(readManifestHead(found).metadata.creationTimestamp ?? '') < startTime - skewMs
}

/** Takes the traffic of new versions away when the stage was cancelled before older ones lost theirs. */
export async function cancelManifests(context: TaskContext): Promise<void> {
  const { stage } = context
  if (trafficStrategyOf(stage.context) === 'CANARY') return cancelManifestCanary(context)
  if (!trafficOf(stage.context).enabled || hasHandedOver(context)) return
  const noted = deployedNote.in(stage.context)
  // Also by an operation that ran when the stage was cancelled.
  const results = noted.length > 0 ? [] : await lastResults(context)
  const deployed = [...noted, ...results.flatMap(({ manifestNames }) => manifestNames)]
  const manifests = [
    ...manifestsNote.in(stage.context),
    ...results.flatMap((result) => result.manifests),
  ]
  const created = replicaSetsOf(stage, deployed).filter(
    ({ manifestName }) => !isOlder(stage, manifestName, manifests),
  )
  if (created.length === 0) return
  const stages = created.map((each) => stageOn(stage, 'disableManifest', each))
  await submitOperations(context, 'abortDeployment', toOperations(stages), kubernetes)
}

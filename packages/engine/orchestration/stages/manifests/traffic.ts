import { fieldAt, isTrue, type JsonObject, listOf, numberOf, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import type { CloudServerGroup } from '@fairlead/ports/cloud-values.ts'
import { type Execution, isFalse, type Stage } from '../../model.ts'
import { isHalt } from '../../statuses.ts'
import { hasHandedOver } from '../infrastructure/canary.ts'
import { kubernetes, requireAccount } from '../infrastructure/cloud-context.ts'
import { lastResults, submitOperations } from '../infrastructure/cloud-task.ts'
import { toOperations } from '../infrastructure/recreate.ts'
import { inPlace } from '../infrastructure/server-groups.ts'
import { usualRemaining } from '../infrastructure/strategy-parts.ts'
import { inSequence, type NewStage, type Step, type TaskContext, type TaskResult } from '../stage-type.ts'
import { abortManifestCanary, canaryNotes, cancelManifestCanary, manifestCanaryStages, trafficOptionsOf } from './canary.ts'
import { isLimited } from './clean-up.ts'
import { kindOf, toPathLocation } from './manifest-context.ts'
import { deployedNames } from './promote-outputs.ts'
import { loadManifest, stabilizeStepName } from './stabilize.ts'
import { toFullName } from './target.ts'

type Strategy = 'NONE' | 'RED_BLACK' | 'BLUE_GREEN' | 'HIGHLANDER' | 'CANARY'

const strategies: Readonly<Record<string, Strategy>> = {
  redblack: 'RED_BLACK',
  bluegreen: 'BLUE_GREEN',
  highlander: 'HIGHLANDER',
  canary: 'CANARY',
}
const oldKey = 'deploy.old.manifests'
const prefix = 'moniker.spinnaker.io/'

/** Those of a stage without traffic management are none. */
export function trafficStrategyOf(context: JsonObject): Strategy {
  const management = objectOf(context['trafficManagement'])
  const name = textOf(objectOf(management['options'])['strategy'])
    ?.toLowerCase()
    .replace(/[^a-z]/g, '')
  return isTrue(management['enabled']) && name !== undefined && Object.hasOwn(strategies, name)
    ? (strategies[name] as Strategy)
    : 'NONE'
}

/** The fields of the operation that say which services send traffic to what is deployed. */
export function trafficFields(context: JsonObject): JsonObject {
  const management = objectOf(context['trafficManagement'])
  if (!isTrue(management['enabled'])) return { enableTraffic: true }
  const options = trafficOptionsOf(context)
  const strategy = trafficStrategyOf(context)
  // Its share comes step by step; both versions stay meanwhile.
  if (strategy === 'CANARY') return { services: listOf(options['services']), enableTraffic: false, strategy: 'BLUE_GREEN' }
  // A strategy takes the traffic of older versions away, so that the new one must have it.
  const { enableTraffic = strategy !== 'NONE' } = options
  return { services: listOf(options['services']), enableTraffic: isTrue(enableTraffic), strategy }
}

interface OldVersion {
  readonly location: string
  readonly manifestName: string
  readonly app: string
  /** It never served, so that it is deleted rather than disabled. */
  readonly isBroken: boolean
  /** It takes no traffic any more. */
  readonly isDisabled: boolean
}

/** Finds the older versions of the deployed replica sets. */
export const findOldStep: Step = {
  name: 'findOldVersions',
  timeoutMs: 5 * 60_000,
  execute: async (context): Promise<TaskResult> => {
    const deployed = objectsOf(context.stage.context['outputs.manifests']).filter(({ kind }) => kind === 'ReplicaSet')
    const found = await Promise.all(deployed.map((manifest) => findOld(context, manifest, deployed)))
    const [first] = trafficStrategyOf(context.stage.context) === 'CANARY' ? deployed : []
    const notes = first === undefined ? {} : await canaryNotes(context, first)
    return { status: 'SUCCEEDED', context: { [oldKey]: found.flat(), ...notes } }
  },
}

async function findOld(context: TaskContext, manifest: JsonObject, deployed: readonly JsonObject[]): Promise<OldVersion[]> {
  const account = requireAccount(context.stage.context)
  const location = String(fieldAt(manifest, 'metadata', 'namespace'))
  const [app, cluster] = ['application', 'cluster'].map((part) => fieldAt(manifest, 'metadata', 'annotations', prefix + part))
  if (typeof app !== 'string' || typeof cluster !== 'string') return []
  const wanted = { account, location, kind: 'replicaSet', application: app, cluster }
  const manifests = await context.infrastructure.manifestsOfCluster(wanted)
  const isNew = (name: string) =>
    deployed.some(({ metadata }) => `replicaset ${String(fieldAt(metadata, 'name'))}` === name.toLowerCase())
  const names = manifests.flatMap((each) => toFullName(each, 'replicaSet') ?? [])
  const groups = inPlace(
    (await context.infrastructure.cluster({ application: app, provider: kubernetes, account, cluster })) ?? [],
    location,
  )
  const old = names.filter((name) => !isNew(name)).map((name) => ({ name, group: groups.find((group) => isSame(group, name)) }))
  return Promise.all(
    old
      .toSorted((one, other) => (other.group?.createdTime ?? 0) - (one.group?.createdTime ?? 0))
      .map(async ({ name, group }) => ({
        location,
        manifestName: name,
        app,
        isBroken: isBroken(await loadManifest(context, { account, location, name })),
        isDisabled: group?.isDisabled === true,
      })),
  )
}

function isSame(group: CloudServerGroup, name: string): boolean {
  return group.name.toLowerCase() === name.toLowerCase()
}

function isBroken(body: JsonObject | undefined): boolean {
  const isState = (key: string) => isTrue(fieldAt(body, 'status', key, 'state'))
  const count = (key: string) => numberOf(fieldAt(body, 'manifest', 'status', key)) ?? 0
  return (
    body !== undefined &&
    !isState('stable') &&
    !isState('failed') &&
    count('readyReplicas') === 0 &&
    count('availableReplicas') === 0
  )
}

/** Stages that run, one after another, once the new versions are stable. */
export function oldVersionStages(stage: Stage, execution: Execution): NewStage[] {
  const old = listOf(stage.context[oldKey]) as OldVersion[]
  const strategy = trafficStrategyOf(stage.context)
  if (strategy === 'NONE') return []
  if (strategy === 'CANARY') {
    const retired = retire(stage, old)
    return inSequence(manifestCanaryStages(stage, execution, retired) ?? [...enableDeployed(stage), ...retired])
  }
  if (strategy === 'HIGHLANDER') {
    return inSequence([
      ...old.map((each) => stageOn(stage, 'disableManifest', each)),
      ...old.map((each) => stageOn(stage, 'deleteManifest', each)),
    ])
  }
  return inSequence(retire(stage, old))
}

/** The first version, or one that follows disabled ones, gets all of the traffic at once. */
function enableDeployed(stage: Stage): NewStage[] {
  const { context } = stage
  const app = String(fieldAt(context, 'moniker', 'app') ?? '')
  return deployedNames(context)
    .filter(({ name }) => kindOf(name) === 'replicaset')
    .map(({ location, name }) => stageOn(stage, 'enableManifest', { location, manifestName: name, app }))
}

/** The former version stays with its pods, so that enabling it is a rollback. @param old Newest first */
function retire(stage: Stage, old: readonly OldVersion[]): NewStage[] {
  const surplus = surplusOf(stage.context, old)
  const scaleDown = isTrue(trafficOptionsOf(stage.context)['scaleDown'])
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
  const hasHistory = objectsOf(context['outputs.manifests']).some(isLimited)
  const most = numberOf(trafficOptionsOf(context)['maxRemainingAsgs']) ?? (hasHistory ? 0 : usualRemaining)
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
  { location, manifestName, app }: Pick<OldVersion, 'location' | 'manifestName' | 'app'>,
  settings: JsonObject = {},
): NewStage {
  const account = requireAccount(stage.context)
  const place = { account, credentials: account, app, cloudProvider: kubernetes, location, manifestName }
  // A version without traffic may be as unstable as it likes.
  const patience = type === 'disableManifest' ? { waitUntilStable: false } : {}
  return { type, name: `${verbs[type]} ${manifestName}`, context: { ...place, ...patience, ...settings } }
}

const rolledOut: ReadonlySet<string> = new Set(['deployment', 'statefulset', 'daemonset'])

/** Stages that bring back what ran before, when what was deployed has not become stable, or was stopped as a canary. */
export function undoStages(stage: Stage, execution: Execution): NewStage[] {
  const { context, tasks } = stage
  const stopped = trafficStrategyOf(context) === 'CANARY' ? abortManifestCanary(stage, execution) : []
  if (stopped.length > 0) return inSequence(stopped)
  const hasFailed = tasks.some(
    ({ name, status }) => name === stabilizeStepName && (isHalt(status) || status === 'FAILED_CONTINUE'),
  )
  if (!hasFailed) return []
  const isRollback = !isFalse(objectOf(context['rollback'])['onFailure'])
  const app = String(fieldAt(context, 'moniker', 'app') ?? '')
  const isStable = ({ location, name }: { location: string; name: string }) =>
    objectsOf(context['stableManifests']).some(
      (each) => each['manifestName'] === name && each['location'] === toPathLocation(location),
    )
  const unstable = deployedNames(context).filter((each) => !isStable(each))
  return inSequence(
    unstable.flatMap(({ location, name }): NewStage[] => {
      const target = { location, manifestName: name, app }
      const kind = kindOf(name)
      if (rolledOut.has(kind) && isRollback)
        return [stageOn(stage, 'undoRolloutManifest', target, { numRevisionsBack: 1, onlyWithEarlierRevision: true })]
      return kind === 'replicaset' && isManaged(context) && !isOlder(stage, name)
        ? [stageOn(stage, 'disableManifest', target)]
        : []
    }),
  )
}

function isManaged(context: JsonObject): boolean {
  return isTrue(objectOf(context['trafficManagement'])['enabled'])
}

/** Clocks of clusters may differ by so much. */
const skewMs = 60_000

/** It existed before the stage, which has deployed the same once more: it may be what serves. */
function isOlder({ context, startTime }: Stage, name: string, manifests = context['outputs.manifests']): boolean {
  const found = objectsOf(manifests).find(
    ({ kind, metadata }) => `${String(kind)} ${String(fieldAt(metadata, 'name'))}`.toLowerCase() === name.toLowerCase(),
  )
  const created = Date.parse(String(fieldAt(found, 'metadata', 'creationTimestamp')))
  return created < (startTime ?? 0) - skewMs
}

/** Takes the traffic of new versions away when the stage was cancelled before older ones lost theirs. */
export async function cancelManifests(context: TaskContext): Promise<void> {
  const { stage } = context
  if (trafficStrategyOf(stage.context) === 'CANARY') return cancelManifestCanary(context)
  if (!isManaged(stage.context) || hasHandedOver(context)) return
  const app = String(fieldAt(stage.context, 'moniker', 'app') ?? '')
  const { names, manifests } = await lastDeployed(context)
  const created = names.filter(({ name }) => kindOf(name) === 'replicaset' && !isOlder(stage, name, manifests))
  if (created.length === 0) return
  const stages = created.map(({ location, name }) => stageOn(stage, 'disableManifest', { location, manifestName: name, app }))
  await submitOperations(context, 'abortDeployment', toOperations(stages), kubernetes)
}

/** Also by an operation that ran when the stage was cancelled. */
async function lastDeployed(context: TaskContext): Promise<{ names: { location: string; name: string }[]; manifests: unknown }> {
  const known = context.stage.context
  const names = deployedNames(known)
  if (names.length > 0) return { names, manifests: known['outputs.manifests'] }
  const results = await lastResults(context)
  return {
    names: results.flatMap((result) => deployedNames({ 'outputs.manifestNamesByNamespace': result['manifestNamesByNamespace'] })),
    manifests: results.flatMap((result) => objectsOf(result['manifests'])),
  }
}

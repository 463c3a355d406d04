/** Stages that work on the server groups of a cluster: disable, shrink, scale down (docs/contracts/infrastructure.md#cluster-stages). */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { byAge } from '@fairlead/model/environments/running.ts'
import { type Effect, effectsKey } from '@fairlead/model/stage-types/effect.ts'
import { clusterChoices } from '@fairlead/model/stage-types/infrastructure.ts'
import { readFields, type ValuesOf } from '@fairlead/model/stage-types/read-fields.ts'
import type { CloudServerGroup } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import { inheritedContext, type StageType, type TaskContext } from '../stage-type.ts'
import {
  effectOn,
  kubernetes,
  requirePlaces,
  type ServerGroupTarget,
  stageProviderOf,
  stageTargetFields,
} from './cloud-context.ts'
import { monitorStep, submitStep } from './cloud-task.ts'
import { chosenNote, createdNote, keptNote } from './notes.ts'
import { refreshServerGroups } from './server-group-operations.ts'
import { inPlace, newestFirst, requireClusterPlace, servesAsGroup } from './server-groups.ts'
import { empty } from './strategy-parts.ts'
import { checkTrafficGuards } from './traffic-guard.ts'
import { type TargetsOf, waitAllDownStep, waitEmptyStep, waitGoneStep } from './waits.ts'

type ClusterSettings = ValuesOf<typeof clusterChoices>

function settingsOf(context: JsonObject): ClusterSettings {
  return readFields(clusterChoices, context)
}

/** Server groups of a place from which a stage may choose, and how many others stay. */
interface GroupCandidates {
  readonly groups: readonly CloudServerGroup[]
  readonly kept: number
}

const chosenTargets: TargetsOf = ({ stage }) => chosenNote.in(stage.context)

/** How long connections have to drain when a whole cluster is disabled, in seconds; providers whose disable waits need none. */
const usualDrainSeconds = 90

const shrinkCluster = clusterStage('shrinkCluster', {
  operation: 'destroyServerGroup',
  effect: { kind: 'destroyed' },
  doing: 'destroying',
  choose: (
    { shrinkToSize: size, allowDeleteActive: withActive, retainLargerOverNewer: largerFirst },
    candidates,
  ) => surplus(candidates, { size, withActive, largerFirst }),
  // Deployments do not wait for connections of former versions.
  wait: waitGoneStep(chosenTargets, true),
})

export const clusterStages: readonly StageType[] = [
  clusterStage('disableCluster', {
    operation: 'disableServerGroup',
    effect: { kind: 'disabled' },
    doing: 'disabling',
    choose: (
      { remainingEnabledServerGroups: remaining, preferLargerOverNewer: largerFirst },
      { groups, kept },
    ) => ordered(groups.filter(isActive), { largerFirst }).slice(Math.max(0, remaining - kept)),
    wait: waitAllDownStep(chosenTargets, ({ stage }) => drainMs(stage.context)),
  }),
  {
    ...shrinkCluster,
    beforeStages: (stage) => {
      const { allowDeleteActive, shrinkToSize, retainLargerOverNewer } = settingsOf(stage.context)
      const context = {
        ...inheritedContext(stage),
        remainingEnabledServerGroups: shrinkToSize,
        preferLargerOverNewer: retainLargerOverNewer,
      }
      return allowDeleteActive ? [{ type: 'disableCluster', name: 'Disable cluster', context }] : []
    },
  },
  clusterStage('scaleDownCluster', {
    operation: 'resizeServerGroup',
    fields: { capacity: empty },
    effect: { kind: 'resized', desired: 0 },
    doing: 'scaling down',
    choose: (
      {
        remainingFullSizeServerGroups: size,
        allowScaleDownActive: withActive,
        preferLargerOverNewer: largerFirst,
      },
      candidates,
    ) => surplus(candidates, { size, withActive, largerFirst }),
    wait: waitEmptyStep(chosenTargets, true),
  }),
]

interface ClusterOperation {
  readonly operation: string
  readonly fields?: JsonObject
  readonly effect: Pick<Effect, 'kind' | 'desired'>
  readonly doing: string
  readonly choose: (
    settings: ClusterSettings,
    candidates: GroupCandidates,
  ) => readonly CloudServerGroup[]
  readonly wait: StageType['steps'][number]
}

function clusterStage(
  type: string,
  { operation, fields = {}, effect, doing, choose, wait }: ClusterOperation,
): StageType {
  return {
    type,
    steps: [
      submitStep(type, async (context) => {
        const targets = await chooseTargets(context, choose)
        await checkTrafficGuards(context, { targets, doing })
        return {
          operations: targets.map((target) => ({
            [operation]: { ...stageTargetFields(target), ...fields },
          })),
          context: {
            ...chosenNote.as(targets),
            [effectsKey]: targets.map((target) => effectOn(context, target, effect)),
          },
        }
      }),
      monitorStep(),
      refreshServerGroups(chosenTargets),
      wait,
      refreshServerGroups(chosenTargets, 'refreshAfterWait'),
    ],
  }
}

async function chooseTargets(
  context: TaskContext,
  choose: ClusterOperation['choose'],
): Promise<ServerGroupTarget[]> {
  const settings = settingsOf(context.stage.context)
  const place = requireClusterPlace(context.stage.context, context)
  const { provider, account, cluster } = place
  const regions = requirePlaces(context.stage.context)
  const groups = await context.infrastructure.cluster(place)
  if (groups === undefined) {
    if (settings.continueIfClusterNotFound || settings.shrinkToSize === 0) return []
    throw new StageError([`The cluster ${cluster} was not found in the account ${account}.`])
  }
  const kept = keptNote.in(context.stage.context)
  return regions.flatMap((region) => {
    const here = inPlace(groups, region)
    // Server groups that the enclosing deployment has created.
    const created = createdNote
      .around(context)
      .flatMap(({ location, name }) => (location === region ? name : []))
    const candidates = withoutProtected(here, created).filter(({ name }) => !kept.includes(name))
    const chosen = choose(settings, { groups: candidates, kept: here.length - candidates.length })
    return chosen.map((group) => ({ provider, account, region: group.region, name: group.name }))
  })
}

/** Neither what the enclosing deployment has created nor anything newer is touched. */
function withoutProtected(
  groups: readonly CloudServerGroup[],
  created: readonly string[],
): CloudServerGroup[] {
  const isCreated = ({ name }: CloudServerGroup) => created.includes(name)
  const oldest = newestFirst(groups.filter(isCreated)).at(-1)
  return groups.filter(
    (group) => !isCreated(group) && (oldest === undefined || byAge(oldest, group) < 0),
  )
}

function isActive(group: CloudServerGroup): boolean {
  const { isDisabled, instances } = group
  return (
    !isDisabled ||
    (!servesAsGroup(group) && instances.some(({ healthState }) => healthState === 'Up'))
  )
}

interface Surplus {
  /** How many stay, with those that are no candidates. */
  readonly size: number
  /** Whether those that take traffic are candidates. */
  readonly withActive: boolean
  readonly largerFirst: boolean
}

function surplus(
  { groups, kept }: GroupCandidates,
  { size, withActive, largerFirst }: Surplus,
): CloudServerGroup[] {
  const candidates = groups.filter((group) => withActive || !isActive(group))
  const others = kept + groups.length - candidates.length
  return ordered(candidates, { activeFirst: withActive, largerFirst }).slice(
    Math.max(0, size - others),
  )
}

/** In the order in which they are kept. */
function ordered(
  groups: readonly CloudServerGroup[],
  { activeFirst = false, largerFirst = false },
): CloudServerGroup[] {
  return groups.toSorted(
    (one, other) =>
      (activeFirst ? Number(isActive(other)) - Number(isActive(one)) : 0) ||
      (largerFirst ? other.instances.length - one.instances.length : 0) ||
      byAge(one, other),
  )
}

function drainMs(context: JsonObject): number {
  const provider = stageProviderOf(context)
  // Kubernetes lets the connections of each pod drain when it ends, and an instance of this machine is down only once its own have ended.
  const isDrained = provider === kubernetes || provider === standalone.provider
  return (settingsOf(context).drainSeconds ?? (isDrained ? 0 : usualDrainSeconds)) * 1000
}

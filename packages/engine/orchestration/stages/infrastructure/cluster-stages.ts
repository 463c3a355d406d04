/** Stages that work on the server groups of a cluster: disable, shrink, scale down (docs/contracts/infrastructure.md#cluster-stages). */

import { isTrue, type JsonObject, numberOf, objectOf, textsOf } from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { type Effect, effectsKey } from '@fairlead/model/stage-types/effect.ts'
import type { CloudServerGroup } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import { inheritedContext, type NewStage, type StageType, type TaskContext } from '../stage-type.ts'
import {
  effectOn,
  kubernetes,
  requirePlaces,
  type ServerGroupTarget,
  stageProviderOf,
  stageTargetFields,
} from './cloud-context.ts'
import { monitorStep, submitStep } from './cloud-task.ts'
import { refreshServerGroups } from './server-group-operations.ts'
import { compareAge, inPlace, newestFirst, requireClusterPlace, servesAsGroup } from './server-groups.ts'
import { checkTrafficGuards } from './traffic-guard.ts'
import { waitAllDownStep, waitEmptyStep, waitGoneStep } from './waits.ts'

/** Server groups of a place from which a stage may choose, and how many others stay. */
interface Candidates {
  readonly groups: readonly CloudServerGroup[]
  readonly kept: number
}

type Choice = (settings: JsonObject, candidates: Candidates) => readonly CloudServerGroup[]

/** How long connections have to drain when a whole cluster is disabled, in seconds; providers whose disable waits need none. */
const drainSeconds = 90

export const clusterStages: readonly StageType[] = [
  clusterStage('disableCluster', {
    operation: 'disableServerGroup',
    effect: { kind: 'disabled' },
    doing: 'disabling',
    choose: (settings, { groups, kept }) => {
      const remaining = numberOf(settings['remainingEnabledServerGroups']) ?? 1
      const active = ordered(groups.filter(isActive), { largerFirst: isTrue(settings['preferLargerOverNewer']) })
      return active.slice(Math.max(0, remaining - kept))
    },
    wait: waitAllDownStep(chosenTargets, ({ stage }) => drainMs(stage.context)),
  }),
  {
    ...clusterStage('shrinkCluster', {
      operation: 'destroyServerGroup',
      effect: { kind: 'destroyed' },
      doing: 'destroying',
      choose: (settings, candidates) =>
        surplus(candidates, {
          size: numberOf(settings['shrinkToSize']) ?? 1,
          withActive: isTrue(settings['allowDeleteActive']),
          largerFirst: isTrue(settings['retainLargerOverNewer']),
        }),
      wait: waitGoneStep(chosenTargets),
    }),
    beforeStages: (stage): NewStage[] =>
      isTrue(stage.context['allowDeleteActive'])
        ? [
            {
              type: 'disableCluster',
              name: 'Disable cluster',
              context: {
                ...inheritedContext(stage),
                remainingEnabledServerGroups: stage.context['shrinkToSize'] ?? 1,
                preferLargerOverNewer: stage.context['retainLargerOverNewer'],
              },
            },
          ]
        : [],
  },
  clusterStage('scaleDownCluster', {
    operation: 'resizeServerGroup',
    fields: { capacity: { min: 0, max: 0, desired: 0 } },
    effect: { kind: 'resized', desired: 0 },
    doing: 'scaling down',
    choose: (settings, candidates) =>
      surplus(candidates, {
        size: numberOf(settings['remainingFullSizeServerGroups']) ?? 1,
        withActive: isTrue(settings['allowScaleDownActive']),
        largerFirst: isTrue(settings['preferLargerOverNewer']),
      }),
    wait: waitEmptyStep(chosenTargets),
  }),
]

interface ClusterOperation {
  readonly operation: string
  readonly fields?: JsonObject
  readonly effect: Pick<Effect, 'kind' | 'desired'>
  readonly doing: string
  readonly choose: Choice
  readonly wait: StageType['steps'][number]
}

function clusterStage(type: string, { operation, fields = {}, effect, doing, choose, wait }: ClusterOperation): StageType {
  return {
    type,
    steps: [
      submitStep(type, type.toLowerCase(), async (context) => {
        const targets = await chooseTargets(context, choose)
        const submitted = {
          operations: targets.map((target) => ({ [operation]: { ...stageTargetFields(target), ...fields } })),
          context: {
            chosenServerGroups: targets,
            [effectsKey]: targets.map((target) => effectOn(context, target, effect)),
          },
        }
        await checkTrafficGuards(context, { targets, doing })
        return submitted
      }),
      monitorStep(),
      refreshServerGroups(chosenTargets),
      wait,
      refreshServerGroups(chosenTargets, 'refreshAfterWait'),
    ],
  }
}

/** What the first step has chosen. */
function chosenTargets({ stage }: TaskContext): ServerGroupTarget[] {
  const chosen = stage.context['chosenServerGroups']
  return Array.isArray(chosen) ? (chosen as ServerGroupTarget[]) : []
}

async function chooseTargets(context: TaskContext, choose: Choice): Promise<ServerGroupTarget[]> {
  const settings = context.stage.context
  const place = requireClusterPlace(settings, context)
  const { provider, account, cluster } = place
  const regions = requirePlaces(settings)
  const groups = await context.infrastructure.cluster(place)
  if (groups === undefined) {
    if (isTrue(settings['continueIfClusterNotFound']) || numberOf(settings['shrinkToSize']) === 0) return []
    throw new StageError([`The cluster ${cluster} was not found in the account ${account}.`])
  }
  return regions.flatMap((region) => {
    const here = inPlace(groups, region)
    // Server groups that the enclosing deployment has created.
    const created = textsOf(objectOf(context.read('deploy.server.groups'))[region])
    const kept = textsOf(settings['keptServerGroups'])
    const candidates = withoutProtected(here, created).filter(({ name }) => !kept.includes(name))
    return choose(settings, { groups: candidates, kept: here.length - candidates.length }).map((group) => ({
      provider,
      account,
      region: group.region,
      name: group.name,
    }))
  })
}

/** Neither what the enclosing deployment has created nor anything newer is touched. */
function withoutProtected(groups: readonly CloudServerGroup[], created: readonly string[]): CloudServerGroup[] {
  const isCreated = ({ name }: CloudServerGroup) => created.includes(name)
  const oldest = newestFirst(groups.filter(isCreated)).at(-1)
  return groups.filter((group) => !isCreated(group) && (oldest === undefined || compareAge(oldest, group) < 0))
}

function isActive(group: CloudServerGroup): boolean {
  const { isDisabled, instances } = group
  return !isDisabled || (!servesAsGroup(group) && instances.some(({ healthState }) => healthState === 'Up'))
}

interface Surplus {
  /** How many stay, with those that are no candidates. */
  readonly size: number
  /** Whether those that take traffic are candidates. */
  readonly withActive: boolean
  readonly largerFirst: boolean
}

function surplus({ groups, kept }: Candidates, { size, withActive, largerFirst }: Surplus): CloudServerGroup[] {
  const candidates = groups.filter((group) => withActive || !isActive(group))
  const others = kept + groups.length - candidates.length
  return ordered(candidates, { activeFirst: withActive, largerFirst }).slice(Math.max(0, size - others))
}

/** In the order in which they are kept. */
function ordered(groups: readonly CloudServerGroup[], { activeFirst = false, largerFirst = false }): CloudServerGroup[] {
  return groups.toSorted(
    (one, other) =>
      (activeFirst ? Number(isActive(other)) - Number(isActive(one)) : 0) ||
      (largerFirst ? other.instances.length - one.instances.length : 0) ||
      compareAge(one, other),
  )
}

function drainMs(settings: JsonObject): number {
  const own = numberOf(settings['drainSeconds'])
  const provider = stageProviderOf(settings)
  // Kubernetes lets the connections of each pod drain when it ends, and an instance of this machine is down only once its own have ended.
  const isDrained = provider === kubernetes || provider === standalone.provider
  return (own ?? (isDrained ? 0 : drainSeconds)) * 1000
}

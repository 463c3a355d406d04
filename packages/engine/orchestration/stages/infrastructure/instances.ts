/** Stages on single instances: terminate, reboot, detach, register with load balancers, and deregister. */
import { or, shape } from '@fairlead/base/json/shape.ts'
import { numberOf, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { CloudInstance } from '@fairlead/ports/cloud-values.ts'
import type { InstancePlace } from '@fairlead/ports/infrastructure.ts'
import { StageError } from '../../machine/failure.ts'
import type { StageType, Step, TaskContext } from '../stage-type.ts'
import { locationOf, serverGroupNameOf } from './cloud-context.ts'
import { hourMs, monitorStep, submitStep } from './cloud-task.ts'
import { withoutNotes } from './notes.ts'
import { healthTypesOf, isDown, isInstanceUp } from './server-groups.ts'
import { checkTrafficGuards } from './traffic-guard.ts'
import { followStarts, waitStep } from './waits.ts'

const balancerHealth = ['LoadBalancer', 'TargetGroup']

interface InstanceStage {
  /** Whether the instances go out of traffic. */
  readonly guards?: true
  readonly wait?: Step
  /** An instance that restarts keeps its id, and tells by its launch time. */
  readonly notesLaunches?: true
}

const terminated: InstanceStage = { guards: true, wait: waitTerminated() }

export const instanceStages: readonly StageType[] = [
  instanceStage('terminateInstances', terminated),
  instanceStage('terminateInstanceAndDecrementServerGroup', terminated),
  instanceStage('detachInstances', { guards: true }),
  instanceStage('rebootInstances', { wait: waitForRestart(), notesLaunches: true }),
  instanceStage('registerInstancesWithLoadBalancer', {
    wait: waitForInstances(
      'waitForUpInstanceHealth',
      (instance) => instance !== undefined && isInstanceUp(instance, balancerHealth),
    ),
  }),
  instanceStage('deregisterInstancesFromLoadBalancer', {
    guards: true,
    wait: waitForInstances(
      'waitForDownInstanceHealth',
      (instance) => instance === undefined || isDown(instance, balancerHealth),
    ),
  }),
  instanceStage('enableInstancesInDiscovery', {}),
  instanceStage('disableInstancesInDiscovery', { guards: true }),
]

const readStage = shape({
  instanceIds: textsOf,
  instance: textOf,
  asgName: textOf,
  /** Just before their end, in milliseconds since the epoch. */
  terminatedAt: or(numberOf, 0),
  launchTimes: objectOf,
})

function instanceStage(type: string, { guards, wait, notesLaunches }: InstanceStage): StageType {
  const submit = submitStep(type, async (context) => {
    const settings = context.stage.context
    const instanceIds = instancesOf(context).map(({ id }) => id)
    if (instanceIds.length === 0 && readStage(settings).asgName === undefined)
      throw new StageError(['The stage names no instances: set "instanceIds".'])
    const name = serverGroupNameOf(settings)
    if (guards && name !== undefined) {
      const doing = `removing the instances ${instanceIds.join(', ')} of`
      await checkTrafficGuards(context, {
        targets: [{ ...locationOf(settings), name }],
        instanceIds,
        doing,
      })
    }
    return {
      operations: [{ [type]: withoutNotes(settings) }],
      context: {
        terminatedAt: context.now,
        ...(notesLaunches && { launchTimes: await launchTimes(context) }),
      },
    }
  })
  return { type, steps: [submit, monitorStep(), ...(wait === undefined ? [] : [wait])] }
}

/** Instances that the stage names. @throws {StageError} when it names no account or region */
function instancesOf({ stage }: TaskContext): InstancePlace[] {
  const { instanceIds, instance } = readStage(stage.context)
  const { account, region } = locationOf(stage.context)
  return (instanceIds.length > 0 || instance === undefined ? instanceIds : [instance]).map(
    (id) => ({ id, account, region }),
  )
}

/** Waits until each instance is as `isReached` says; undefined: the service does not know it. */
function waitForInstances(
  name: string,
  isReached: (instance: CloudInstance | undefined) => boolean,
): Step {
  return waitStep(name, hourMs, async (context) => {
    for (const place of instancesOf(context)) {
      if (!isReached(await context.infrastructure.instance(place)))
        return `the instance ${place.id} is not ready`
    }
    return undefined
  })
}

/** An instance is gone once the named server group does not list it, or, without one, once the service does not know it. */
function waitTerminated(): Step {
  return waitStep('waitForTerminatedInstances', hourMs, async (context) => {
    const { infrastructure, stage } = context
    const name = serverGroupNameOf(stage.context)
    const group =
      name === undefined
        ? undefined
        : await infrastructure.serverGroup({ ...locationOf(stage.context), name })
    for (const place of instancesOf(context)) {
      const found =
        name === undefined
          ? await infrastructure.instance(place)
          : group?.instances.find(({ id }) => id === place.id)
      if (found !== undefined && found.launchTime <= readStage(stage.context).terminatedAt)
        return `${place.id} still runs`
    }
    return undefined
  })
}

function waitForRestart(): Step {
  return waitStep('waitForRestart', hourMs, async (context) => {
    const { infrastructure, stage } = context
    const types = healthTypesOf(stage.context)
    const launched = readStage(stage.context).launchTimes
    for (const place of instancesOf(context)) {
      const found = await infrastructure.instance(place)
      const isRestarted =
        found !== undefined && found.launchTime > (numberOf(launched[place.id]) ?? 0)
      if (isRestarted && (types?.length === 0 || isInstanceUp(found, types))) continue
      const missing = `the instance ${place.id} is not up again`
      if (found === undefined) return missing
      const { serverGroup: name } = found
      const group =
        name === undefined ? undefined : await infrastructure.serverGroup({ ...place, name })
      return followStarts(context, group, { down: [found], dispensable: 0, missing })
    }
    return undefined
  })
}

/** @throws {StageError} when one of the instances does not exist */
async function launchTimes(context: TaskContext): Promise<Record<string, number>> {
  const times: Record<string, number> = {}
  for (const place of instancesOf(context)) {
    const found = await context.infrastructure.instance(place)
    if (found === undefined)
      throw new StageError([
        `The instance ${place.id} does not exist in ${place.account}/${place.region}.`,
      ])
    times[place.id] = found.launchTime
  }
  return times
}

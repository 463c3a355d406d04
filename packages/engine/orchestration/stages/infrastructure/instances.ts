/** Stages on single instances: terminate, reboot, detach, register with load balancers, and deregister. */
import { type JsonObject, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { CloudInstance } from '@fairlead/ports/cloud-values.ts'
import type { InstancePlace } from '@fairlead/ports/infrastructure.ts'
import { StageError } from '../../machine/failure.ts'
import type { StageType, Step, TaskContext } from '../stage-type.ts'
import { locationOf, serverGroupNameOf } from './cloud-context.ts'
import { hourMs, monitorStep, submitStep } from './cloud-task.ts'
import { withoutNotes } from './server-group-operations.ts'
import { healthTypesOf, isDown, isInstanceUp } from './server-groups.ts'
import { checkTrafficGuards } from './traffic-guard.ts'
import { followStarts, waitStep } from './waits.ts'

const balancerHealth = ['LoadBalancer', 'TargetGroup']

export const instanceStages: readonly StageType[] = [
  instanceStage('terminateInstances', { guards: true, waits: [waitTerminated()] }),
  instanceStage('terminateInstanceAndDecrementServerGroup', { guards: true, waits: [waitTerminated()] }),
  instanceStage('detachInstances', { guards: true, waits: [] }),
  instanceStage('rebootInstances', {
    guards: false,
    waits: [waitForRestart()],
    note: async (context) => ({ launchTimes: await launchTimes(context) }),
  }),
  instanceStage('registerInstancesWithLoadBalancer', {
    guards: false,
    waits: [
      waitForInstances('waitForUpInstanceHealth', (instance) => instance !== undefined && isInstanceUp(instance, balancerHealth)),
    ],
  }),
  instanceStage('deregisterInstancesFromLoadBalancer', {
    guards: true,
    waits: [
      waitForInstances('waitForDownInstanceHealth', (instance) => instance === undefined || isDown(instance, balancerHealth)),
    ],
  }),
  instanceStage('enableInstancesInDiscovery', { guards: false, waits: [] }),
  instanceStage('disableInstancesInDiscovery', { guards: true, waits: [] }),
]

interface InstanceStage {
  /** Whether the instances go out of traffic. */
  readonly guards: boolean
  readonly waits: readonly Step[]
  /** What is remembered of the moment before. */
  readonly note?: (context: TaskContext) => Promise<JsonObject>
}

function instanceStage(type: string, { guards, waits, note }: InstanceStage): StageType {
  const submit = submitStep(type, type.toLowerCase(), async (context) => {
    const settings = context.stage.context
    const ids = instancesOf(context).map(({ id }) => id)
    if (ids.length === 0 && textOf(settings['asgName']) === undefined)
      throw new StageError(['The stage names no instances: set "instanceIds".'])
    const name = serverGroupNameOf(settings)
    if (guards && name !== undefined) {
      await checkTrafficGuards(context, {
        targets: [{ ...locationOf(settings), name }],
        instanceIds: ids,
        doing: `removing the instances ${ids.join(', ')} of`,
      })
    }
    return {
      operations: [{ [type]: withoutNotes(settings) }],
      context: { terminatedAt: context.now, ...(await note?.(context)) },
    }
  })
  return { type, steps: [submit, monitorStep(), ...waits] }
}

/** Instances that the stage names. @throws {StageError} when it names no account or region */
function instancesOf({ stage }: TaskContext): InstancePlace[] {
  const { context } = stage
  const listed = textsOf(context['instanceIds'])
  const single = textOf(context['instance'])
  const { account, region } = locationOf(context)
  return (listed.length > 0 || single === undefined ? listed : [single]).map((id) => ({ id, account, region }))
}

/** Waits until each instance is as `isReached` says; undefined: the service does not know it. */
function waitForInstances(name: string, isReached: (instance: CloudInstance | undefined) => boolean): Step {
  return waitStep(name, hourMs, async (context) => {
    for (const place of instancesOf(context)) {
      if (!isReached(await context.infrastructure.instance(place))) return `the instance ${place.id} is not ready`
    }
    return undefined
  })
}

/** With a server group named, an instance is gone once the group does not list it; without, once the service does not know it. */
function waitTerminated(): Step {
  return waitStep('waitForTerminatedInstances', hourMs, async (context) => {
    const settings = context.stage.context
    const name = serverGroupNameOf(settings)
    const group = name === undefined ? undefined : await context.infrastructure.serverGroup({ ...locationOf(settings), name })
    for (const place of instancesOf(context)) {
      const found =
        name === undefined ? await context.infrastructure.instance(place) : group?.instances.find(({ id }) => id === place.id)
      if (found !== undefined && found.launchTime <= Number(settings['terminatedAt'] ?? 0)) return `${place.id} still runs`
    }
    return undefined
  })
}

/** An instance that restarts keeps its id, and tells by its launch time. */
function waitForRestart(): Step {
  return waitStep('waitForRestart', hourMs, async (context) => {
    const settings = context.stage.context
    const types = healthTypesOf(settings)
    const launched = objectOf(settings['launchTimes'])
    for (const place of instancesOf(context)) {
      const found = await context.infrastructure.instance(place)
      const isRestarted = found !== undefined && found.launchTime > Number(launched[place.id] ?? 0)
      if (isRestarted && (types?.length === 0 || isInstanceUp(found, types))) continue
      const missing = `the instance ${place.id} is not up again`
      if (found === undefined) return missing
      const group =
        found.serverGroup && (await context.infrastructure.serverGroup({ ...locationOf(settings), name: found.serverGroup }))
      return followStarts(context, group || undefined, { down: [found], dispensable: 0, missing })
    }
    return undefined
  })
}

/** @throws {StageError} when one of the instances does not exist */
async function launchTimes(context: TaskContext): Promise<JsonObject> {
  const times: Record<string, number> = {}
  for (const place of instancesOf(context)) {
    const found = await context.infrastructure.instance(place)
    if (found === undefined)
      throw new StageError([`The instance ${place.id} does not exist in ${place.account}/${place.region}.`])
    times[place.id] = found.launchTime
  }
  return times
}

/** Stages on single instances: terminate, reboot, detach, register with load balancers, and deregister. */
import { type JsonObject, objectOf, textOf } from '../../../../json/values.ts'
import { StageError } from '../../machine/failure.ts'
import type { StageType, Step, TaskContext } from '../stage-type.ts'
import { providerOf, requireAccount, requirePlace, serverGroupNameOf } from './cloud-context.ts'
import { monitorStep, submitStep } from './cloud-task.ts'
import { withoutNotes } from './server-group-operations.ts'
import { healthTypesOf, type Instance, isDown, isUp, loadServerGroup } from './server-groups.ts'
import { checkTrafficGuards } from './traffic-guard.ts'
import { instancesOf, waitInstancesStep } from './waits.ts'

const balancerHealth = ['LoadBalancer', 'TargetGroup']

export const instanceStages: readonly StageType[] = [
  instanceStage('terminateInstances', { guards: true, waits: [waitTerminated()] }),
  instanceStage('terminateInstanceAndDecrementServerGroup', { guards: true, waits: [waitTerminated()] }),
  instanceStage('detachInstances', { guards: true, waits: [] }),
  instanceStage('rebootInstances', {
    guards: false,
    waits: [
      {
        name: 'waitForRestart',
        timeoutMs: 3600_000,
        execute: async (context) => {
          const types = healthTypesOf(context.stage.context)
          const launched = objectOf(context.stage.context['launchTimes'])
          const now = await launchTimes(context)
          const restarted = Object.entries(now).every(([id, { launchTime }]) => launchTime > Number(launched[id] ?? 0))
          const ready = restarted && Object.values(now).every((instance) => types?.length === 0 || isUp(instance, types))
          return ready ? { status: 'SUCCEEDED' } : { status: 'RUNNING', pollMs: 500 }
        },
      },
    ],
    note: async (context) => ({
      launchTimes: Object.fromEntries(Object.entries(await launchTimes(context)).map(([id, { launchTime }]) => [id, launchTime])),
    }),
  }),
  instanceStage('registerInstancesWithLoadBalancer', {
    guards: false,
    waits: [waitInstancesStep('waitForUpInstanceHealth', (instance) => instance !== undefined && isUp(instance, balancerHealth))],
  }),
  instanceStage('deregisterInstancesFromLoadBalancer', {
    guards: true,
    waits: [
      waitInstancesStep('waitForDownInstanceHealth', (instance) => instance === undefined || isDown(instance, balancerHealth)),
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
      const target = { provider: providerOf(settings), account: requireAccount(settings), region: requirePlace(settings), name }
      await checkTrafficGuards(context, {
        targets: [target],
        instanceIds: ids,
        doing: `removing the instances ${ids.join(', ')} of`,
      })
    }
    return {
      operations: [{ [type]: withoutNotes(settings) }],
      context: { knownInstanceIds: ids, terminatedAt: context.now, ...(await note?.(context)) },
    }
  })
  return { type, steps: [submit, monitorStep(), ...waits] }
}

/** With a server group named, an instance is gone once the group does not list it; without, once the service does not know it. */
function waitTerminated(): Step {
  return {
    name: 'waitForTerminatedInstances',
    timeoutMs: 3600_000,
    execute: async (context) => {
      const { stage } = context
      const name = serverGroupNameOf(stage.context)
      const wanted = instancesOf(context)
      const remaining = await (name === undefined ? knownOf(context) : listedIn(context, name))
      const since = Number(stage.context['terminatedAt'] ?? 0)
      const left = wanted.filter(({ id }) => {
        const found = remaining.get(id)
        return found !== undefined && found.launchTime <= since
      })
      return left.length === 0 ? { status: 'SUCCEEDED' } : { status: 'RUNNING', pollMs: 500 }
    },
  }
}

async function listedIn(context: TaskContext, name: string): Promise<Map<string, Instance>> {
  const settings = context.stage.context
  const target = { provider: providerOf(settings), account: requireAccount(settings), region: requirePlace(settings), name }
  const group = await loadServerGroup(context, target)
  return new Map(group?.instances.map((instance) => [instance.id, instance]))
}

async function knownOf(context: TaskContext): Promise<Map<string, Instance>> {
  return new Map(Object.entries(await launchTimes(context)))
}

async function launchTimes(context: TaskContext): Promise<Record<string, Instance>> {
  const found: Record<string, Instance> = {}
  for (const { id, account, region } of instancesOf(context)) {
    const path = `/instances/${[account, region, id].map(encodeURIComponent).join('/')}`
    const { status, body } = await context.call('clouddriver', { method: 'GET', path }, [404])
    if (status === 404) continue
    const instance = objectOf(body)
    found[id] = {
      id,
      healthState: String(instance['healthState'] ?? 'Unknown'),
      launchTime: Number(instance['launchTime'] ?? 0),
      health: Array.isArray(instance['health']) ? instance['health'].map(objectOf) : [],
    }
  }
  return found
}

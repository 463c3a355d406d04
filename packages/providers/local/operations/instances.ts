/** Operations on single instances. */

import { z } from 'zod'
import type { Desired, LocalGroup, LocalInstance } from '../desired.ts'
import type { SealedSecrets } from '../program.ts'
import { balancersOf } from '../wanted.ts'
import { dismiss, findSupplies, fit, missingCount, noSupplies, sealFor } from './fleet.ts'
import {
  type Concern,
  defineOperation,
  type FieldsOf,
  flagField,
  type LocalOperation,
  type LocalOperations,
  type LocalSubmission,
  optionalField,
  optionalTextPart,
  type Problems,
  placeOf,
  type RunningOperation,
  textsField,
} from './parts.ts'
import {
  findGroup,
  findGroupOrNote,
  nameOfTarget,
  namesOfTarget,
  requireBalancers,
  target,
} from './server-groups.ts'

const ids = optionalField(z.array(z.string().trim().min(1, 'it must not be blank'))).transform(
  (value) => value ?? [],
)
const fields = { ...target, instanceIds: ids }
const concerned = { ...fields, instance: optionalTextPart, loadBalancerNames: textsField }

type InstanceFields = Pick<FieldsOf<typeof fields>, 'instanceIds'>

/** Instances belong to applications by their server groups, whatever else the description names; load balancers by their names. */
const resources: Concern<FieldsOf<typeof concerned>> = ({ fields, desired }) => {
  const { instance = '', instanceIds = [instance], loadBalancerNames = [] } = fields
  const groups = instanceIds.map((id) => desired.get('instances', id)?.program.startedFor)
  return [...namesOfTarget(fields), ...groups, ...loadBalancerNames]
}

function check(submission: LocalSubmission<InstanceFields>): Problems {
  placeOf(submission)
  return [submission.fields.instanceIds.length === 0 && 'instanceIds: it is missing or empty.']
}

/** Instances of the account and region that are not on their way out; others are noted. */
function findInstances(running: RunningOperation<InstanceFields>): LocalInstance[] {
  const { account, region } = placeOf(running)
  return [...new Set(running.fields.instanceIds)].flatMap((id) => {
    const found = running.desired.get('instances', id)
    const isHere =
      found?.account === account.name && found.region === region.name && found.leaving === undefined
    if (!isHere)
      running.run.note(`The instance ${id} does not exist in ${account.name}/${region.name}.`)
    return isHere ? found : []
  })
}

function namesOf(instances: readonly LocalInstance[]): string {
  return instances.map(({ id }) => id).join(', ')
}

const terminateInstances = defineOperation({
  fields,
  resources,
  check,
  run: async (running) => {
    const { desired, run, change } = running
    const found = findInstances(running)
    const [first] = found
    if (first === undefined) return
    run.note(`Terminating ${namesOf(found)}.`)
    const byGroup = Map.groupBy(found, (instance) => desired.groupOf(instance))
    const needed = [...byGroup].map(([group, gone]) =>
      group === undefined ? 0 : missingCount(running, group, gone.length),
    )
    const groups = [...byGroup.keys()].filter((group) => group !== undefined)
    const total = needed.reduce((sum, each) => sum + each, 0)
    const supplies = await findSupplies(running, first.account, total, groups)
    change(() => {
      for (const instance of found) dismiss(running, instance)
      for (const group of byGroup.keys()) {
        if (group !== undefined)
          fit(running, group, supplies, 'Instances were terminated by a user.')
      }
    })
  },
})

const terminateInstanceAndDecrementServerGroup = defineOperation({
  fields: {
    ...target,
    instance: optionalTextPart,
    adjustMinIfNecessary: flagField,
    setMaxToNewDesired: flagField,
  },
  resources,
  check: (submission) => {
    placeOf(submission)
    return [submission.fields.instance === undefined && 'instance: it is missing.']
  },
  run: (running) => {
    const { fields, desired, run, change } = running
    const group = findGroup(running)
    const found = group && desired.stayingInstances(group).find(({ id }) => id === fields.instance)
    if (group === undefined || found === undefined) {
      throw new Error(
        `The instance ${fields.instance} is not in the server group ${nameOfTarget(fields) ?? ''}.`,
      )
    }
    const shrunk = shrink(group, 1, fields)
    change(() => {
      run.note(`Terminating ${found.id} and shrinking ${group.name} to ${shrunk.capacity.desired}.`)
      dismiss(running, found)
      fit(
        running,
        shrunk,
        noSupplies,
        `The instance ${found.id} was terminated by a user, without replacement.`,
      )
    })
  },
})

const detachInstances = defineOperation({
  fields: {
    ...fields,
    decrementDesiredCapacity: flagField,
    terminateDetachedInstances: flagField,
    adjustMinIfNecessary: flagField,
  },
  resources,
  check,
  run: async (running) => {
    const { fields, desired, run, change } = running
    const group = findGroupOrNote(running)
    if (group === undefined) return
    const chosen = desired
      .stayingInstances(group)
      .filter(({ id }) => fields.instanceIds.includes(id))
    if (chosen.length === 0)
      return run.note('None of the instances is in the server group: nothing is to be done.')
    const rest = fields.decrementDesiredCapacity ? shrink(group, chosen.length, fields) : group
    const supplies = await findSupplies(
      running,
      group.account,
      missingCount(running, rest, chosen.length),
      [rest],
    )
    change(() => {
      for (const instance of chosen) {
        if (fields.terminateDetachedInstances) dismiss(running, instance)
        else
          desired.put('instances', {
            ...instance,
            group: undefined,
            isOut: group.isDisabled || instance.isOut,
          })
      }
      run.note(`Detached from ${group.name}: ${namesOf(chosen)}.`)
      fit(running, rest, supplies, 'Instances were detached by a user.')
    })
  },
})

/** @throws {Error} when its minimum forbids it */
function shrink(
  group: LocalGroup,
  by: number,
  {
    adjustMinIfNecessary,
    setMaxToNewDesired,
  }: { adjustMinIfNecessary: boolean; setMaxToNewDesired?: boolean },
): LocalGroup {
  const { min, max } = group.capacity
  const desired = Math.max(0, group.capacity.desired - by)
  if (desired < min && !adjustMinIfNecessary) {
    throw new Error(
      `${group.name} has min ${min}, so it cannot shrink to ${desired} instances. Set adjustMinIfNecessary, or resize it before.`,
    )
  }
  return {
    ...group,
    capacity: {
      desired,
      min: Math.min(min, desired),
      max: setMaxToNewDesired === true ? desired : max,
    },
  }
}

function onInstances(
  change: (instance: LocalInstance) => LocalInstance,
  words: string,
): LocalOperation {
  return defineOperation({
    fields,
    resources,
    check,
    run: (running) => {
      const found = findInstances(running)
      if (found.length === 0) return
      running.change(() => {
        for (const instance of found) running.desired.put('instances', change(instance))
        running.run.note(`${words}: ${namesOf(found)}.`)
      })
    },
  })
}

/** A process that starts anew is given its secrets anew. */
const rebootInstances = defineOperation({
  fields,
  resources,
  check,
  run: async (running) => {
    const { desired, run, change } = running
    const found = findInstances(running)
    if (found.length === 0) return
    const secrets = new Map<string, SealedSecrets | undefined>()
    for (const { id, account, region, program } of found)
      secrets.set(
        id,
        await sealFor({ program, account, region, name: program.startedFor }, running),
      )
    change(() => {
      for (const { id } of found) {
        const instance = desired.get('instances', id)
        if (instance !== undefined)
          desired.put('instances', {
            ...instance,
            generation: instance.generation + 1,
            sealed: secrets.get(id),
          })
      }
      run.note(`Restarting in place: ${namesOf(found)}.`)
    })
  },
})

const enableInstancesInDiscovery = onInstances(
  (instance) => ({ ...instance, isOutOfDiscovery: false }),
  'In service for discovery',
)
const disableInstancesInDiscovery = onInstances(
  (instance) => ({ ...instance, isOutOfDiscovery: true }),
  'Out of service for discovery',
)

/** Puts each instance by itself into load balancers, or takes it out. */
function registration(
  words: string,
  change: (instance: LocalInstance, names: readonly string[], desired: Desired) => LocalInstance,
): LocalOperation {
  return defineOperation({
    fields: { ...fields, loadBalancerNames: textsField },
    resources,
    check,
    run: (running) => {
      const { fields, desired, run } = running
      const found = findInstances(running)
      const { account, region } = placeOf(running)
      const names = fields.loadBalancerNames ?? findGroup(running)?.loadBalancers ?? []
      requireBalancers(desired, { account: account.name, region: region.name }, names)
      if (names.length === 0 || found.length === 0)
        return run.note('No load balancer is meant: nothing is to be done.')
      running.change(() => {
        for (const instance of found) desired.put('instances', change(instance, names, desired))
        run.note(`${words} ${names.join(', ')}: ${namesOf(found)}.`)
      })
    },
  })
}

const registerInstancesWithLoadBalancer = registration(
  'Registered with',
  (instance, names, desired) => {
    const own = balancersOf(desired, instance)
    return {
      ...instance,
      deregistered: instance.deregistered.filter((name) => !names.includes(name)),
      registered: [...instance.registered, ...names.filter((name) => !own.includes(name))],
    }
  },
)

/** It stays listed with those of its server group, out of service. */
const deregisterInstancesFromLoadBalancer = registration(
  'Deregistered from',
  (instance, names, desired) => {
    const others = instance.registered.filter((name) => !names.includes(name))
    const own = balancersOf(desired, { ...instance, registered: [] })
    const left = own.filter((name) => names.includes(name) && !instance.deregistered.includes(name))
    return { ...instance, registered: others, deregistered: [...instance.deregistered, ...left] }
  },
)

export const localInstanceOperations: LocalOperations = {
  terminateInstances,
  terminateInstanceAndDecrementServerGroup,
  detachInstances,
  rebootInstances,
  enableInstancesInDiscovery,
  disableInstancesInDiscovery,
  registerInstancesWithLoadBalancer,
  deregisterInstancesFromLoadBalancer,
}

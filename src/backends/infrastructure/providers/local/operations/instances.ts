/** Operations on single instances. */
import { z } from 'zod'
import { type JsonObject, listOf } from '../../../../../json/values.ts'
import type { OperationRun, OperationTypes } from '../../../operation-type.ts'
import type { LocalGroup, LocalInstance } from '../desired.ts'
import { balancersOf } from '../wanted.ts'
import { dismiss, findPorts, fit, missingCount, stayingInstances } from './fleet.ts'
import { commitChange, defineOperation, flagField, type OperationParts, optionalTextPart, placeOf, textsField } from './parts.ts'
import { findGroup, requireBalancer, targetResources } from './server-groups.ts'

const ids = z
  .array(z.string().trim().min(1, 'it must not be blank'))
  .nullish()
  .transform((value) => value ?? [])
const target = { serverGroupName: optionalTextPart, asgName: optionalTextPart }

export function localInstanceOperations(parts: OperationParts): OperationTypes {
  const { desired, settings } = parts

  /** Instances belong to applications by their server groups, whatever else the description names; load balancers by their names. */
  const resources = (description: JsonObject): unknown[] => {
    const listed = [description['instanceIds'], [description['instance']]].flat(2)
    const groups = listed.flatMap((id) =>
      typeof id === 'string' ? (desired.get('instances', id)?.program.startedFor ?? []) : [],
    )
    return [...targetResources(description), ...groups, ...listOf(description['loadBalancerNames'])]
  }

  const checkIds = ({ instanceIds }: { instanceIds: readonly string[] }, description: JsonObject): string[] => {
    placeOf(description, settings)
    return instanceIds.length === 0 ? ['instanceIds: it is missing or empty.'] : []
  }

  /** Those of the account and region that are not on their way out; others are noted. */
  function findInstances(instanceIds: readonly string[], description: JsonObject, run: OperationRun): LocalInstance[] {
    const { account, region } = placeOf(description, settings)
    return [...new Set(instanceIds)].flatMap((id) => {
      const found = desired.get('instances', id)
      const isHere = found?.account === account.name && found.region === region.name && found.leaving === undefined
      if (!isHere) run.note(`The instance ${id} does not exist in ${account.name}/${region.name}.`)
      return isHere ? found : []
    })
  }

  function groupOf({ account, region, group }: LocalInstance): LocalGroup | undefined {
    return group === undefined ? undefined : desired.groupAt(account, region, group)
  }

  /** Removes instances; their server groups replace them. */
  async function replace(instances: readonly LocalInstance[], run: OperationRun, cause: string): Promise<void> {
    const byGroup = Map.groupBy(instances, groupOf)
    const needed = [...byGroup].map(([group, gone]) => (group === undefined ? 0 : missingCount(parts, group, gone.length)))
    const [account = ''] = instances.map((instance) => instance.account)
    const ports = await findPorts(
      parts,
      account,
      needed.reduce((sum, each) => sum + each, 0),
    )
    commitChange(parts, run, () => {
      for (const instance of instances) dismiss(parts, instance)
      for (const group of byGroup.keys()) {
        if (group !== undefined) fit(parts, group, ports.splice(0, missingCount(parts, group)), cause)
      }
    })
  }

  const terminateInstances = defineOperation({
    fields: z.looseObject({ instanceIds: ids, ...target }),
    resources,
    check: checkIds,
    run: async ({ instanceIds }, run, description) => {
      const found = findInstances(instanceIds, description, run)
      if (found.length === 0) return
      run.note(`Terminating ${found.map(({ id }) => id).join(', ')}.`)
      await replace(found, run, 'Instances were terminated by a user.')
    },
  })

  const terminateInstanceAndDecrementServerGroup = defineOperation({
    fields: z.looseObject({
      ...target,
      instance: optionalTextPart,
      adjustMinIfNecessary: flagField,
      setMaxToNewDesired: flagField,
    }),
    resources,
    check: ({ instance }, description) => {
      placeOf(description, settings)
      return instance === undefined ? ['instance: it is missing.'] : []
    },
    run: (fields, run, description) => {
      const group = findGroup(fields, description, parts)
      const found = group && stayingInstances(parts, group).find(({ id }) => id === fields.instance)
      if (group === undefined || found === undefined) {
        throw new Error(
          `The instance ${fields.instance} is not in the server group ${fields.serverGroupName ?? fields.asgName ?? ''}.`,
        )
      }
      const shrunk = shrink(group, 1, fields)
      commitChange(parts, run, () => {
        run.note(`Terminating ${found.id} and shrinking ${group.name} to ${shrunk.capacity.desired}.`)
        dismiss(parts, found)
        fit(parts, shrunk, [], `The instance ${found.id} was terminated by a user, without replacement.`)
      })
    },
  })

  const detachInstances = defineOperation({
    fields: z.looseObject({
      ...target,
      instanceIds: ids,
      decrementDesiredCapacity: flagField,
      terminateDetachedInstances: flagField,
      adjustMinIfNecessary: flagField,
    }),
    resources,
    check: checkIds,
    run: async (fields, run, description) => {
      const group = findGroup(fields, description, parts, run)
      if (group === undefined) return
      const chosen = stayingInstances(parts, group).filter(({ id }) => fields.instanceIds.includes(id))
      if (chosen.length === 0) return run.note('None of the instances is in the server group: nothing is to be done.')
      const rest = fields.decrementDesiredCapacity ? shrink(group, chosen.length, fields) : group
      const ports = await findPorts(parts, group.account, missingCount(parts, rest, chosen.length))
      commitChange(parts, run, () => {
        for (const instance of chosen) {
          if (fields.terminateDetachedInstances) dismiss(parts, instance)
          else desired.put('instances', { ...instance, group: undefined, isOut: group.isDisabled || instance.isOut })
        }
        run.note(`Detached from ${group.name}: ${chosen.map(({ id }) => id).join(', ')}.`)
        fit(parts, rest, ports, 'Instances were detached by a user.')
      })
    },
  })

  const rebootInstances = defineOperation({
    fields: z.looseObject({ instanceIds: ids }),
    resources,
    check: checkIds,
    run: ({ instanceIds }, run, description) => {
      const found = findInstances(instanceIds, description, run)
      if (found.length === 0) return
      commitChange(parts, run, () => {
        for (const instance of found) desired.put('instances', { ...instance, generation: instance.generation + 1 })
        run.note(`Restarting ${found.map(({ id }) => id).join(', ')} in place.`)
      })
    },
  })

  /** Into or out of load balancers, each instance by itself. */
  const register = (isRegistered: boolean) =>
    defineOperation({
      fields: z.looseObject({ instanceIds: ids, loadBalancerNames: textsField, ...target }),
      resources,
      check: checkIds,
      run: (fields, run, description) => {
        const found = findInstances(fields.instanceIds, description, run)
        const { account, region } = placeOf(description, settings)
        const ofGroup = findGroup(fields, description, parts)?.loadBalancers ?? []
        const names = fields.loadBalancerNames ?? ofGroup
        for (const name of names) requireBalancer(parts, account.name, region.name, name)
        if (names.length === 0 || found.length === 0) return run.note('No load balancer is meant: nothing is to be done.')
        commitChange(parts, run, () => {
          for (const instance of found) {
            desired.put('instances', isRegistered ? registered(instance, names) : deregistered(instance, names))
          }
          run.note(
            `${isRegistered ? 'Registered with' : 'Deregistered from'} ${names.join(', ')}: ${found.map(({ id }) => id).join(', ')}.`,
          )
        })
      },
    })

  function registered(instance: LocalInstance, names: readonly string[]): LocalInstance {
    const own = balancersOf(desired, instance)
    return {
      ...instance,
      deregistered: instance.deregistered.filter((name) => !names.includes(name)),
      registered: [...instance.registered, ...names.filter((name) => !own.includes(name))],
    }
  }

  /** It stays listed with those of its server group, out of service. */
  function deregistered(instance: LocalInstance, names: readonly string[]): LocalInstance {
    const others = instance.registered.filter((name) => !names.includes(name))
    const own = balancersOf(desired, { ...instance, registered: [] })
    const left = own.filter((name) => names.includes(name) && !instance.deregistered.includes(name))
    return { ...instance, registered: others, deregistered: [...instance.deregistered, ...left] }
  }

  const discover = (isFound: boolean) =>
    defineOperation({
      fields: z.looseObject({ instanceIds: ids, ...target }),
      resources,
      check: checkIds,
      run: ({ instanceIds }, run, description) => {
        const found = findInstances(instanceIds, description, run)
        if (found.length === 0) return
        commitChange(parts, run, () => {
          for (const instance of found) desired.put('instances', { ...instance, isOutOfDiscovery: !isFound })
          run.note(`${isFound ? 'In' : 'Out of'} service for discovery: ${found.map(({ id }) => id).join(', ')}.`)
        })
      },
    })

  return {
    terminateInstances,
    terminateInstanceAndDecrementServerGroup,
    terminateInstanceAndDecrementAsg: terminateInstanceAndDecrementServerGroup,
    detachInstances,
    rebootInstances,
    registerInstancesWithLoadBalancer: register(true),
    deregisterInstancesFromLoadBalancer: register(false),
    enableInstancesInDiscovery: discover(true),
    disableInstancesInDiscovery: discover(false),
  }
}

/** @throws {Error} when its minimum forbids it */
function shrink(
  group: LocalGroup,
  by: number,
  { adjustMinIfNecessary, setMaxToNewDesired }: { adjustMinIfNecessary: boolean; setMaxToNewDesired?: boolean },
): LocalGroup {
  const { min, max } = group.capacity
  const desired = Math.max(0, group.capacity.desired - by)
  if (desired < min && !adjustMinIfNecessary) {
    throw new Error(
      `${group.name} has min ${min}, so it cannot shrink to ${desired} instances. Set adjustMinIfNecessary, or resize it before.`,
    )
  }
  return { ...group, capacity: { desired, min: Math.min(min, desired), max: setMaxToNewDesired === true ? desired : max } }
}

/** Operations on server groups: resize, enable, disable, destroy, tags, attached load balancers. */
import { z } from 'zod'
import { type JsonObject, listOf } from '../../../../../json/values.ts'
import type { OperationRun, OperationTypes } from '../../../operation-type.ts'
import { type LocalCapacity, type LocalGroup, placeKey } from '../desired.ts'
import { dismiss, findPorts, fit, missingCount, stayingInstances } from './fleet.ts'
import {
  commitChange,
  countField,
  defineOperation,
  numeric,
  type OperationParts,
  optionalTextPart,
  placeOf,
  textMap,
  textsField,
} from './parts.ts'

const target = { serverGroupName: optionalTextPart, asgName: optionalTextPart }
const TargetFields = z.looseObject(target)
type TargetFields = z.output<typeof TargetFields>

const someCapacity = z
  .looseObject({ min: countField.nullish(), max: countField.nullish(), desired: countField.nullish() })
  .nullish()
const percentage = numeric(z.number().min(0, 'it must be from 0 to 100').max(100, 'it must be from 0 to 100')).nullish()

export function targetResources({ serverGroupName, asgName }: JsonObject): unknown[] {
  return [serverGroupName, asgName]
}

function nameOf({ serverGroupName, asgName }: TargetFields): string | undefined {
  return serverGroupName ?? asgName
}

export function checkTarget(fields: TargetFields, description: JsonObject, { settings }: OperationParts): string[] {
  placeOf(description, settings)
  return nameOf(fields) === undefined ? ['serverGroupName: it is missing.'] : []
}

/** Undefined: it does not exist, which the history says, or is on its way out. */
export function findGroup(
  fields: TargetFields,
  description: JsonObject,
  { desired, settings }: OperationParts,
  run?: OperationRun,
): LocalGroup | undefined {
  const { account, region } = placeOf(description, settings)
  const name = nameOf(fields) ?? ''
  const group = desired.groupAt(account.name, region.name, name)
  if (group !== undefined && !group.isLeaving) return group
  run?.note(`The server group ${name} does not exist in ${account.name}/${region.name}: nothing is to be done.`)
  return undefined
}

export function localServerGroupOperations(parts: OperationParts): OperationTypes {
  const { desired } = parts
  const check = (fields: TargetFields, description: JsonObject) => checkTarget(fields, description, parts)

  const resizeServerGroup = defineOperation({
    fields: z.looseObject({
      ...target,
      capacity: someCapacity,
      constraints: z.looseObject({ capacity: someCapacity }).nullish(),
    }),
    resources: targetResources,
    check: (fields, description) => {
      const problems = check(fields, description)
      if (problems.length > 0) return problems
      const group = findGroup(fields, description, parts)
      return checkCapacity(changedCapacity(fields.capacity, group?.capacity), fields.capacity)
    },
    run: async (fields, run, description) => {
      const group = findGroup(fields, description, parts, run)
      const given = Object.values(fields.capacity ?? {}).filter((value) => typeof value === 'number')
      if (group === undefined || given.length === 0) return
      checkConstraint(fields.constraints?.capacity, group)
      const capacity = changedCapacity(fields.capacity, group.capacity)
      const [problem] = checkCapacity(capacity, fields.capacity)
      if (problem !== undefined) throw new Error(problem)
      const resized = { ...group, capacity }
      const ports = await findPorts(parts, group.account, missingCount(parts, resized))
      commitChange(parts, run, () => {
        run.note(`Resizing ${group.name} to min ${capacity.min}, max ${capacity.max}, desired ${capacity.desired}.`)
        fit(parts, resized, ports, `The capacity was changed from ${group.capacity.desired} to ${capacity.desired}.`)
      })
    },
  })

  const enableServerGroup = defineOperation({
    fields: z.looseObject({ ...target, desiredPercentage: percentage }),
    resources: targetResources,
    check,
    run: (fields, run, description) => {
      const group = findGroup(fields, description, parts, run)
      if (group === undefined) return
      const instances = stayingInstances(parts, group)
      const inService = Math.ceil((instances.length * (fields.desiredPercentage ?? 100)) / 100)
      commitChange(parts, run, () => {
        run.note(`Enabling ${group.name}: ${inService} of ${instances.length} instances take traffic.`)
        desired.put('groups', { ...group, isDisabled: false })
        // While the whole group was disabled, no instance took traffic.
        const first = [...instances].sort((one, other) => Number(one.isOut) - Number(other.isOut))
        first.forEach((instance, index) => {
          desired.put('instances', { ...instance, isOut: index >= inService, isOutOfDiscovery: false, deregistered: [] })
        })
      })
    },
  })

  const disableServerGroup = defineOperation({
    fields: z.looseObject({ ...target, desiredPercentage: percentage }),
    resources: targetResources,
    check,
    run: (fields, run, description) => {
      const group = findGroup(fields, description, parts, run)
      if (group === undefined) return
      const share = fields.desiredPercentage ?? 100
      commitChange(parts, run, () => {
        if (share < 100) disableSome(group, share, run)
        else {
          run.note(`Disabling ${group.name}: its instances keep running and take no traffic.`)
          desired.put('groups', { ...group, isDisabled: true })
          for (const instance of stayingInstances(parts, group)) desired.put('instances', { ...instance, isOut: false })
        }
      })
    },
  })

  function disableSome(group: LocalGroup, share: number, run: OperationRun): void {
    const instances = stayingInstances(parts, group)
    const wanted = Math.ceil((instances.length * share) / 100)
    const chosen = [...instances].sort((one, other) => Number(other.isOut) - Number(one.isOut)).slice(0, wanted)
    for (const instance of chosen) desired.put('instances', { ...instance, isOut: true })
    const ids = chosen.map(({ id }) => id)
    run.note(`Disabling ${ids.length} of ${instances.length} instances of ${group.name}: ${ids.join(', ') || 'none'}.`)
    run.report({ instanceIdsToDisable: ids })
  }

  const destroyServerGroup = defineOperation({
    fields: TargetFields,
    resources: targetResources,
    check,
    run: (fields, run, description) => {
      const group = findGroup(fields, description, parts, run)
      if (group === undefined) return
      commitChange(parts, run, () => {
        run.note(`Destroying ${group.name}: its instances finish their last requests and are stopped.`)
        desired.put('groups', { ...group, isLeaving: true, isDisabled: true, capacity: { min: 0, max: 0, desired: 0 } })
        for (const instance of stayingInstances(parts, group)) dismiss(parts, instance)
      })
    },
  })

  const upsertServerGroupTags = defineOperation({
    fields: z.looseObject({ ...target, tags: textMap }),
    resources: targetResources,
    check,
    run: (fields, run, description) => {
      const group = findGroup(fields, description, parts, run)
      if (group === undefined) return
      commitChange(parts, run, () => desired.put('groups', { ...group, tags: { ...group.tags, ...fields.tags } }))
    },
  })

  const attach = (isAttached: boolean) =>
    defineOperation({
      fields: z.looseObject({ ...target, loadBalancerNames: textsField }),
      resources: (description) => [...targetResources(description), ...listOf(description['loadBalancerNames'])],
      check: (fields, description) => [
        ...check(fields, description),
        ...((fields.loadBalancerNames ?? []).length === 0 ? ['loadBalancerNames: it is missing or empty.'] : []),
      ],
      run: (fields, run, description) => {
        const group = findGroup(fields, description, parts, run)
        if (group === undefined) return
        const names = fields.loadBalancerNames ?? []
        const { account, region } = group
        for (const name of isAttached ? names : []) requireBalancer(parts, account, region, name)
        const others = group.loadBalancers.filter((name) => !names.includes(name))
        commitChange(parts, run, () => {
          run.note(`${isAttached ? 'Attaching' : 'Detaching'} ${group.name}: ${names.join(', ')}.`)
          desired.put('groups', { ...group, loadBalancers: isAttached ? [...others, ...names] : others })
        })
      },
    })

  /** Nothing here measures load, so a policy would be a promise that is not kept. */
  const upsertScalingPolicy = defineOperation({
    fields: TargetFields,
    resources: targetResources,
    check: () => [
      'The provider local has no automatic scaling: it has no metrics to scale by. Resize the server group, by hand or by a pipeline.',
    ],
    run: () => {},
  })

  const deleteScalingPolicy = defineOperation({
    fields: TargetFields,
    resources: targetResources,
    check,
    run: (_fields, run) => run.note('There are no scaling policies: nothing is to be done.'),
  })

  return {
    resizeServerGroup,
    enableServerGroup,
    disableServerGroup,
    destroyServerGroup,
    upsertServerGroupTags,
    mapLoadBalancers: attach(true),
    unmapLoadBalancers: attach(false),
    upsertScalingPolicy,
    deleteScalingPolicy,
  }
}

/** @throws {Error} */
export function requireBalancer({ desired }: OperationParts, account: string, region: string, name: string): void {
  if (desired.get('balancers', placeKey({ account, region, name })) === undefined) {
    throw new Error(`The load balancer ${name} does not exist in ${account}/${region}.`)
  }
}

/** Parts that are not given stay as they are. */
function changedCapacity(given: z.output<typeof someCapacity>, current: LocalCapacity | undefined): LocalCapacity {
  const { min, max, desired } = given ?? {}
  const others = current ?? {
    min: min ?? desired ?? max ?? 0,
    max: max ?? desired ?? min ?? 0,
    desired: desired ?? min ?? max ?? 0,
  }
  return { min: min ?? others.min, max: max ?? others.max, desired: desired ?? others.desired }
}

function checkCapacity({ min, max, desired }: LocalCapacity, given: z.output<typeof someCapacity>): string[] {
  if (given === undefined || given === null || (min <= desired && desired <= max)) return []
  return [`capacity: min ${min}, desired ${desired} and max ${max} do not fit: min ≤ desired ≤ max must hold.`]
}

/** @throws {Error} when the capacity is not what the client believes it to be */
function checkConstraint(constraint: z.output<typeof someCapacity>, { name, capacity }: LocalGroup): void {
  const wrong = (['min', 'max', 'desired'] as const).find((part) => {
    const expected = constraint?.[part]
    return expected !== undefined && expected !== null && expected !== capacity[part]
  })
  if (wrong === undefined) return
  throw new Error(`${name} has ${wrong} ${capacity[wrong]}, and ${constraint?.[wrong]} was expected: it has changed meanwhile.`)
}

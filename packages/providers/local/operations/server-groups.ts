/** Operations on server groups: resize, enable, disable, destroy, tags, load balancers, shares of traffic. */

import { z } from 'zod'
import { type Desired, type LocalGroup, placeKey, withTraffic } from '../desired.ts'
import {
  capacityField,
  checkCapacity,
  dismiss,
  findSupplies,
  fit,
  type GivenCapacity,
  missingCount,
  toLocalCapacity,
} from './fleet.ts'
import {
  type Concern,
  defineOperation,
  type FieldsOf,
  type LocalOperation,
  type LocalOperations,
  type LocalSubmission,
  numeric,
  type OperationBody,
  optionalField,
  optionalTextPart,
  placeOf,
  type RunningOperation,
  textMap,
  textsField,
} from './parts.ts'

export const target = { serverGroupName: optionalTextPart, asgName: optionalTextPart }
type TargetFields = FieldsOf<typeof target>

const percentage = numeric(
  z.number().min(0, 'it must be from 0 to 100').max(100, 'it must be from 0 to 100'),
)
const desiredPercentage = optionalField(percentage).transform((value) => value ?? 100)

export function namesOfTarget({
  serverGroupName,
  asgName,
}: Partial<TargetFields>): (string | undefined)[] {
  return [serverGroupName, asgName]
}

export function nameOfTarget({ serverGroupName, asgName }: TargetFields): string | undefined {
  return serverGroupName ?? asgName
}

/** Undefined: it does not exist, or is on its way out. */
export function findGroup(submission: LocalSubmission<TargetFields>): LocalGroup | undefined {
  const { account, region } = placeOf(submission)
  const group = submission.desired.groupAt(
    account.name,
    region.name,
    nameOfTarget(submission.fields) ?? '',
  )
  return group?.isLeaving === true ? undefined : group
}

/** Undefined: it does not exist, which the history says. */
export function findGroupOrNote(running: RunningOperation<TargetFields>): LocalGroup | undefined {
  const group = findGroup(running)
  if (group !== undefined) return group
  const { account, region } = placeOf(running)
  const name = nameOfTarget(running.fields) ?? ''
  running.run.note(
    `The server group ${name} does not exist in ${account.name}/${region.name}: nothing is to be done.`,
  )
  return undefined
}

type GroupOperation<Fields extends z.ZodRawShape> = Omit<
  OperationBody<Fields & typeof target>,
  'run'
> & {
  /** The server group, unless it is about more. */
  readonly resources?: Concern<FieldsOf<Fields & typeof target>>
  readonly run: (
    group: LocalGroup,
    running: RunningOperation<FieldsOf<Fields & typeof target>>,
  ) => Promise<void> | void
}

/** One that does not exist is noted, and nothing is done. */
function onServerGroup<Fields extends z.ZodRawShape>(
  source: GroupOperation<Fields>,
): LocalOperation {
  return defineOperation<Fields & typeof target>({
    resources: ({ fields }) => namesOfTarget(fields as Partial<TargetFields>),
    ...source,
    check: (submission) => {
      placeOf(submission)
      const isMissing = nameOfTarget(submission.fields as TargetFields) === undefined
      return [isMissing && 'serverGroupName: it is missing.', source.check?.(submission)]
    },
    run: (running) => {
      const fields = running.fields as TargetFields
      const group = findGroupOrNote({ ...running, fields })
      return group && source.run(group, running)
    },
  })
}

const resizeServerGroup = onServerGroup({
  fields: {
    ...target,
    capacity: capacityField,
    constraints: optionalField(z.looseObject({ capacity: capacityField })),
  },
  check: (submission) => [
    checkCapacity(toLocalCapacity(submission.fields.capacity, findGroup(submission)?.capacity)),
  ],
  run: async (group, running) => {
    const { fields, run, change } = running
    const { min, max, desired } = fields.capacity ?? {}
    if ((min ?? max ?? desired) === undefined) return
    checkConstraint(fields.constraints?.capacity, group)
    const capacity = toLocalCapacity(fields.capacity, group.capacity)
    const problem = checkCapacity(capacity)
    if (problem !== undefined) throw new Error(problem)
    const resized = { ...group, capacity }
    const supplies = await findSupplies(running, group.account, missingCount(running, resized), [
      resized,
    ])
    change(() => {
      run.note(
        `Resizing ${group.name} to min ${capacity.min}, max ${capacity.max}, desired ${capacity.desired}.`,
      )
      fit(
        running,
        resized,
        supplies,
        `The capacity was changed from ${group.capacity.desired} to ${capacity.desired}.`,
      )
    })
  },
})

/** @throws {Error} when the capacity is not what the client believes it to be */
function checkConstraint(constraint: GivenCapacity, { name, capacity }: LocalGroup): void {
  const wrong = (['min', 'max', 'desired'] as const).find(
    (part) => (constraint?.[part] ?? capacity[part]) !== capacity[part],
  )
  if (wrong === undefined) return
  throw new Error(
    `${name} has ${wrong} ${capacity[wrong]}, and ${constraint?.[wrong]} was expected: it has changed meanwhile.`,
  )
}

const enableServerGroup = onServerGroup({
  fields: { ...target, desiredPercentage },
  run: (group, { fields, desired, run, change, context }) => {
    const instances = desired.stayingInstances(group)
    const inService = Math.ceil((instances.length * fields.desiredPercentage) / 100)
    change(() => {
      run.note(
        `Enabling ${group.name}: ${inService} of ${instances.length} instances take traffic.`,
      )
      desired.put('groups', withTraffic(group, false, context.now()))
      // While the whole group was disabled, no instance took traffic.
      const first = instances.toSorted((one, other) => Number(one.isOut) - Number(other.isOut))
      for (const [index, instance] of first.entries()) {
        desired.put('instances', {
          ...instance,
          isOut: index >= inService,
          isOutOfDiscovery: false,
          deregistered: [],
        })
      }
    })
  },
})

const disableServerGroup = onServerGroup({
  fields: { ...target, desiredPercentage },
  run: (group, running) => {
    const { fields, desired, run, change } = running
    change(() => {
      if (fields.desiredPercentage < 100)
        return disableSome(group, fields.desiredPercentage, running)
      run.note(`Disabling ${group.name}: its instances keep running and take no traffic.`)
      desired.put('groups', { ...withShare(group, null), isDisabled: true })
      for (const instance of desired.stayingInstances(group))
        desired.put('instances', { ...instance, isOut: false })
    })
  },
})

function disableSome(group: LocalGroup, share: number, { desired, run }: RunningOperation): void {
  const instances = desired.stayingInstances(group)
  const wanted = Math.ceil((instances.length * share) / 100)
  const chosen = instances
    .toSorted((one, other) => Number(other.isOut) - Number(one.isOut))
    .slice(0, wanted)
  for (const instance of chosen) desired.put('instances', { ...instance, isOut: true })
  const ids = chosen.map(({ id }) => id)
  run.note(
    `Disabling ${ids.length} of ${instances.length} instances of ${group.name}: ${ids.join(', ') || 'none'}.`,
  )
  run.report({ instanceIdsToDisable: ids })
}

const destroyServerGroup = onServerGroup({
  fields: target,
  run: (group, running) => {
    const { desired, run, change } = running
    change(() => {
      run.note(
        `Destroying ${group.name}: its instances finish their last requests and are stopped.`,
      )
      const empty = { min: 0, max: 0, desired: 0 }
      desired.put('groups', {
        ...withShare(group, null),
        isLeaving: true,
        isDisabled: true,
        capacity: empty,
      })
      for (const instance of desired.stayingInstances(group)) dismiss(running, instance)
    })
  },
})

const upsertServerGroupTags = onServerGroup({
  fields: { ...target, tags: textMap },
  run: (group, { fields, desired, change }) => {
    change(() => desired.put('groups', { ...group, tags: { ...group.tags, ...fields.tags } }))
  },
})

const wholePercent = 'it must be a whole number from 0 to 100, or null to take the share away'
export const sharePercent = numeric(
  z.number(wholePercent).int(wholePercent).min(0, wholePercent).max(100, wholePercent),
)

const sharingMs = 10_000

const shareTraffic = onServerGroup({
  fields: { ...target, percent: sharePercent.nullable() },
  check: (submission) => {
    const group = findGroup(submission)
    return [
      group && problemOfShare(submission.desired, withShare(group, submission.fields.percent)),
    ]
  },
  run: async (group, { fields: { percent }, desired, reconciler, run, change }) => {
    const shared = withShare(group, percent)
    const problem = problemOfShare(desired, shared)
    if (problem !== undefined) throw new Error(problem)
    change(() => {
      run.note(
        percent === null
          ? `Taking the share of ${group.name} away.`
          : `Giving ${group.name} ${percent} % of the requests.`,
      )
      desired.put('groups', shared)
    })
    const isKnown = await run.releaseWhile(() => reconciler.reaches(() => true, sharingMs))
    if (!isKnown)
      throw new Error(
        'The share is stored, and the agent has not taken it over yet. It does as soon as it answers.',
      )
  },
})

/** A disabled one has none, so that it can be enabled again like any other. */
function withShare(
  { trafficPercent: _before, ...group }: LocalGroup,
  percent: number | null,
): LocalGroup {
  const isKept = percent !== null && !(group.isDisabled && percent === 0)
  return { ...group, ...(isKept && { trafficPercent: percent }) }
}

export function problemOfShare(
  desired: Desired,
  {
    account,
    region,
    name,
    loadBalancers,
    isDisabled,
    trafficPercent = 0,
  }: Omit<LocalGroup, 'createdMs' | 'capacity'>,
): string | undefined {
  if (trafficPercent === 0) return undefined
  if (isDisabled)
    return `${name} is disabled and takes no requests. Enable it first, or deploy another one with trafficPercent.`
  if (loadBalancers.length === 0) {
    return `${name} is registered with no load balancer that could give it a share. Connect one with mapLoadBalancers first.`
  }
  const others = [...desired.all('groups')].filter(
    (group) =>
      group.account === account &&
      group.region === region &&
      group.name !== name &&
      group.trafficPercent !== undefined,
  )
  for (const balancer of loadBalancers) {
    const sharing = others.filter((group) => group.loadBalancers.includes(balancer))
    const sum = sharing.reduce(
      (total, group) => total + (group.trafficPercent ?? 0),
      trafficPercent,
    )
    if (sum <= 100) continue
    const known = sharing.map((group) => `${group.name} has ${group.trafficPercent} %`).join(', ')
    return `The shares at the load balancer ${balancer} would be ${sum} % together, as ${known}. Lower those first.`
  }
  return undefined
}

function attachment({ isAttached }: { readonly isAttached: boolean }): LocalOperation {
  return onServerGroup({
    fields: { ...target, loadBalancerNames: textsField },
    resources: ({ fields }) => [...namesOfTarget(fields), ...(fields.loadBalancerNames ?? [])],
    check: ({ fields }) => [
      !fields.loadBalancerNames?.length && 'loadBalancerNames: it is missing or empty.',
    ],
    run: (group, { fields, desired, run, change }) => {
      const names = fields.loadBalancerNames ?? []
      if (isAttached) requireBalancers(desired, group, names)
      const others = group.loadBalancers.filter((name) => !names.includes(name))
      const changed = { ...group, loadBalancers: isAttached ? [...others, ...names] : others }
      const problem = isAttached ? problemOfShare(desired, changed) : undefined
      if (problem !== undefined) throw new Error(problem)
      change(() => {
        run.note(`${isAttached ? 'Attaching' : 'Detaching'} ${group.name}: ${names.join(', ')}.`)
        desired.put('groups', changed)
      })
    },
  })
}

/** @throws {Error} */
export function requireBalancers(
  desired: Desired,
  { account, region }: Pick<LocalGroup, 'account' | 'region'>,
  names: readonly string[],
): void {
  const missing = names.find(
    (name) => desired.get('balancers', placeKey({ account, region, name })) === undefined,
  )
  if (missing !== undefined)
    throw new Error(`The load balancer ${missing} does not exist in ${account}/${region}.`)
}

/** Nothing here measures load, so a policy would be a promise that is not kept. */
const upsertScalingPolicy = defineOperation({
  fields: target,
  resources: ({ fields }) => namesOfTarget(fields),
  check: () => [
    'The provider local has no automatic scaling: it has no metrics to scale by. Resize the server group, by hand or by a pipeline.',
  ],
  run: () => {},
})

const deleteScalingPolicy = onServerGroup({
  fields: target,
  run: (_group, { run }) => run.note('There are no scaling policies: nothing is to be done.'),
})

export const localServerGroupOperations: LocalOperations = {
  resizeServerGroup,
  enableServerGroup,
  disableServerGroup,
  destroyServerGroup,
  upsertServerGroupTags,
  shareTraffic,
  upsertScalingPolicy,
  deleteScalingPolicy,
  mapLoadBalancers: attachment({ isAttached: true }),
  unmapLoadBalancers: attachment({ isAttached: false }),
}

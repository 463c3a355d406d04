/** Snapshot operations: the infrastructure of an application, saved in the definition store and restored. */

import { shape } from '@fairlead/base/json/shape.ts'
import { objectOf } from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { toCaller } from '@fairlead/ports/caller.ts'
import { accountOf } from '@fairlead/ports/cloud-values.ts'
import {
  type Desired,
  type LocalBalancer,
  type LocalFirewall,
  type LocalGroup,
  placeKey,
  type ResourceKey,
  withTraffic,
} from '../desired.ts'
import { findSupplies, fit, missingCount } from './fleet.ts'
import {
  type Concern,
  countField,
  defineOperation,
  type FieldsOf,
  type LocalOperations,
  type LocalSubmission,
  type OperationBody,
  optionalField,
  optionalTextPart,
  placeOf,
  type RunningOperation,
} from './parts.ts'

const fields = {
  applicationName: optionalTextPart,
  application: optionalTextPart,
  snapshotTimestamp: optionalField(countField),
}
type SnapshotFields = FieldsOf<typeof fields>

interface SnapshotSubject {
  readonly application: string
  readonly account: string
}

/** By name within a region: `region:name`. */
interface SnapshotResources {
  readonly serverGroups: Readonly<Record<string, LocalGroup>>
  readonly loadBalancers: Readonly<Record<string, LocalBalancer>>
  readonly securityGroups: Readonly<Record<string, LocalFirewall>>
}

const toRecorded = shape({
  infrastructure: shape({
    serverGroups: objectOf,
    loadBalancers: objectOf,
    securityGroups: objectOf,
  }),
})

/** What all of them have. */
const common: Omit<OperationBody<typeof fields>, 'run'> & {
  readonly resources: Concern<SnapshotFields>
} = {
  fields,
  resources: ({ fields }) => [applicationOf(fields)],
  check: ({ fields }) => [applicationOf(fields) === '' && 'applicationName: it is missing.'],
}

const saveSnapshot = defineOperation({
  ...common,
  run: async (running) => {
    const { run, desired, context } = running
    const subject = subjectOf(running)
    const { application, account } = subject
    const infrastructure = collect(subject, desired)
    const body = { application, account, infrastructure, configLang: 'TERRAFORM' }
    await run.releaseWhile(() =>
      context.ports.definitions.saveSnapshot(body, toCaller({ ...run.identity })),
    )
    run.note(`Saved a snapshot of ${application} in ${account}.`)
  },
})

/** What exists gets the recorded size and state, what is missing is created; what came later stays. */
const restoreSnapshot = defineOperation({
  ...common,
  run: async (running) => {
    const { settings, desired, images, run, change } = running
    const subject = subjectOf(running)
    const { account } = subject
    const recorded = await loadSnapshot(subject, running)
    // The rights were checked by the name of the snapshot, and another store may hold what it likes.
    const belongs = belongsTo(subject)
    const regions = settings.accounts.find(({ name }) => name === account)?.regions ?? []
    const own = <T extends ResourceKey>(all: Readonly<Record<string, T>>) =>
      Object.values(all).filter(
        (one) => belongs(one) && regions.some(({ name }) => name === one.region),
      )
    const groups = own(recorded.serverGroups).map((group) => revive(group, running))
    const missing = groups.find(
      ({ image, program }) =>
        program.container?.image !== image.id &&
        images.get(image.id, account)?.digest !== image.digest,
    )
    if (missing !== undefined)
      throw new Error(`The image ${missing.image.id} of ${missing.name} does not exist any more.`)
    const needed = groups.reduce((sum, group) => sum + missingCount(running, group), 0)
    const supplies = await findSupplies(running, account, needed, groups)
    change(() => {
      for (const firewall of own(recorded.securityGroups)) desired.put('firewalls', firewall)
      for (const balancer of own(recorded.loadBalancers)) restoreBalancer(balancer, running)
      for (const group of groups) {
        run.note(`Restoring ${group.name} with ${group.capacity.desired} instances.`)
        fit(running, group, supplies, 'A snapshot was restored.')
      }
    })
  },
})

const deleteSnapshot = defineOperation({
  ...common,
  check: () => ['Snapshots are a history that is kept: none can be deleted.'],
  run: () => {},
})

function applicationOf({ applicationName, application }: Partial<SnapshotFields>): string {
  return applicationName ?? application ?? ''
}

/** Snapshots are about a whole account, so no region is named. @throws {Error} when it does not exist */
function subjectOf({
  fields,
  description,
  settings,
}: LocalSubmission<SnapshotFields>): SnapshotSubject {
  const named = accountOf(description)
  const region = settings.accounts.find(({ name }) => name === named)?.regions[0]?.name
  const { account } = placeOf({ description: { ...description, region }, settings })
  return { application: applicationOf(fields), account: account.name }
}

function collect(subject: SnapshotSubject, desired: Desired): SnapshotResources {
  const isOwn = belongsTo(subject)
  const byKey = <T extends ResourceKey>(all: readonly T[]) =>
    Object.fromEntries(all.map((one) => [`${one.region}:${one.name}`, one]))
  return {
    // Values of secrets stay here: all users who may read the application may read its snapshots.
    serverGroups: byKey(
      [...desired.all('groups')]
        .filter((group) => isOwn(group) && !group.isLeaving)
        .map(withoutSecrets),
    ),
    loadBalancers: byKey([...desired.all('balancers')].filter(isOwn)),
    securityGroups: byKey([...desired.all('firewalls')].filter(isOwn)),
  }
}

/** @throws {Error} when there is none */
async function loadSnapshot(
  { application, account }: SnapshotSubject,
  { run, context, fields }: RunningOperation<SnapshotFields>,
): Promise<SnapshotResources> {
  const wanted = { id: `${application}-${account}`, timestamp: fields.snapshotTimestamp }
  const snapshot = await run.releaseWhile(() =>
    context.ports.definitions.snapshot(wanted, toCaller({ ...run.identity })),
  )
  if (snapshot === undefined)
    throw new Error(`There is no such snapshot of ${application} in ${account}.`)
  return toRecorded(snapshot).infrastructure as SnapshotResources
}

function restoreBalancer(balancer: LocalBalancer, { desired, run }: RunningOperation): void {
  const taken = [...desired.all('balancers')].find(
    (other) =>
      placeKey(other) !== placeKey(balancer) &&
      other.listeners.some(({ port }) =>
        balancer.listeners.some((listener) => listener.port === port),
      ),
  )
  if (taken === undefined) desired.put('balancers', balancer)
  else run.note(`The load balancer ${balancer.name} is left out: ${taken.name} has its port now.`)
}

/** A group that still exists keeps its program, secrets included. */
function revive(recorded: LocalGroup, { desired, context }: RunningOperation): LocalGroup {
  const current = desired.get('groups', placeKey(recorded))
  const { capacity, isDisabled } = recorded
  return current === undefined || current.isLeaving
    ? { ...recorded, activities: [], createdMs: context.now(), servingSinceMs: null }
    : { ...withTraffic(current, isDisabled, context.now()), capacity }
}

function belongsTo({ application, account }: SnapshotSubject) {
  return (one: ResourceKey) =>
    one.account === account &&
    parseMoniker(one.name).app?.toLowerCase() === application.toLowerCase()
}

function withoutSecrets(group: LocalGroup): LocalGroup {
  const hidden = new Set(group.program.secrets)
  const open = <T>(values: Readonly<Record<string, T>> | undefined) =>
    Object.fromEntries(Object.entries(values ?? {}).filter(([name]) => !hidden.has(name)))
  const { overrides } = group.program
  return {
    ...group,
    activities: [],
    program: {
      ...group.program,
      environment: open(group.program.environment),
      overrides: {
        ...overrides,
        environment: open(overrides.environment),
        secrets: open(overrides.secrets),
      },
    },
  }
}

export const localSnapshotOperations: LocalOperations = {
  saveSnapshot,
  restoreSnapshot,
  deleteSnapshot,
}

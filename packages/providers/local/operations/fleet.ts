/** Instances of a server group: as many as desired, spread over its zones. */

import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { z } from 'zod'
import type { OperationRun } from '../../infrastructure/operation-type.ts'
import type { Activity, LocalCapacity, LocalGroup, LocalInstance } from '../desired.ts'
import { loopback } from '../machine.ts'
import type { GroupProgram, SealedSecrets } from '../program.ts'
import { needsSecrets, sealSecrets } from '../program-secrets.ts'
import { sharedVolumesOf } from '../volumes.ts'
import { countField, type OperationParts, optionalField } from './parts.ts'

const keptActivities = 100

const count = optionalField(countField)
export const capacityField = optionalField(
  z.looseObject({ min: count, max: count, desired: count }),
)
export type GivenCapacity = z.output<typeof capacityField>

/** Parts that are not given stay as they are, or follow from the others. */
export function toLocalCapacity(given: GivenCapacity, current?: LocalCapacity): LocalCapacity {
  const { min, max, desired } = given ?? {}
  const others = desired ?? min ?? max ?? 1
  return {
    min: min ?? current?.min ?? others,
    max: max ?? current?.max ?? others,
    desired: desired ?? current?.desired ?? others,
  }
}

export function checkCapacity({ min, max, desired }: LocalCapacity): string | undefined {
  if (min <= desired && desired <= max) return undefined
  return `capacity: min ${min}, desired ${desired} and max ${max} do not fit: min ≤ desired ≤ max must hold.`
}

export function missingCount({ desired }: OperationParts, group: LocalGroup, leaving = 0): number {
  return Math.max(0, group.capacity.desired - (desired.stayingInstances(group).length - leaving))
}

/** @throws {Error} when the account has too few free ports, or cannot run programs */
async function findPorts(
  parts: OperationParts,
  account: string,
  needed: number,
): Promise<number[]> {
  const settings = parts.settings.accounts.find(({ name }) => name === account)
  if (settings === undefined)
    throw new Error(`The account "${account}" is no longer in the configuration.`)
  const problem = needed > 0 ? parts.users.problemOf(account) : undefined
  if (problem !== undefined) throw new Error(problem)
  return parts.ports.find(settings, needed)
}

/** A server group, or the cluster of one that does not exist yet. */
type Sourced = Pick<LocalGroup, 'name' | 'account' | 'region' | 'program'>

interface Supplies {
  /** One for each instance; `fit` takes them from the list. */
  readonly ports: number[]
  readonly sealed: ReadonlyMap<GroupProgram, SealedSecrets>
}

export const noSupplies: Supplies = { ports: [], sealed: new Map() }

/** @throws {Error} as `findPorts`, and when a secret has no value */
export async function findSupplies(
  parts: OperationParts & { readonly run: OperationRun },
  account: string,
  needed: number,
  groups: readonly Sourced[],
): Promise<Supplies> {
  const sealed = new Map<GroupProgram, SealedSecrets>()
  for (const group of needed > 0 ? groups : []) {
    const secrets = await sealFor(group, parts)
    if (secrets !== undefined) sealed.set(group.program, secrets)
  }
  return { ports: await findPorts(parts, account, needed), sealed }
}

export function sealFor(
  { program, name, account, region }: Sourced,
  {
    run,
    context,
    variables,
  }: Pick<OperationParts, 'context' | 'variables'> & { readonly run: OperationRun },
): Promise<SealedSecrets | undefined> {
  const place = `server group ${name} in ${account}/${region}`
  const use = { application: parseMoniker(name).app ?? undefined, account, user: run.user, place }
  return sealSecrets(program, use, { secrets: context.ports.secrets, variables, run })
}

/**
 * Stores the server group and adds or removes instances until there are as many as desired. Within a change.
 *
 * @param supplies For each instance that is missing
 * @param cause For the scaling activities
 * @throws {Error} when an instance that stays has a volume of a new one, and the volume is declared to have one writer
 */
export function fit(
  parts: OperationParts,
  group: LocalGroup,
  { ports, sealed }: Supplies,
  cause: string,
): void {
  const { desired } = parts
  const staying = desired.stayingInstances(group)
  const activities: Activity[] = []
  const note = (description: string, zone: string) => {
    activities.unshift({ id: parts.newId(), atMs: parts.context.now(), description, cause, zone })
  }
  for (const instance of chooseLeaving(staying, staying.length - group.capacity.desired)) {
    dismiss(parts, instance)
    note(`Terminating instance: ${instance.id}`, instance.zone)
  }
  for (const port of ports.splice(0, missingCount(parts, group))) {
    const secrets = secretsFor(group, sealed, parts)
    const instance = afterRivals(
      { ...createInstance(parts, group, port, staying), sealed: secrets },
      desired.all('instances'),
    )
    staying.push(instance)
    desired.put('instances', instance)
    note(`Launching a new instance: ${instance.id}`, instance.zone)
  }
  desired.put('groups', {
    ...group,
    activities: [...activities, ...group.activities].slice(0, keptActivities),
  })
}

/** It starts once those that leave are gone which have a volume for one writer with it. */
function afterRivals(instance: LocalInstance, all: Iterable<LocalInstance>): LocalInstance {
  const shared = sharedVolumesOf(instance, all)
  const refused = shared.find(
    ({ volume, other }) => volume.writers === 'one' && other.leaving === undefined,
  )
  if (refused !== undefined) throw new Error(describeRival(refused.volume.name, refused.other))
  const waitsFor = shared.flatMap(({ other }) => (other.leaving === undefined ? [] : [other.id]))
  return waitsFor.length === 0 ? instance : { ...instance, waitsFor: [...new Set(waitsFor)] }
}

function describeRival(volume: string, { id, group }: LocalInstance): string {
  const holder = group === undefined ? `the detached instance ${id}` : `${id} of ${group}`
  const advice =
    group === undefined
      ? 'Terminate that one first.'
      : 'Stop that one first: deploy with the strategy "recreate", or resize its server group to 0.'
  return `The volume "${volume}" has one writer, and ${holder} has it. ${advice}`
}

/** @throws {Error} when the program is another one since its secrets were looked up */
function secretsFor(
  { name, program, account }: LocalGroup,
  sealed: Supplies['sealed'],
  { variables }: OperationParts,
): SealedSecrets | undefined {
  const secrets = sealed.get(program)
  if (secrets === undefined && needsSecrets(program, account, variables))
    throw new Error(`The server group ${name} has changed meanwhile. Try again.`)
  return secrets
}

/** No new requests from now on; the reconciler does the rest. Within a change. */
export function dismiss({ desired, context }: OperationParts, instance: LocalInstance): void {
  if (instance.leaving !== undefined) return
  desired.put('instances', {
    ...instance,
    leaving: { stage: 'draining', sinceMs: context.now(), revision: undefined },
  })
}

/** Instances out of service first, then the youngest, so that long-running ones stay. */
function chooseLeaving(staying: readonly LocalInstance[], excess: number): LocalInstance[] {
  if (excess <= 0) return []
  return [...staying]
    .sort(
      (one, other) =>
        Number(other.isOut) - Number(one.isOut) ||
        other.launchMs - one.launchMs ||
        (one.id < other.id ? 1 : -1),
    )
    .slice(0, excess)
}

function emptiestZone(zones: readonly string[], instances: readonly LocalInstance[]): string {
  const inZone = (zone: string) => instances.filter((instance) => instance.zone === zone).length
  return zones.reduce((best, zone) => (inZone(zone) < inZone(best) ? zone : best), zones[0] ?? '')
}

/** The volumes of one that leaves go to the one that takes its place. */
function freeOrdinal(
  { program }: LocalGroup,
  staying: readonly LocalInstance[],
): { ordinal?: number } {
  if (program.volumes === undefined) return {}
  const taken = new Set(staying.map(({ ordinal }) => ordinal))
  let ordinal = 0
  while (taken.has(ordinal)) ordinal += 1
  return { ordinal }
}

function createInstance(
  { newId, context }: OperationParts,
  group: LocalGroup,
  port: number,
  staying: readonly LocalInstance[],
): LocalInstance {
  const { account, region, name, program, image, instanceType, zones } = group
  return {
    id: `i-${newId().toLowerCase()}`,
    account,
    region,
    zone: emptiestZone(zones, staying),
    group: name,
    host: loopback,
    port,
    ...freeOrdinal(group, staying),
    launchMs: context.now(),
    generation: 0,
    isOut: false,
    isOutOfDiscovery: false,
    deregistered: [],
    registered: [],
    program: { ...program, digest: image.digest, instanceType, startedFor: name },
    leaving: undefined,
  }
}

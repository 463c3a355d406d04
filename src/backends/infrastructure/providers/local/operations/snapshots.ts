/** Snapshot operations: the infrastructure of an application, saved in the definition store and restored. */

import { z } from 'zod'
import { encodeValue } from '../../../../../http/encode-path.ts'
import { type JsonObject, objectOf } from '../../../../../json/values.ts'
import { parseMoniker } from '../../../../../names/moniker.ts'
import { accountOf, type OperationRun, type OperationTypes } from '../../../operation-type.ts'
import { type LocalBalancer, type LocalFirewall, type LocalGroup, placeKey } from '../desired.ts'
import { findPorts, fit, missingCount } from './fleet.ts'
import { commitChange, countField, defineOperation, type OperationParts, optionalTextPart, placeOf } from './parts.ts'

const SnapshotFields = z.looseObject({
  applicationName: optionalTextPart,
  application: optionalTextPart,
  snapshotTimestamp: countField.nullish(),
})
type SnapshotFields = z.output<typeof SnapshotFields>

interface SnapshotSubject {
  readonly application: string
  readonly account: string
}

/** By name within a region: `region:name`. */
interface Infrastructure {
  readonly serverGroups: Readonly<Record<string, LocalGroup>>
  readonly loadBalancers: Readonly<Record<string, LocalBalancer>>
  readonly securityGroups: Readonly<Record<string, LocalFirewall>>
}

export function localSnapshotOperations(parts: OperationParts): OperationTypes {
  const { desired, context, settings } = parts
  const resources = ({ applicationName, application }: JsonObject) => [applicationName ?? application]
  const check = (fields: SnapshotFields) => (nameOf(fields) === '' ? ['applicationName: it is missing.'] : [])

  const saveSnapshot = defineOperation({
    fields: SnapshotFields,
    resources,
    check,
    run: async (fields, run, description) => {
      const account = existingAccountOf(description)
      const infrastructure = collect(nameOf(fields), account)
      const body = { application: nameOf(fields), account, infrastructure, configLang: 'TERRAFORM' }
      const { status } = await callStore(run, 'POST', '/snapshots', body)
      if (status >= 300) throw new Error(`The definition store answered ${status} to the snapshot.`)
      run.note(`Saved a snapshot of ${nameOf(fields)} in ${account}.`)
    },
  })

  const restoreSnapshot = defineOperation({
    fields: SnapshotFields,
    resources,
    check,
    run: async (fields, run, description) => {
      const account = existingAccountOf(description)
      await restore(await loadSnapshot(fields, account, run), { application: nameOf(fields), account }, run)
    },
  })

  const deleteSnapshot = defineOperation({
    fields: SnapshotFields,
    resources,
    check: () => ['Snapshots are a history that is kept: none can be deleted.'],
    run: () => {},
  })

  /** Snapshots are about a whole account, so no region is named. */
  function existingAccountOf(description: JsonObject): string {
    const named = accountOf(description)
    const region = settings.accounts.find(({ name }) => name === named)?.regions[0]?.name
    return placeOf({ ...description, region }, settings).account.name
  }

  function collect(application: string, account: string): Infrastructure {
    const isOwn = belongsTo({ application, account })
    const byKey = <T extends { region: string; name: string }>(all: readonly T[]) =>
      Object.fromEntries(all.map((one) => [`${one.region}:${one.name}`, one]))
    return {
      // Values of secrets stay here: all users who may read the application may read its snapshots.
      serverGroups: byKey([...desired.all('groups')].filter((group) => isOwn(group) && !group.isLeaving).map(withoutSecrets)),
      loadBalancers: byKey([...desired.all('balancers')].filter(isOwn)),
      securityGroups: byKey([...desired.all('firewalls')].filter(isOwn)),
    }
  }

  /** @throws {Error} when there is none */
  async function loadSnapshot(fields: SnapshotFields, account: string, run: OperationRun): Promise<Infrastructure> {
    const id = encodeValue(`${nameOf(fields)}-${account}`)
    const time = fields.snapshotTimestamp ?? undefined
    const { status, body } = await callStore(run, 'GET', `/snapshots/${id}${time === undefined ? '' : `/${time}?limit=1000`}`)
    if (status !== 200) throw new Error(`There is no such snapshot of ${nameOf(fields)} in ${account}.`)
    const { serverGroups, loadBalancers, securityGroups } = objectOf(objectOf(body)['infrastructure'])
    return {
      serverGroups: objectOf(serverGroups) as Infrastructure['serverGroups'],
      loadBalancers: objectOf(loadBalancers) as Infrastructure['loadBalancers'],
      securityGroups: objectOf(securityGroups) as Infrastructure['securityGroups'],
    }
  }

  /** What exists gets the recorded size and state, what is missing is created; what came later stays. */
  async function restore(recorded: Infrastructure, subject: SnapshotSubject, run: OperationRun): Promise<void> {
    const { account } = subject
    // The rights were judged by the name of the snapshot, and another store may hold what it likes.
    const belongs = belongsTo(subject)
    const isOwn = (one: { name: string; account: string; region: string }) =>
      belongs(one) &&
      settings.accounts.some(({ name, regions }) => name === account && regions.some((each) => each.name === one.region))
    const groups = Object.values(recorded.serverGroups).filter(isOwn).map(revive)
    const missing = groups.find(({ image }) => parts.images.get(image.id, account)?.digest !== image.digest)
    if (missing !== undefined) throw new Error(`The image ${missing.image.id} of ${missing.name} does not exist any more.`)
    const ports = await findPorts(
      parts,
      account,
      groups.reduce((sum, group) => sum + missingCount(parts, group), 0),
    )
    commitChange(parts, run, () => {
      for (const firewall of Object.values(recorded.securityGroups).filter(isOwn)) desired.put('firewalls', firewall)
      for (const balancer of Object.values(recorded.loadBalancers).filter(isOwn)) restoreBalancer(balancer, run)
      for (const group of groups) {
        run.note(`Restoring ${group.name} with ${group.capacity.desired} instances.`)
        fit(parts, group, ports.splice(0, missingCount(parts, group)), 'A snapshot was restored.')
      }
    })
  }

  function restoreBalancer(balancer: LocalBalancer, run: OperationRun): void {
    const taken = [...desired.all('balancers')].find(
      (other) =>
        placeKey(other) !== placeKey(balancer) &&
        other.listeners.some(({ port }) => balancer.listeners.some((listener) => listener.port === port)),
    )
    if (taken === undefined) desired.put('balancers', balancer)
    else run.note(`The load balancer ${balancer.name} is left out: ${taken.name} has its port now.`)
  }

  /** A group that still exists keeps its program, secrets included. */
  function revive(recorded: LocalGroup): LocalGroup {
    const current = desired.get('groups', placeKey(recorded))
    const { capacity, isDisabled } = recorded
    return current === undefined || current.isLeaving
      ? { ...recorded, activities: [], createdMs: context.now() }
      : { ...current, capacity, isDisabled }
  }

  function callStore(run: OperationRun, method: string, path: string, body?: unknown) {
    return run.aside(() => context.call('front50', { method, path, body, headers: { ...run.identity } }))
  }

  return { saveSnapshot, restoreSnapshot, deleteSnapshot }
}

function belongsTo({ application, account }: SnapshotSubject) {
  return (one: { readonly name: string; readonly account: string }) =>
    one.account === account && parseMoniker(one.name).app?.toLowerCase() === application.toLowerCase()
}

function nameOf({ applicationName, application }: SnapshotFields): string {
  return applicationName ?? application ?? ''
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
      overrides: { ...overrides, environment: open(overrides.environment), secrets: {} },
    },
  }
}

/** What can be done to a server group and its instances, with what each says before it is done. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { type Change, objectKey, pendingOf, submitTask } from '../api/actions.ts'
import { useCloudProvider } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { applicationEvents } from '../api/streams.ts'
import { confirm, type Question } from '../components/confirm-dialog.tsx'
import { TextField } from '../components/form-fields.tsx'
import type { MenuItem } from '../components/menu.tsx'
import { act } from '../components/notices.tsx'
import { type Json, numberOf, objectOf, textOf } from '../model/read.ts'
import {
  accountOf,
  clusterOf,
  countsOf,
  type Instance,
  instanceId,
  isEnabled,
  type ServerGroup,
  servingSiblings,
  siblingsOf,
  versionOf,
} from '../model/server-groups.ts'
import { plural } from '../words.ts'

export interface ServerGroupContext {
  readonly application: string
  /** Those of its cluster at least, for what takes over. */
  readonly groups: readonly ServerGroup[]
}

export function groupKey(group: ServerGroup): string {
  return objectKey('serverGroup', accountOf(group), group.region, group.name)
}

export interface ServerGroupPlace {
  readonly account: string
  readonly region: string
  readonly name: string
}

/** A server group, with those of its cluster. */
export function useServerGroup(application: string, { account, region, name }: ServerGroupPlace) {
  const events = applicationEvents(application, 'infrastructure')
  const live = useLive(
    '/applications/{applicationName}/serverGroups/{account}/{region}/{serverGroupName}',
    { path: { applicationName: application, account, region, serverGroupName: name } },
    { refresh: 'live', isBusy: (group) => pendingOf(groupKey(group)) !== undefined, events },
  )
  const group = live.reading.value.body
  const clusters = group === undefined ? undefined : `${account}:${clusterOf(group)}`
  const groups = useLive(
    '/applications/{applicationName}/serverGroups',
    clusters === undefined ? undefined : { path: { applicationName: application }, query: { clusters } },
    { refresh: 'steady', events },
  )
  const context: ServerGroupContext = { application, groups: groups.reading.value.body ?? [] }
  return { live, context }
}

interface Action extends MenuItem {
  /** Type of the job that does it. */
  readonly job?: string
}

/**
 * Actions in the order of their damage; what may not be done stays visible with the reason.
 *
 * @param filled Fields of an earlier job, for the dialogs
 */
export function useServerGroupActions(group: ServerGroup, context: ServerGroupContext, filled: Json = {}): readonly Action[] {
  const { route: navigate } = useLocation()
  const account = accountOf(group)
  const right = useRight({ operation: changeOperation, application: context.application, account })
  const pending = pendingOf(groupKey(group))
  const denied =
    pending !== undefined && pending.failure === undefined ? 'An action runs here; wait until it has ended.' : right.reason
  const refused = useCloudProvider(group.cloudProvider)?.refused
  const acts = new ServerGroupActs(group, context, filled)
  const others = siblingsOf(group, context.groups)
  return [
    {
      label: 'Open',
      icon: 'right',
      onSelect: () => navigate(to.serverGroup(context.application, { account, region: group.region, name: group.name })),
    },
    { job: 'resizeServerGroup', label: 'Resize', icon: 'resize', denied, onSelect: () => acts.resize() },
    isEnabled(group)
      ? { job: 'disableServerGroup', label: 'Disable', icon: 'power', denied, onSelect: () => acts.disable() }
      : { job: 'enableServerGroup', label: 'Enable', icon: 'power', denied, onSelect: () => acts.enable() },
    {
      job: 'rollbackServerGroup',
      label: 'Roll back',
      icon: 'undo',
      denied:
        denied ??
        (!isEnabled(group)
          ? 'It takes no traffic.'
          : others.length === 0
            ? 'There is no other server group to go back to.'
            : undefined),
      onSelect: () => acts.rollBack(),
    },
    {
      job: 'cloneServerGroup',
      label: 'Clone',
      icon: 'copy',
      denied: denied ?? refused?.['cloneServerGroup'],
      onSelect: () => acts.clone(),
    },
    { job: 'destroyServerGroup', label: 'Destroy', icon: 'trash', denied, destructive: true, onSelect: () => acts.destroy() },
  ]
}

/** Asks before the cluster of a server group goes back to another one. */
export function askRollBack(group: ServerGroup, context: ServerGroupContext): void {
  new ServerGroupActs(group, context, {}).rollBack()
}

class ServerGroupActs {
  readonly #group: ServerGroup
  readonly #context: ServerGroupContext
  readonly #filled: Json

  constructor(group: ServerGroup, context: ServerGroupContext, filled: Json) {
    this.#group = group
    this.#context = context
    this.#filled = filled
  }

  resize(): void {
    const { name, capacity } = this.#group
    const now = capacity?.desired ?? countsOf(this.#group).total
    const desired = signal(String(this.#filledSize() ?? now))
    const isPinned = capacity?.pinned === true || capacity?.min === capacity?.max
    const range = isPinned ? '' : ` Its range is ${capacity?.min ?? '–'} to ${capacity?.max ?? '–'}.`
    this.#ask('Resize', {
      effect: <p>{`${name} has ${plural(now, 'instance')}.${range} Instances that stop finish their requests first.`}</p>,
      level: () => (toSize(desired.value) === 0 ? 2 : 1),
      fields: <ResizeField desired={desired} now={now} />,
      change: () => {
        const size = toSize(desired.value)
        const [min, max] = isPinned
          ? [size, size]
          : [Math.min(capacity?.min ?? size, size), Math.max(capacity?.max ?? size, size)]
        return this.#change(`Resize ${name} to ${size}`, { type: 'resizeServerGroup', capacity: { min, max, desired: size } })
      },
    })
  }

  disable(): void {
    const { name } = this.#group
    const takers = servingSiblings(this.#group, this.#context.groups)
    this.#ask('Disable', {
      effect: (
        <>
          <p>{`${name} takes no more traffic; its ${countsOf(this.#group).total === 1 ? 'one instance keeps' : `${countsOf(this.#group).total} instances keep`} running.`}</p>
          <p>
            {takers.length === 0
              ? 'No other server group of this cluster takes traffic: requests will fail.'
              : `${takers.map((other) => `${other.name} (${countsOf(other).up} up)`).join(', ')} ${takers.length === 1 ? 'takes' : 'take'} all traffic.`}
          </p>
        </>
      ),
      change: () => this.#change(`Disable ${name}`, { type: 'disableServerGroup' }),
    })
  }

  enable(): void {
    const what = `Enable ${this.#group.name}`
    act(what, () => submitTask(this.#change(what, { type: 'enableServerGroup' })))
  }

  rollBack(): void {
    const { name } = this.#group
    const choices = siblingsOf(this.#group, this.#context.groups).toSorted((a, b) => (b.createdTime ?? 0) - (a.createdTime ?? 0))
    const older = choices.find((other) => (other.createdTime ?? 0) < (this.#group.createdTime ?? 0)) ?? choices[0]
    if (older === undefined) return
    const filled = objectOf(this.#filled['rollbackContext'])['restoreServerGroupName']
    const target = signal(choices.find((choice) => choice.name === filled)?.name ?? older.name)
    this.#ask('Roll back', {
      effect: <p>{`The chosen server group is enabled first; when it is healthy, ${name} is disabled and keeps running.`}</p>,
      fields: <TargetField target={target} choices={choices} />,
      change: () =>
        this.#change(`Roll back ${name} to ${target.value}`, {
          type: 'rollbackServerGroup',
          rollbackType: 'EXPLICIT',
          rollbackContext: {
            rollbackServerGroupName: name,
            restoreServerGroupName: target.value,
            targetHealthyRollbackPercentage: 100,
          },
          platformHealthOnlyShowOverride: false,
        }),
    })
  }

  clone(): void {
    const { name, capacity, moniker, region } = this.#group
    const account = accountOf(this.#group)
    // What is emptied stays as in the source.
    const before = versionOf(this.#group) ?? ''
    const usual = String(capacity?.desired ?? countsOf(this.#group).total)
    const image = signal(textOf(this.#filled['imageId']) ?? before)
    const desired = signal(String(this.#filledSize() ?? usual))
    const strategy = signal(textOf(this.#filled['strategy']) ?? '')
    this.#ask('Clone', {
      effect: <p>{`A new server group starts in the cluster, with everything as in ${name} but what you change here.`}</p>,
      fields: <CloneFields image={image} desired={desired} strategy={strategy} />,
      change: () => {
        const size = toSize(desired.value)
        const isChanged = image.value.trim() !== before && image.value.trim() !== ''
        const isResized = desired.value !== usual && desired.value !== ''
        return this.#change(`Clone ${name}`, {
          type: 'cloneServerGroup',
          application: this.#context.application,
          ...(moniker?.stack && { stack: moniker.stack }),
          ...(moniker?.detail && { freeFormDetails: moniker.detail }),
          source: { account, region, asgName: name, serverGroupName: name },
          ...(isChanged && { imageId: image.value.trim() }),
          ...(isResized && { capacity: { min: size, max: size, desired: size } }),
          ...(strategy.value !== '' && { strategy: strategy.value }),
        })
      },
    })
  }

  destroy(): void {
    const { name } = this.#group
    this.#ask('Destroy', {
      effect: (
        <p>{`${isEnabled(this.#group) ? `${name} is disabled first, then its` : 'Its'} ${countsOf(this.#group).total === 1 ? 'one instance stops' : `${countsOf(this.#group).total} instances stop`} and the server group is removed. This cannot be undone.`}</p>
      ),
      level: 2,
      destructive: true,
      change: () => this.#change(`Destroy ${name}`, { type: 'destroyServerGroup' }),
    })
  }

  #filledSize(): number | undefined {
    return numberOf(objectOf(this.#filled['capacity'])['desired'])
  }

  #ask(verb: string, question: Omit<Question, 'title' | 'action'> & { readonly change: () => Change }): void {
    const { name } = this.#group
    confirm({
      ...{ title: `${verb} ${name}?`, action: `${verb} ${name}`, typed: name },
      ...{ facts: factsOf(this.#group), account: accountOf(this.#group) },
      ...question,
    })
  }

  #change(description: string, job: { type: string } & Record<string, unknown>): Change {
    const { application } = this.#context
    return { application, description, job: [{ ...placeOf(this.#group), ...job }], object: groupKey(this.#group) }
  }
}

function placeOf(group: ServerGroup): Record<string, unknown> {
  return {
    cloudProvider: group.cloudProvider ?? group.type,
    credentials: accountOf(group),
    account: accountOf(group),
    region: group.region,
    regions: [group.region],
    serverGroupName: group.name,
    asgName: group.name,
    cluster: group.cluster,
    moniker: group.moniker,
  }
}

function factsOf(group: ServerGroup) {
  return [
    ['Server group', group.name],
    ['Account, region', `${accountOf(group)} / ${group.region}`],
    ['Runs', versionOf(group) ?? '–'],
  ] as const
}

type TextSignal = { value: string }

function ResizeField({ desired, now }: { desired: TextSignal; now: number }) {
  const wanted = toSize(desired.value)
  return (
    <DesiredField desired={desired}>
      <span class="help">
        {wanted === 0
          ? 'All instances stop; the server group stays.'
          : wanted < now
            ? `${plural(now - wanted, 'instance')} will stop after draining.`
            : wanted > now
              ? `${plural(wanted - now, 'instance')} will start.`
              : ''}
      </span>
    </DesiredField>
  )
}

function DesiredField({ desired, children }: { desired: TextSignal; children?: ComponentChildren }) {
  return (
    <label class="field">
      <span>Desired instances</span>
      <input
        type="number"
        min="0"
        max="1000"
        value={desired.value}
        onInput={(event) => (desired.value = event.currentTarget.value)}
      />
      {children}
    </label>
  )
}

function toSize(text: string): number {
  return Math.max(0, Math.floor(Number(text)) || 0)
}

const cloneStrategies = [
  ['', 'stay as they are'],
  ['redblack', 'are disabled once the new one is up'],
  ['highlander', 'are destroyed once the new one is up'],
] as const

function CloneFields({ image, desired, strategy }: Readonly<Record<'image' | 'desired' | 'strategy', TextSignal>>) {
  return (
    <>
      <TextField label="Image" value={image.value} onChange={(text) => (image.value = text)} />
      <DesiredField desired={desired} />
      <label class="field">
        <span>Other server groups of the cluster</span>
        <select value={strategy.value} onChange={(event) => (strategy.value = event.currentTarget.value)}>
          {cloneStrategies.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
    </>
  )
}

function TargetField({ target, choices }: { target: TextSignal; choices: readonly ServerGroup[] }) {
  return (
    <label class="field">
      <span>Go back to</span>
      <select value={target.value} onChange={(event) => (target.value = event.currentTarget.value)}>
        {choices.map((choice) => (
          <option key={choice.name} value={choice.name}>
            {`${choice.name} (${[versionOf(choice), plural(countsOf(choice).total, 'instance')].filter(Boolean).join(', ')})`}
          </option>
        ))}
      </select>
    </label>
  )
}

/** What can be done to one instance of a group. */
export function useInstanceActions(group: ServerGroup, { application }: ServerGroupContext) {
  const account = accountOf(group)
  const right = useRight({ operation: changeOperation, application, account })
  return (instance: Instance): readonly Action[] => {
    const id = instanceId(instance)
    const { desired, min } = group.capacity ?? {}
    const ask =
      (type: string, { title, effect, action }: Readonly<Record<'title' | 'effect' | 'action', string>>) =>
      () =>
        confirm({
          title,
          effect: <p>{effect}</p>,
          action,
          destructive: type !== 'rebootInstances',
          typed: id,
          account,
          facts: factsOf(group),
          change: () => ({
            application,
            description: action,
            job: [{ ...placeOf(group), type, instance: id, instanceIds: [id], zone: instance.zone }],
            object: groupKey(group),
          }),
        })
    const denied = right.reason
    const size = desired ?? countsOf(group).total
    const isSmallest = desired != null && min != null && desired <= min
    return [
      {
        label: 'Console output',
        icon: 'terminal',
        href: to.instance(application, { account, region: group.region, id }, { tab: 'console' }),
      },
      {
        job: 'rebootInstances',
        label: 'Reboot',
        icon: 'refresh',
        denied,
        onSelect: ask('rebootInstances', {
          title: `Reboot ${id}?`,
          effect: `${id} stops and starts again; meanwhile it takes no traffic.`,
          action: `Reboot ${id}`,
        }),
      },
      {
        job: 'terminateInstances',
        label: 'Terminate',
        icon: 'trash',
        destructive: true,
        denied,
        onSelect: ask('terminateInstances', {
          title: `Terminate ${id}?`,
          effect: `${id} stops; its server group starts another instance.`,
          action: `Terminate ${id}`,
        }),
      },
      {
        job: 'terminateInstanceAndDecrementServerGroup',
        label: 'Terminate and shrink',
        icon: 'trash',
        destructive: true,
        denied: denied ?? (isSmallest ? 'The server group is at its minimum size.' : undefined),
        onSelect: ask('terminateInstanceAndDecrementServerGroup', {
          title: `Terminate ${id} and shrink?`,
          effect: `${id} stops; its server group goes from ${plural(size, 'instance')} to ${Math.max(0, size - 1)}.`,
          action: `Terminate ${id} and shrink`,
        }),
      },
    ]
  }
}

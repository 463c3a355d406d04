/** What can be done to an object with a manifest, with what each action says before it is done. */
import { signal } from '@preact/signals'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { type Change, objectKey, pendingOf, submitTask } from '../api/actions.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { confirm } from '../components/confirm-dialog.tsx'
import { CheckField, TextField } from '../components/form-fields.tsx'
import type { MenuItem } from '../components/menu.tsx'
import { act } from '../components/notices.tsx'
import { formatRelative, now } from '../model/time.ts'
import { plural } from '../words.ts'
import { editManifest } from './edit-manifest.tsx'
import { isKind } from './names.ts'
import type { ObjectPlace } from './object.ts'
import { manifestWords } from './words.ts'
import type { Revision } from './workload.ts'

export interface ActedObject {
  readonly application: string
  readonly provider: string
  readonly place: ObjectPlace
  /** The object that manages it, and would take a change back. */
  readonly owner: string | undefined
  readonly replicas: number | undefined
  /** Undefined where the manifest is not read: neither pause nor resume is offered then. */
  readonly isPaused: boolean | undefined
  /** Newest first; undefined where they are not known. */
  readonly revisions: readonly Revision[] | undefined
  /** Load balancers whose traffic it takes, or would; undefined where that is not known. */
  readonly traffic: { readonly isEnabled: boolean; readonly balancers: readonly string[] } | undefined
}

export function keyOfObject({ account, location, name }: ObjectPlace): string {
  return objectKey('manifest', account, location, name)
}

export function placeText({ account, location }: ObjectPlace): string {
  return [account, location].filter((part) => part !== '').join(' / ')
}

/** In the order of their damage; what may not be done stays visible with the reason. */
export function useManifestActions(object: ActedObject): readonly MenuItem[] {
  const { route: navigate } = useLocation()
  const { application, place, owner } = object
  const right = useRight({ operation: changeOperation, application, account: place.account })
  const pending = pendingOf(keyOfObject(place))
  const denied =
    pending !== undefined && pending.failure === undefined ? 'An action runs here; wait until it has ended.' : right.reason
  const ofOwner = denied ?? (owner === undefined ? undefined : `${owner} owns it: change that one.`)
  const acts = new ManifestActs(object)
  return [
    { label: 'Open details', icon: 'right', onSelect: () => navigate(to.manifest(application, place)) },
    ...(isKind(place.name, 'deployment', 'replicaSet', 'statefulSet')
      ? [{ label: 'Scale', icon: 'resize', denied: ofOwner, onSelect: () => acts.scale() } as const]
      : []),
    ...rolloutItems(object, acts, denied),
    ...trafficItems(object, acts, ofOwner),
    { label: 'Edit', icon: 'edit', denied: ofOwner, onSelect: () => acts.edit() },
    { label: 'Delete', icon: 'trash', destructive: true, denied, onSelect: () => acts.remove() },
  ]
}

function rolloutItems(
  { place, isPaused, revisions }: ActedObject,
  acts: ManifestActs,
  denied: string | undefined,
): readonly MenuItem[] {
  if (!isKind(place.name, 'deployment', 'statefulSet', 'daemonSet')) return []
  const whilePaused = denied ?? (isPaused === true ? 'The rollout is paused: resume it first.' : undefined)
  const canPause = isKind(place.name, 'deployment') && isPaused !== undefined
  const isAlone = revisions?.length === 1
  return [
    { label: 'Restart', icon: 'refresh', denied: whilePaused, onSelect: () => acts.restart() },
    ...(canPause ? [pauseItem(isPaused, acts, denied)] : []),
    {
      label: manifestWords.undoRollout,
      icon: 'undo',
      denied: whilePaused ?? (isAlone ? 'There is no other revision.' : undefined),
      onSelect: () => acts.undo(),
    },
  ]
}

function pauseItem(isPaused: boolean, acts: ManifestActs, denied: string | undefined): MenuItem {
  return isPaused
    ? { label: 'Resume rollout', icon: 'play', denied, onSelect: () => acts.resume() }
    : { label: 'Pause rollout', icon: 'pause', denied, onSelect: () => acts.pause() }
}

function trafficItems({ place, traffic }: ActedObject, acts: ManifestActs, denied: string | undefined): readonly MenuItem[] {
  if (!isKind(place.name, 'replicaSet') || traffic === undefined) return []
  const { isEnabled, balancers } = traffic
  return [
    {
      label: isEnabled ? 'Disable' : 'Enable',
      icon: 'power',
      denied:
        denied ??
        (balancers.length === 0 ? 'No load balancer is named in its annotation, so there is no traffic to switch.' : undefined),
      onSelect: () => (isEnabled ? acts.disable(balancers) : acts.enable()),
    },
  ]
}

/** Undoes a rollout, with one revision chosen. */
export function undoTo(object: ActedObject, revision: number): void {
  new ManifestActs(object).undo(revision)
}

class ManifestActs {
  readonly #object: ActedObject

  constructor(object: ActedObject) {
    this.#object = object
  }

  scale(): void {
    const { replicas } = this.#object
    const { name } = this.#object.place
    const wanted = signal(String(replicas ?? 1))
    this.#ask({
      title: `Scale ${name}`,
      effect: replicas === undefined ? `The number of pods of ${name} changes.` : `${name} has ${plural(replicas, 'pod')}.`,
      action: `Scale ${name}`,
      level: () => (toCount(wanted.value) === 0 ? 2 : 1),
      fields: <CountField label={manifestWords.replicas} value={wanted} />,
      change: () =>
        this.#change(`Scale ${name} to ${toCount(wanted.value)}`, {
          type: 'scaleManifest',
          replicas: toCount(wanted.value),
        }),
    })
  }

  restart(): void {
    const { name } = this.#object.place
    const action = `Restart ${name}`
    this.#ask({
      title: `Restart ${name}?`,
      effect: `New pods replace those of ${name} one after another, with the same manifest.`,
      action,
      change: () => this.#change(action, { type: 'rollingRestartManifest' }),
    })
  }

  pause(): void {
    const { name } = this.#object.place
    const action = `Pause ${name}`
    this.#ask({
      title: `Pause the rollout of ${name}?`,
      effect: `Pods that run stay. Changes of ${name} wait until the rollout is resumed; undo and restart are refused meanwhile.`,
      action,
      change: () => this.#change(action, { type: 'pauseRolloutManifest' }),
    })
  }

  resume(): void {
    this.#act(`Resume ${this.#object.place.name}`, { type: 'resumeRolloutManifest' })
  }

  /** @param chosen Offered first; unless given, the one before the current. */
  undo(chosen?: number): void {
    const { name } = this.#object.place
    const older = this.#object.revisions?.filter(({ isCurrent }) => !isCurrent) ?? []
    const target = signal(String(chosen ?? older[0]?.number ?? ''))
    const action = `Undo ${name}`
    this.#ask({
      title: `Undo the rollout of ${name}?`,
      effect:
        older.length === 0
          ? `The pod template before the present one becomes that of ${name}, and its pods are replaced.`
          : `The pod template of the chosen revision becomes that of ${name}, and its pods are replaced.`,
      action,
      ...(older.length > 0 && { fields: <RevisionField revisions={older} target={target} /> }),
      change: () =>
        this.#change(action, {
          type: 'undoRolloutManifest',
          ...(older.length > 0 ? { revision: Number(target.value) } : { numRevisionsBack: 1 }),
        }),
    })
  }

  enable(): void {
    this.#act(`Enable ${this.#object.place.name}`, { type: 'enableManifest' })
  }

  disable(balancers: readonly string[]): void {
    const { name } = this.#object.place
    const action = `Disable ${name}`
    this.#ask({
      title: `Disable ${name}?`,
      effect: `${name} leaves ${balancers.join(', ')} and takes no more traffic; its pods keep running.`,
      action,
      change: () => this.#change(action, { type: 'disableManifest' }),
    })
  }

  edit(): void {
    void editManifest(this.#object)
  }

  remove(): void {
    const { place } = this.#object
    const cascades = signal(true)
    const grace = signal('')
    const action = `Delete ${place.name}`
    this.#ask({
      title: `Delete ${place.name}?`,
      effect: `${place.name} is removed from ${placeText(place)}. This cannot be undone.`,
      action,
      level: 2,
      destructive: true,
      fields: <DeleteFields cascades={cascades} grace={grace} />,
      change: () =>
        this.#change(action, {
          type: 'deleteManifest',
          options: {
            cascading: cascades.value,
            ...(grace.value.trim() !== '' && { gracePeriodSeconds: toCount(grace.value) }),
          },
        }),
    })
  }

  #ask({ effect, ...question }: ManifestQuestion): void {
    const { place } = this.#object
    confirm({
      ...question,
      effect: <p>{effect}</p>,
      typed: place.name,
      account: place.account,
      facts: [
        ['Account', place.account],
        [manifestWords.namespace, place.location === '' ? manifestWords.noNamespace : place.location],
      ],
    })
  }

  #act(what: string, job: Job): void {
    act(what, () => submitTask(this.#change(what, job)))
  }

  #change(description: string, job: Job): Change {
    const { application, provider, place } = this.#object
    const { account, location, name } = place
    const where = { cloudProvider: provider, account, credentials: account, location, manifestName: name }
    return { application, description, job: [{ ...where, ...job }], object: keyOfObject(place) }
  }
}

type Job = { readonly type: string } & Readonly<Record<string, unknown>>
type Confirmation = Extract<Parameters<typeof confirm>[0], { readonly change: () => Change }>
type ManifestQuestion = Omit<Confirmation, 'effect' | 'typed' | 'account' | 'facts'> & { readonly effect: string }

type TextSignal = { value: string }

function toCount(text: string): number {
  return Math.max(0, Math.floor(Number(text)) || 0)
}

function CountField({ label, value, help }: { label: string; value: TextSignal; help?: string }) {
  return (
    <TextField
      label={label}
      value={value.value}
      help={help}
      input={{ type: 'number', min: 0 }}
      onChange={(text) => {
        value.value = text
      }}
    />
  )
}

function DeleteFields({ cascades, grace }: { cascades: { value: boolean }; grace: TextSignal }) {
  return (
    <>
      <CheckField
        label="Delete what it owns as well, such as its pods"
        checked={cascades.value}
        onChange={(isOn) => {
          cascades.value = isOn
        }}
      />
      <CountField label="Grace period in seconds" value={grace} help="Empty for that of the pods." />
    </>
  )
}

function RevisionField({ revisions, target }: { revisions: readonly Revision[]; target: TextSignal }) {
  return (
    <label class="field">
      <span>{manifestWords.revision}</span>
      <select
        value={target.value}
        onChange={(event) => {
          target.value = event.currentTarget.value
        }}
      >
        {revisions.map(({ number, images, group }) => (
          <option key={number} value={String(number)}>
            {[
              manifestWords.revisionNumber(number),
              ...images,
              group.createdTime != null && formatRelative(group.createdTime, now.value),
            ]
              .filter(Boolean)
              .join(', ')}
          </option>
        ))}
      </select>
    </label>
  )
}

/** What can be done to an object with a manifest, with what each action says before it is done. */
import { to } from '../address.ts'
import {
  type Action,
  type ActionTarget,
  counted,
  startAction,
  toCount,
  useActions,
} from '../components/actions.tsx'
import { formatRelative, now } from '../model/time.ts'
import { plural } from '../words.ts'
import { editManifest } from './deploy.tsx'
import { isKind } from './object.ts'
import { type ActedObject, keyOfObject, placeText } from './use-object.ts'
import type { Revision } from './workload.ts'

export const noNamespace = 'none, it is of the whole cluster'

export function useManifestActions(object: ActedObject): readonly Action[] {
  const { place, owner, isPaused, traffic } = object
  const { name } = place
  const owned = owner && `${owner} owns it: change that one.`
  const isRolledOut = isKind(name, 'deployment', 'statefulSet', 'daemonSet')
  const offered: readonly (Action | false | undefined)[] = [
    { label: 'Open details', icon: 'right', href: to.manifest(object.application, place) },
    isKind(name, 'deployment', 'replicaSet', 'statefulSet') && { ...scale(object), denied: owned },
    isRolledOut && {
      type: 'rollingRestartManifest',
      label: 'Restart',
      icon: 'refresh',
      denied: isPaused ? paused : undefined,
      effect: `New pods replace those of ${name} one after another, with the same manifest.`,
    },
    isKind(name, 'deployment') && isPaused !== undefined && (isPaused ? resume : pause(name)),
    isRolledOut && undo(object),
    isKind(name, 'replicaSet') && traffic && enableOrDisable(name, traffic, owned),
    { label: 'Edit', icon: 'edit', denied: owned, onSelect: () => editManifest(object) },
    {
      type: 'deleteManifest',
      label: 'Delete',
      icon: 'trash',
      destructive: true,
      effect: `${name} is removed from ${placeText(place)}. This cannot be undone.`,
      values: { cascades: true, grace: '' },
      fields: {
        cascades: { label: 'Delete what it owns as well, such as its pods' },
        grace: {
          label: 'Grace period in seconds',
          input: counted,
          help: 'Empty for that of the pods.',
        },
      },
      job: ({ cascades, grace }) => ({
        options: {
          cascading: cascades === true,
          ...(grace !== '' && { gracePeriodSeconds: toCount(grace) }),
        },
      }),
    },
  ]
  return useActions(
    targetOf(object),
    offered.filter((action) => typeof action === 'object'),
  )
}

/** Undoes a rollout, with one revision chosen. */
export function undoTo(object: ActedObject, revision: number): void {
  startAction(targetOf(object), undo(object, revision))
}

function targetOf({ application, provider, place }: ActedObject): ActionTarget {
  const { account, location, name } = place
  return {
    application,
    account,
    name,
    object: keyOfObject(place),
    facts: [
      ['Account', account],
      ['Namespace', location || noNamespace],
    ],
    place: { cloudProvider: provider, account, credentials: account, location, manifestName: name },
  }
}

function scale({ place: { name }, replicas }: ActedObject): Action {
  return {
    type: 'scaleManifest',
    label: 'Scale',
    icon: 'resize',
    effect:
      replicas === undefined
        ? `The number of pods of ${name} changes.`
        : `${name} has ${plural(replicas, 'pod')}.`,
    values: { replicas: replicas ?? 1 },
    fields: { replicas: { label: 'Replicas', input: counted } },
    level: (values) => (toCount(values['replicas']) === 0 ? 2 : 1),
    task: (values) => `Scale ${name} to ${toCount(values['replicas'])}`,
    job: (values) => ({ replicas: toCount(values['replicas']) }),
  }
}

const paused = 'The rollout is paused: resume it first.'
const resume: Action = {
  type: 'resumeRolloutManifest',
  label: 'Resume rollout',
  verb: 'Resume',
  icon: 'play',
}

function pause(name: string): Action {
  return {
    type: 'pauseRolloutManifest',
    label: 'Pause rollout',
    verb: 'Pause',
    icon: 'pause',
    effect: `Pods that run stay. Changes of ${name} wait until the rollout is resumed; undo and restart are refused meanwhile.`,
  }
}

/** @param chosen Offered first; unless given, the one before the current. */
function undo({ place: { name }, isPaused, revisions }: ActedObject, chosen?: number): Action {
  const older = revisions?.filter(({ isCurrent }) => !isCurrent) ?? []
  const inWords = ({ number, images, group: { createdTime } }: Revision) =>
    [`Revision ${number}`, ...images, createdTime != null && formatRelative(createdTime, now.value)]
      .filter(Boolean)
      .join(', ')
  const choices = older.map((one) => [String(one.number), inWords(one)] as const)
  const template =
    choices.length === 0 ? 'the revision before the present one' : 'the chosen revision'
  return {
    type: 'undoRolloutManifest',
    label: 'Undo rollout',
    verb: 'Undo',
    icon: 'undo',
    denied: isPaused ? paused : revisions?.length === 1 ? 'There is no other revision.' : undefined,
    effect: `The pod template of ${template} becomes that of ${name}, and its pods are replaced.`,
    values: { revision: chosen ?? older[0]?.number },
    fields: choices.length === 0 ? {} : { revision: { label: 'Revision', choices } },
    job: (values) =>
      choices.length === 0 ? { numRevisionsBack: 1 } : { revision: Number(values['revision']) },
  }
}

function enableOrDisable(
  name: string,
  { isEnabled, balancers }: NonNullable<ActedObject['traffic']>,
  owned?: string,
): Action {
  const none = 'No load balancer is named in its annotation, so there is no traffic to switch.'
  const denied = owned ?? (balancers.length === 0 ? none : undefined)
  if (!isEnabled) return { type: 'enableManifest', label: 'Enable', icon: 'power', denied }
  return {
    type: 'disableManifest',
    label: 'Disable',
    icon: 'power',
    denied,
    effect: `${name} leaves ${balancers.join(', ')} and takes no more traffic; its pods keep running.`,
  }
}

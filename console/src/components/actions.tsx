/** Actions as data: an entry of a menu, the question before it, and the job that does it. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { to } from '../address.ts'
import { type Change, completeTask, dismiss, pendingOf, submitTask } from '../api/actions.ts'
import { changeOperation, useDenial } from '../api/rights.ts'
import { IconButton } from './button.tsx'
import { confirm, type Question } from './confirm-dialog.tsx'
import type { MenuItem } from './menu.tsx'
import { act } from './notices.tsx'
import { Duration, Name, NameLink, StatusMark } from './text.tsx'

/** What actions are done to. */
export interface ActionTarget extends Pick<Change, 'application' | 'object'> {
  readonly account?: string
  /** Name in texts, which the reader types. */
  readonly name: string
  readonly facts?: Question['facts']
  /** What all its jobs begin with. */
  readonly place?: JsonObject
}

/** Without an effect nothing is asked. One that has `href` or `onSelect` does that instead. */
export interface Action
  extends MenuItem,
    Pick<Question, 'effect' | 'level' | 'values' | 'fields' | 'note'> {
  /** Type of the job. */
  readonly type?: string
  /** In its texts, before the name; its label unless given. */
  readonly verb?: string
  readonly job?: (values: JsonObject) => JsonObject
  /** The task in words: verb and name unless given. */
  readonly task?: (values: JsonObject) => string
  /** Part of the path of lists that are read again; the dialog stays until the task has ended. */
  readonly list?: string
  /** Unless the reader has closed the dialog meanwhile. */
  readonly onDone?: () => void
}

/** Sorted by their damage; what may not be done stays visible with the reason. */
export function useActions<One extends Action>(
  target: ActionTarget,
  actions: readonly One[],
): readonly One[] {
  const refusal = useDenial(changeOperation, target.application, target.account)
  const pending = pendingOf(target.object)
  const denied =
    pending !== undefined && pending.failure === undefined
      ? 'An action runs here; wait until it has ended.'
      : refusal
  return actions.map((action) =>
    action.href === undefined
      ? {
          ...action,
          denied: denied ?? action.denied,
          onSelect: action.onSelect ?? (() => startAction(target, action)),
        }
      : action,
  )
}

export function startAction({ place, ...target }: ActionTarget, action: Action): void {
  const { application, account, name, object, facts = [] } = target
  const {
    label,
    verb = label,
    type = '',
    effect,
    values = {},
    fields = {},
    destructive = false,
    list,
    onDone,
  } = action
  const what = `${verb} ${name}`
  const change = (given: JsonObject): Change => ({
    application,
    description: action.task?.(given) ?? what,
    job: [{ ...place, type, ...action.job?.(given) }],
    object,
  })
  if (effect === undefined) {
    act(what, () => submitTask(change(values)))
    return
  }
  confirm({
    action: what,
    effect,
    typed: name,
    account,
    facts,
    destructive,
    values,
    fields,
    note: action.note,
    onDone,
    level: action.level ?? (destructive ? 2 : 1),
    ...(list === undefined
      ? { change }
      : { run: (given: JsonObject) => completeTask(change(given)), refreshes: list }),
  })
}

/** Attributes of a field for a number of things. */
export const counted = { type: 'number', min: 0 } as const

/** 0 for what is no number. */
export function toCount(text: unknown = ''): number {
  return Math.max(0, Math.floor(Number(text)) || 0)
}

export function PendingChip({ object }: { object: string }) {
  const pending = pendingOf(object)
  if (pending === undefined) return null
  const { id, description, failure, startedAtMs } = pending
  if (failure === undefined) {
    return (
      <a class="chip is-running" href={to.task(id)}>
        <StatusMark kind="running" /> <Name text={description} max={50} />{' '}
        <Duration from={startedAtMs} />
      </a>
    )
  }
  return (
    <span class="chip is-failed wraps">
      <StatusMark kind="failed" />
      <NameLink href={to.task(id)} text={description} max={50} />
      <span>
        <Name text={failure} max={200} />
      </span>
      <IconButton icon="close" label="Close" small onClick={() => dismiss(id)} />
    </span>
  )
}

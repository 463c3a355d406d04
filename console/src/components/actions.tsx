/** Actions as data: an entry of a menu, the question before it, and the job that does it. */
import { type Signal, signal } from '@preact/signals'
import { type Change, completeTask, pendingOf, submitTask } from '../api/actions.ts'
import { refreshMatching } from '../api/live.ts'
import { changeOperation, useDenial } from '../api/rights.ts'
import type { Json } from '../model/read.ts'
import { confirm, type Question } from './confirm-dialog.tsx'
import { CheckField, type Choice, ChoiceField, TextField } from './form-fields.tsx'
import type { MenuItem } from './menu.tsx'
import { act } from './notices.tsx'

/** What actions are done to. */
export interface ActionTarget extends Pick<Change, 'application' | 'object'> {
  readonly account: string | undefined
  /** As texts have it, and as the reader types it. */
  readonly name: string
  readonly facts?: Question['facts']
  /** What all its jobs begin with. */
  readonly place: Json
}

/** Texts of fields; a check is "true" or empty. */
type Values = Readonly<Record<string, string>>

interface ActionField {
  readonly name: string
  readonly label: string
  /** At first. */
  readonly value: string
  readonly kind?: 'count' | 'check'
  readonly choices?: readonly Choice[]
  readonly help?: (value: string) => string | undefined
}

/** One that has `href` or `onSelect` does that instead. */
export interface Action extends MenuItem {
  /** Of the job. */
  readonly type?: string
  /** In its texts, before the name; its label unless given. */
  readonly verb?: string
  /** What happens, and whether it can be undone. Without it nothing is asked. */
  readonly effect?: Question['effect']
  /** 2 for what is destructive unless given. */
  readonly level?: 1 | 2 | ((values: Values) => 1 | 2)
  readonly fields?: readonly ActionField[]
  /** Further fields of the job. */
  readonly job?: (values: Values) => Json
  /** The task in words: verb and name unless given. */
  readonly task?: (values: Values) => string
  /** Part of the path of lists that are read again; the dialog stays until the task has ended. */
  readonly list?: string
  /** Unless the reader has closed the dialog meanwhile. */
  readonly onDone?: () => void
}

/** In the order of their damage; what may not be done stays visible with the reason. */
export function useActions<One extends Action>(target: ActionTarget, actions: readonly One[]): readonly One[] {
  const refusal = useDenial({ operation: changeOperation, application: target.application, account: target.account })
  const pending = pendingOf(target.object)
  const denied =
    pending !== undefined && pending.failure === undefined ? 'An action runs here; wait until it has ended.' : refusal
  return actions.map((action) =>
    action.href === undefined
      ? { ...action, denied: denied ?? action.denied, onSelect: action.onSelect ?? (() => startAction(target, action)) }
      : action,
  )
}

export function startAction(target: ActionTarget, action: Action): void {
  const { application, account, name, object, facts = [], place } = target
  const { label, verb = label, type = '', effect, fields = [], destructive = false, level = destructive ? 2 : 1, list } = action
  const what = `${verb} ${name}`
  const values = signal<Values>(Object.fromEntries(fields.map((field) => [field.name, field.value])))
  const change = (): Change => ({
    application,
    description: action.task?.(values.value) ?? what,
    job: [{ ...place, type, ...action.job?.(values.value) }],
    object,
  })
  if (effect === undefined) {
    act(what, () => submitTask(change()))
    return
  }
  const run = async (isOpen: () => boolean) => {
    await completeTask(change())
    refreshMatching(list ?? application)
    if (isOpen()) action.onDone?.()
  }
  confirm({
    ...{ action: what, effect: typeof effect === 'string' ? <p>{effect}</p> : effect },
    ...{ typed: name, account, facts, destructive },
    level: typeof level === 'number' ? level : () => level(values.value),
    ...(fields.length > 0 && { fields: <Fields fields={fields} values={values} /> }),
    ...(list === undefined ? { change } : { run }),
  })
}

/** Of a field; 0 for what is no number. */
export function toCount(text = ''): number {
  return Math.max(0, Math.floor(Number(text)) || 0)
}

function Fields({ fields, values }: { fields: readonly ActionField[]; values: Signal<Values> }) {
  return fields.map(({ name, label, kind, choices, help }) => {
    const value = values.value[name] ?? ''
    const onChange = (text: string) => {
      values.value = { ...values.value, [name]: text }
    }
    const shared = { label, value, help: help?.(value), onChange }
    if (kind === 'check')
      return <CheckField key={name} label={label} checked={value !== ''} onChange={(isOn) => onChange(isOn ? 'true' : '')} />
    if (choices !== undefined) return <ChoiceField key={name} {...shared} choices={choices} />
    return <TextField key={name} {...shared} {...(kind === 'count' && { input: { type: 'number', min: 0 } })} />
  })
}

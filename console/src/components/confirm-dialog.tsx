/** Says the effect before the click: level 1 one button, level 2 the typed name of the object. */

import { useSignal, useSignalEffect } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { type Change, judgeChange, submitTask } from '../api/actions.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { Banner } from './banner.tsx'
import { openDialog } from './dialog.tsx'
import { FormDialog } from './form-dialog.tsx'
import { KeyValue } from './key-value.tsx'

export interface Question {
  /** The action as a question unless given. */
  readonly title?: string
  /** What happens, and whether it can be undone. */
  readonly effect: ComponentChildren
  /** Verb and object, on the button. */
  readonly action: string
  /** Instead of "Cancel" on the button that changes nothing, where the action itself cancels something. */
  readonly dismissal?: string
  /** 2 where a name is to be typed, unless given. Read again when a signal that it reads changes. */
  readonly level?: 1 | 2 | (() => 1 | 2)
  /** Where it is done: an account may ask for the typed name of everything. */
  readonly account?: string
  /** Level 2, and an objection: what has to be typed, the name of the object. */
  readonly typed?: string
  readonly destructive?: boolean
  /** Facts about what it is done to: object, account, region, what runs there. */
  readonly facts?: readonly (readonly [string, ComponentChildren])[]
  /** Fields that belong to the action; they keep their values themselves. */
  readonly fields?: ComponentChildren
}

/** A failure is shown in the dialog, which stays. */
type Confirmation = Question &
  (
    | {
        /**
         * Done on the click. Where the user has closed the dialog meanwhile, it leads to no other page.
         *
         * @throws {ApiError}
         */
        readonly run: (isOpen: () => boolean) => Promise<unknown>
        /** Words of the paths that are read again after that. */
        readonly refreshes?: string
      }
    | {
        /** Submitted on the click, and judged before it. It may read signals. */
        readonly change: () => Change
        readonly typed: string
        readonly onSubmitted?: () => void
      }
  )

export function confirm(confirmation: Confirmation): void {
  openDialog(<ConfirmDialog {...confirmation} />)
}

function ConfirmDialog(confirmation: Confirmation) {
  const { effect, action, title = `${action}?`, dismissal, typed, destructive, facts = [], fields } = confirmation
  const { level = typed === undefined ? 1 : 2 } = confirmation
  const [text, setText] = useState('')
  const objections = useObjections('change' in confirmation ? confirmation.change : undefined)
  const isRefused = objections.length > 0
  const isChallenged = useChallenge(confirmation.account)
  const asked = (typeof level === 'function' ? level() : level) === 2 || isRefused || isChallenged ? typed : undefined
  const run = async (isOpen: () => boolean) => {
    if ('change' in confirmation) {
      await submitTask(confirmation.change())
      confirmation.onSubmitted?.()
    } else {
      await confirmation.run(isOpen)
      if (confirmation.refreshes !== undefined) refreshMatching(confirmation.refreshes)
    }
    return undefined
  }
  return (
    <FormDialog
      title={title}
      action={action}
      {...(isRefused && { submitLabel: 'Try anyway' })}
      {...(dismissal !== undefined && { dismissal })}
      kind={destructive ? 'destructive' : 'primary'}
      isReady={asked === undefined || text.trim() === asked}
      isChecked
      run={run}
    >
      <div class="prose">{effect}</div>
      {facts.length > 0 && <KeyValue facts={facts} />}
      {fields}
      <div aria-live="polite">
        {objections.map((objection) => (
          <Banner key={objection} tone="warning">
            {objection}
          </Banner>
        ))}
      </div>
      {asked !== undefined && (
        <label class="field">
          <span>
            To confirm, type <code>{asked}</code>
          </span>
          <input value={text} onInput={(event) => setText(event.currentTarget.value)} autoComplete="off" spellcheck={false} />
        </label>
      )}
    </FormDialog>
  )
}

/** Whether the operators of the account want destructive actions to be confirmed by name. */
function useChallenge(account: string | undefined): boolean {
  const accounts = useLive('/credentials', account === undefined ? undefined : { query: {} }, { refresh: 'slow' }).reading.value
    .body
  return accounts?.find(({ name }) => name === account)?.['challengeDestructiveActions'] === true
}

/** After the last change of a field. */
const judgeDelayMs = 250

/** What the change would be refused for. Where it cannot be judged there are none: the engine decides when it runs. */
function useObjections(change: (() => Change) | undefined): readonly string[] {
  const objections = useSignal<readonly string[]>([])
  const isAsked = useRef(false)
  useSignalEffect(() => {
    if (change === undefined) return undefined
    const wanted = change()
    let isCurrent = true
    const judge = async () => {
      const found = await judgeChange(wanted).catch(() => [])
      if (isCurrent) objections.value = found
    }
    const timer = setTimeout(judge, isAsked.current ? judgeDelayMs : 0)
    isAsked.current = true
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  })
  return objections.value
}

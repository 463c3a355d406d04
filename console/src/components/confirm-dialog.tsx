/** Says the effect before the click: level 1 one button, level 2 the typed name of the object. */
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { words } from '../words.ts'
import { Banner } from './banner.tsx'
import { closeDialog, Dialog, openDialog } from './dialog.tsx'
import { FailedAction } from './states.tsx'
import { useSubmit } from './use-submit.ts'

export interface Confirmation {
  readonly title: string
  /** What happens, and whether it can be undone. */
  readonly effect: ComponentChildren
  /** Verb and object, on the button. */
  readonly action: string
  readonly level: 1 | 2
  /** Level 2: what has to be typed. */
  readonly typed?: string
  readonly destructive?: boolean
  /** Of what it is done to: object, account, region, what runs there. */
  readonly facts?: readonly (readonly [string, ComponentChildren])[]
  /** An objection that is known beforehand, such as that of a traffic guard. */
  readonly objection?: string | undefined
  /** Fields that belong to the action; they keep their values themselves. */
  readonly fields?: ComponentChildren
  /** Done on the click; a failure is shown in the dialog, which stays. @throws {ApiError} */
  readonly run: () => Promise<void>
}

export function confirm(confirmation: Confirmation): void {
  openDialog(<ConfirmDialog {...confirmation} />)
}

export function ConfirmDialog({
  title,
  effect,
  action,
  level,
  typed,
  destructive,
  facts = [],
  objection,
  fields,
  run,
}: Confirmation) {
  const [text, setText] = useState('')
  const id = useId()
  const isComplete = level === 1 || typed === undefined || text.trim() === typed
  const { busy, error, submit } = useSubmit(isComplete, async () => {
    await run()
    closeDialog()
  })
  const footer = (
    <>
      <button type="button" class="button" onClick={closeDialog}>
        {words.cancel}
      </button>
      <button
        type="submit"
        form={id}
        class={`button ${destructive ? 'is-destructive' : 'is-primary'}`}
        aria-disabled={busy || !isComplete}
        aria-busy={busy}
      >
        {action}
      </button>
    </>
  )
  return (
    <Dialog title={title} footer={footer} class="is-narrow">
      <form id={id} onSubmit={submit}>
        <div class="prose">{effect}</div>
        {facts.length > 0 && (
          <dl class="facts">
            {facts.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        )}
        {objection !== undefined && <Banner tone="warning">{objection}</Banner>}
        {fields}
        {level === 2 && typed !== undefined && (
          <label class="field">
            <span>
              {words.typeName} <code>{typed}</code>
            </span>
            <input value={text} onInput={(event) => setText(event.currentTarget.value)} autoComplete="off" spellcheck={false} />
          </label>
        )}
        {error !== undefined && <FailedAction error={error} />}
      </form>
    </Dialog>
  )
}

/** Says the effect before the click, and asks for what the action needs: level 1 one button, level 2 the typed name of the object. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Change, previewChange, submitTask } from '../api/actions.ts'
import { useLive } from '../api/live.ts'
import { Banner, Button, CopyButton } from './button.tsx'
import { closeDialog, Dialog, openDialog } from './dialog.tsx'
import { FormDialog, type Outcome } from './form-dialog.tsx'
import { Fields, type FieldTable } from './form-fields.tsx'
import { KeyValue } from './text.tsx'

export interface Question<Values extends JsonObject = JsonObject, Answer = unknown>
  extends Outcome<Answer> {
  /** Verb and object, on the button. */
  readonly action: string
  /** The action unless given; where nothing is filled in, what has an effect is asked as a question. */
  readonly title?: string
  /** What happens, and whether it can be undone. */
  readonly effect?: ComponentChildren
  /** Instead of "Cancel" on the button that changes nothing, where the action itself cancels something. */
  readonly dismissal?: string
  /** 2 where a name is to be typed, unless given. */
  readonly level?: 1 | 2 | ((values: Values) => 1 | 2)
  /** Where it is done: an account may ask for the typed name of everything. */
  readonly account?: string
  /** Level 2, and an objection: what has to be typed, the name of the object. */
  readonly typed?: string
  readonly destructive?: boolean
  /** Facts about what it is done to: object, account, region, what runs there. */
  readonly facts?: readonly (readonly [string, ComponentChildren])[]
  readonly values?: Values
  readonly fields?: FieldTable
  /** Below the fields. */
  readonly note?: (values: Values) => ComponentChildren
  /** Previewed before the click; and submitted on it, unless it runs something else. */
  readonly change?: (values: Values) => Change
  /** @throws {ApiError} */
  readonly run?: (values: Values) => Promise<Answer>
}

export function confirm<Values extends JsonObject, Answer>(
  question: Question<Values, Answer>,
): void {
  openDialog(<ConfirmDialog {...question} />)
}

function ConfirmDialog<Values extends JsonObject, Answer>(question: Question<Values, Answer>) {
  const {
    action,
    effect,
    dismissal,
    typed,
    facts = [],
    fields = {},
    change,
    refreshes,
    next,
    onDone,
  } = question
  const isAsked = effect !== undefined && Object.keys(fields).length === 0
  const { title = isAsked ? `${action}?` : action, level = typed === undefined ? 1 : 2 } = question
  const [values, setValues] = useState(question.values ?? ({} as Values))
  const [text, setText] = useState('')
  const objections = useObjections(change?.(values))
  const isRefused = objections.length > 0
  const isChallenged = useChallenge(question.account)
  const asked =
    (typeof level === 'function' ? level(values) : level) === 2 || isRefused || isChallenged
      ? typed
      : undefined
  const submit = async () => change && submitTask(change(values))
  return (
    <FormDialog
      title={title}
      action={action}
      dismissal={dismissal}
      refreshes={refreshes}
      next={next}
      onDone={onDone}
      submitLabel={isRefused ? 'Try anyway' : undefined}
      kind={question.destructive ? 'destructive' : 'primary'}
      isReady={asked === undefined || text.trim() === asked}
      isChecked
      run={() => (question.run?.(values) ?? submit()) as Promise<Answer>}
    >
      {effect !== undefined && <div class="prose">{effect}</div>}
      {facts.length > 0 && <KeyValue facts={facts} />}
      <Fields
        fields={fields}
        values={values}
        onChange={(name, value) => setValues({ ...values, [name]: value })}
      />
      {question.note?.(values)}
      <div aria-live="polite">
        {objections.map((objection) => (
          <Banner key={objection} tone="warning" children={objection} />
        ))}
      </div>
      {asked !== undefined && (
        <label class="field">
          <span>
            To confirm, type <code>{asked}</code>
          </span>
          <input
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            autoComplete="off"
            spellcheck={false}
          />
        </label>
      )}
    </FormDialog>
  )
}

/** Whether the operators of the account want destructive actions to be confirmed by name. */
function useChallenge(account: string | undefined) {
  const { body } = useLive(
    '/credentials',
    account === undefined ? undefined : { query: {} },
    'slow',
  )
  return body?.find(({ name }) => name === account)?.['challengeDestructiveActions'] === true
}

/** Pause after the last change of a field. */
const previewDelayMs = 250

/** What the change would be refused for. Where that is unknown there are none: the engine decides when it runs. */
function useObjections(change: Change | undefined) {
  const [objections, setObjections] = useState<readonly string[]>([])
  const pauseMs = useRef(0)
  useEffect(() => {
    if (change === undefined) return
    let isCurrent = true
    const preview = async () => {
      const found = await previewChange(change).catch(() => [])
      if (isCurrent) setObjections(found)
    }
    const timer = setTimeout(preview, pauseMs.current)
    pauseMs.current = previewDelayMs
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [JSON.stringify(change)])
  return objections
}

/** For what the API gives away once; only the statement that it was stored closes the dialog. @param what "secret" or "password" */
export function SecretDialog({ what, of, secret }: { what: string; of: string; secret: string }) {
  const footer = (
    <Button kind="primary" onClick={closeDialog}>
      I have stored it
    </Button>
  )
  return (
    <Dialog title={`The ${what} of ${of}`} footer={footer} class="is-narrow" closable={false}>
      <p class="prose">{`This ${what} is shown once. Store it now; Fairlead keeps only its hash.`}</p>
      <p class="secret">
        <code class="grow">{secret}</code>
        <CopyButton text={secret} label={`Copy the ${what}`} />
      </p>
    </Dialog>
  )
}

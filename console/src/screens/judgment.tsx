/** A judgment that waits: the question, what each answer does, and the answer in one click. */
import { useState } from 'preact/hooks'
import { ApiError } from '../api/api-error.ts'
import { client, unwrap } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { startOperation, useRight } from '../api/rights.ts'
import { judgesOf } from '../api/waiting.ts'
import { Button } from '../components/button.tsx'
import { Denied } from '../components/denied.tsx'
import { Name } from '../components/name.tsx'
import { PlainText } from '../components/plain-text.tsx'
import { FailedAction } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Duration } from '../components/time.tsx'
import { useSubmit } from '../components/use-submit.ts'
import { type Execution, isWaiting, type Stage, titleOf } from '../model/execution.ts'
import { objectsOf, textOf } from '../model/read.ts'
import { ask, followers, patchStage } from './execution-actions.tsx'

/** On phones it stays at the bottom of the screen. */
export function Judgment({ execution, stage }: { execution: Execution; stage: Stage }) {
  const right = useRight({ operation: startOperation, application: execution.application }).reason
  const judges = judgesOf(stage)
  const reason = right ?? (judges && `Only ${judges.join(' or ')} may judge this.`)
  const inputs = objectsOf(stage.context['judgmentInputs']).flatMap(({ value }) => textOf(value) ?? [])
  const [input, setInput] = useState(inputs.length === 1 ? inputs[0] : undefined)
  const isOpen = inputs.length > 0 && input === undefined
  const denied = reason ?? (isOpen ? 'Choose an answer first.' : undefined)
  const { busy, error, submit } = useSubmit({
    what: `Judge “${titleOf(stage)}”`,
    isReady: denied === undefined,
    run: () => judge(execution, stage, 'continue', input),
  })
  const name = execution.name ?? execution.id
  const stop = () =>
    ask({
      action: `Stop ${name}`,
      effect: `${name} fails at this judgment. What it deployed before stays.`,
      destructive: true,
      run: () => judge(execution, stage, 'stop', input),
    })
  const next = followers(execution, stage).map(titleOf)
  const effect = next.length === 0 ? 'No stage follows: the run ends.' : `Continue starts ${next.join(', ')}.`
  return (
    <form class="judgment" onSubmit={submit} aria-label={`Judgment of ${titleOf(stage)}`}>
      <Question stage={stage} />
      {inputs.length > 0 && (
        <fieldset class="row" aria-label="Answer">
          {inputs.map((value) => (
            <label key={value} class="check">
              <input type="radio" name="judgment" checked={input === value} onChange={() => setInput(value)} />{' '}
              <Name text={value} />
            </label>
          ))}
        </fieldset>
      )}
      <div class="row">
        <Button kind="primary" type="submit" denied={denied} aria-busy={busy}>
          Continue
        </Button>
        <Button denied={reason} onClick={stop}>
          Stop …
        </Button>
        <span class="muted grow">{denied === undefined ? effect : <Denied reason={denied} />}</span>
      </div>
      {error !== undefined && <FailedAction error={error} />}
    </form>
  )
}

function Question({ stage }: { stage: Stage }) {
  const instructions = textOf(stage.context['instructions'])
  return (
    <>
      <h2 class="row">
        <StatusMark kind="waiting" />
        <Name text={titleOf(stage)} max={60} />
        <span class="muted regular">
          waits for <Duration from={stage.startTime} />
        </span>
      </h2>
      {instructions !== undefined && (
        <div class="instructions">
          <PlainText text={instructions} />
        </div>
      )}
    </>
  )
}

/** A blanked answer means that the role was refused; a failure of the read after it says nothing about it. @throws {ApiError} */
async function judge(execution: Execution, stage: Stage, judgmentStatus: 'continue' | 'stop', judgmentInput: string | undefined) {
  await patchStage(execution, stage, { judgmentStatus, ...(judgmentInput !== undefined && { judgmentInput }) })
  const current = await unwrap(client.GET('/pipelines/{id}', { params: { path: { id: execution.id } } })).catch(() => undefined)
  refreshMatching(execution.id)
  const now = current?.stages.find(({ id }) => id === stage.id)
  if (now === undefined || !isWaiting(now)) return
  throw new ApiError({ status: 403, message: 'Your judgment was not accepted: you do not have a role that this judgment needs.' })
}

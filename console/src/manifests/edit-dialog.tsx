/** Manifests are written, then planned; nothing is deployed before the plan was seen. */
import { useState } from 'preact/hooks'
import { type Change, submitTask } from '../api/actions.ts'
import { ApiError } from '../api/api-error.ts'
import { client, unwrap } from '../api/client.ts'
import { closeDialog, openDialog } from '../components/dialog.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { ChoiceField } from '../components/form-fields.tsx'
import { Lazy, loadCodeEditor, loadText } from '../editor/lazy.tsx'
import { openLeaveDialog } from '../leave.tsx'
import { type Json, textOf, valueIn } from '../model/read.ts'
import { plural } from '../words.ts'
import { Plan } from './plan.tsx'
import { findNoManifest, toPlan } from './stage.ts'

interface EditDialogProps {
  readonly target: {
    readonly title: string
    readonly application: string
    readonly provider: string
    /** Those to choose from. */
    readonly accounts: readonly string[]
    /** What the task changes. */
    readonly object: string
  }
  readonly text: string
  /** Where it comes back: what the text began as, and the account that was chosen. */
  readonly original?: string
  readonly chosen?: string | undefined
}

export function EditDialog({ target, text: first, original = first, chosen = target.accounts[0] ?? '' }: EditDialogProps) {
  const [text, setText] = useState(first)
  const [account, setAccount] = useState(chosen)
  const edit = () => openDialog(<EditDialog target={target} text={text} original={original} chosen={account} />)
  const run = async () => {
    const manifests = await readManifests(text)
    const body = { account, application: target.application, manifests: [...manifests] }
    const plan = await unwrap(client.POST('/manifests/plan', { body }))
    return <PlanDialog change={toChange(target, account, manifests)} plan={toPlan(plan)} onClose={edit} />
  }
  const close = () => {
    if (text === original) return closeDialog()
    openLeaveDialog('The manifests that you have changed are not deployed. They would be lost.', () => {}, edit)
  }
  return (
    <FormDialog title={target.title} action="Show the plan" onClose={close} run={run} next={(plan) => plan} wide>
      <p class="muted">Nothing is changed before you have seen the plan.</p>
      {target.accounts.length > 1 && (
        <ChoiceField label="Account" value={account} choices={target.accounts} onChange={setAccount} />
      )}
      <div class="manifest-editor">
        <Lazy load={loadCodeEditor} props={{ text: first, label: 'Manifests as YAML', onChange: setText }} />
      </div>
    </FormDialog>
  )
}

/** @throws {ApiError} for a text that is not made of manifests */
async function readManifests(text: string): Promise<readonly Json[]> {
  const read = (await loadText()).readDocuments(text)
  if ('problem' in read) throw refusal(read.problem)
  const wrong = findNoManifest(read.documents)
  if (wrong > 0) throw refusal(`Document ${wrong} is no manifest: it needs kind and metadata.`)
  if (read.documents.length === 0) throw refusal('Enter at least one manifest.')
  return read.documents as readonly Json[]
}

function refusal(message: string): ApiError {
  return new ApiError({ status: 400, message })
}

function toChange(target: EditDialogProps['target'], account: string, manifests: readonly Json[]): Change {
  const { application, provider, object } = target
  const names = manifests.map((manifest) => textOf(valueIn(manifest, 'metadata.name')) ?? textOf(manifest['kind']))
  const place = { cloudProvider: provider, account, credentials: account, source: 'text', moniker: { app: application } }
  return {
    application,
    description: `Deploy ${names.join(', ')}`,
    job: [{ type: 'deployManifest', ...place, manifests: [...manifests] }],
    object,
  }
}

interface PlanDialogProps {
  readonly change: Change
  readonly plan: ReturnType<typeof toPlan>
  readonly onClose: () => void
}

function PlanDialog({ change: deployment, plan, onClose }: PlanDialogProps) {
  const isRefused = plan.some(({ change }) => change === 'error')
  return (
    <FormDialog
      title={`Deploy ${plural(plan.length, 'object')}?`}
      action="Deploy"
      dismissal="Back to the editor"
      onClose={onClose}
      isReady={!isRefused}
      run={() => submitTask(deployment)}
      wide
    >
      {plan.every(({ change }) => change === 'none') && (
        <p class="muted">The cluster has all of this already. A deployment changes nothing.</p>
      )}
      {isRefused && <p class="error">The cluster refuses this. Go back and correct it.</p>}
      <Plan objects={plan} />
    </FormDialog>
  )
}

/** Manifests are written, then planned; nothing is deployed before the plan was seen. */
import { useState } from 'preact/hooks'
import { submitTask } from '../api/actions.ts'
import { ApiError } from '../api/api-error.ts'
import { closeDialog, openDialog } from '../components/dialog.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { ChoiceField } from '../components/form-fields.tsx'
import { openLeaveDialog } from '../components/leave-dialog.tsx'
import { Lazy } from '../editor/lazy.tsx'
import { loadYaml } from '../editor/load-yaml.ts'
import { loadYamlEditor } from '../editor/load-yaml-editor.tsx'
import type { Json } from '../model/read.ts'
import { plural } from '../words.ts'
import { type DeployTarget, loadPlan, toDeployChange } from './deploy.ts'
import { findNoManifest, type PlannedObject } from './plan.ts'
import { Plan } from './plan-view.tsx'
import { manifestWords } from './words.ts'

interface EditDialogProps {
  readonly target: DeployTarget
  readonly text: string
  /** What the text began as, where it comes back changed. */
  readonly original?: string
}

export function EditDialog({ target, text: first, original = first }: EditDialogProps) {
  const [text, setText] = useState(first)
  const [account, setAccount] = useState(target.account)
  const run = async () => {
    const chosen = { ...target, account }
    const manifests = await readManifests(text)
    const plan = await loadPlan(chosen, manifests)
    return <PlanDialog target={chosen} text={text} original={original} manifests={manifests} plan={plan} />
  }
  const close = () => {
    if (text === original) return closeDialog()
    const stay = () => openDialog(<EditDialog target={{ ...target, account }} text={text} original={original} />)
    openLeaveDialog('The manifests that you have changed are not deployed. They would be lost.', () => {}, stay)
  }
  return (
    <FormDialog
      title={target.place === undefined ? manifestWords.newTitle : manifestWords.editOf(target.place.name)}
      action="Show the plan"
      onClose={close}
      run={run}
      wide
    >
      <p class="muted">Nothing is changed before you have seen the plan.</p>
      {target.accounts.length > 1 && (
        <ChoiceField label="Account" value={account} choices={target.accounts} onChange={setAccount} />
      )}
      <div class="manifest-editor">
        <Lazy load={loadYamlEditor} props={{ text: first, label: 'Manifests as YAML', onChange: setText }} />
      </div>
    </FormDialog>
  )
}

/** @throws {ApiError} for a text that is not made of manifests */
async function readManifests(text: string): Promise<readonly Json[]> {
  const read = (await loadYaml()).readDocuments(text)
  if (read.kind === 'unreadable') throw refusal(`Line ${read.line}: ${read.message}`)
  const wrong = findNoManifest(read.documents)
  if (wrong !== undefined) throw refusal(`Document ${wrong} is no manifest: it needs kind and metadata.`)
  if (read.documents.length === 0) throw refusal('Enter at least one manifest.')
  return read.documents as readonly Json[]
}

function refusal(message: string): ApiError {
  return new ApiError({ status: 400, message })
}

interface PlanDialogProps extends EditDialogProps {
  readonly manifests: readonly Json[]
  readonly plan: readonly PlannedObject[]
}

function PlanDialog({ target, text, original = text, manifests, plan }: PlanDialogProps) {
  const isRefused = plan.some(({ change }) => change === 'error')
  const isNothing = plan.every(({ change }) => change === 'none')
  const run = async () => {
    await submitTask(toDeployChange(target, manifests))
    return undefined
  }
  return (
    <FormDialog
      title={`Deploy ${plural(plan.length, 'object')}?`}
      action="Deploy"
      dismissal="Back to the editor"
      onClose={() => openDialog(<EditDialog target={target} text={text} original={original} />)}
      isReady={!isRefused}
      run={run}
      wide
    >
      {isNothing && <p class="muted">The cluster has all of this already. A deployment changes nothing.</p>}
      {isRefused && <p class="error">The cluster refuses this. Go back and correct it.</p>}
      <Plan objects={plan} />
    </FormDialog>
  )
}

/** Manifests are written, then planned; nothing is deployed before the plan was seen. */

import { fieldAt, type JsonObject, scalarOf } from '@fairlead/base/json/values.ts'
import { useState } from 'preact/hooks'
import { type Change, objectKey, submitTask } from '../api/actions.ts'
import { ApiError, client } from '../api/client.ts'
import { changeOperation, useDenial } from '../api/rights.ts'
import { PendingChip } from '../components/actions.tsx'
import { Button } from '../components/button.tsx'
import { closeDialog, openDialog } from '../components/dialog.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { ChoiceField } from '../components/form-fields.tsx'
import { act } from '../components/notices.tsx'
import { Lazy } from '../components/screen.tsx'
import { loadCodeEditor, loadText } from '../editor/lazy.tsx'
import { openLeaveDialog } from '../leave.tsx'
import { plural } from '../words.ts'
import { toEditable } from './object.ts'
import { Plan } from './plan.tsx'
import { findNoManifest, type PlannedObject, toPlan } from './stage.ts'
import {
  type ActedObject,
  keyOfObject,
  manifestPath,
  pathOf,
  useManifestAccounts,
} from './use-object.ts'

/** What is written, and where it is deployed. */
interface Draft {
  readonly title: string
  readonly application: string
  readonly provider: string
  /** Accounts to choose from. */
  readonly accounts: readonly string[]
  readonly account: string
  /** What the task changes. */
  readonly object: string
  readonly text: string
  /** What the text began as. */
  readonly original: string
}

/** Opens an object as it was deployed. */
export function editManifest({ application, provider, place }: ActedObject): void {
  const title = `Edit ${place.name}`
  act(title, async () => {
    const [view, yaml] = await Promise.all([
      client.GET(manifestPath, { params: { path: pathOf(place) } }),
      loadText(),
    ])
    const text = yaml.writeDocuments([toEditable(view)])
    const target = {
      title,
      application,
      provider,
      accounts: [place.account],
      account: place.account,
      object: keyOfObject(place),
    }
    openDialog(<EditDialog {...target} text={text} original={text} />)
  })
}

export function DeployButton({ application }: { application: string }) {
  const accounts = useManifestAccounts()
  const reason = useDenial(changeOperation, application)
  const [first] = accounts
  if (first === undefined) return null
  const title = 'Deploy manifests'
  // Of new objects, which have no page yet.
  const object = objectKey('manifests', application)
  const names = accounts.map(({ name }) => name)
  const target = {
    title,
    application,
    provider: first.provider,
    accounts: names,
    account: first.name,
    object,
  }
  const open = () => openDialog(<EditDialog {...target} text="" original="" />)
  return (
    <>
      <PendingChip object={object} />
      <Button icon="plus" denied={reason} onClick={open}>
        {title}
      </Button>
    </>
  )
}

function EditDialog(draft: Draft) {
  const { title, application, provider, accounts, object, original } = draft
  const [text, setText] = useState(draft.text)
  const [account, setAccount] = useState(draft.account)
  const edit = () => openDialog(<EditDialog {...draft} text={text} account={account} />)
  const run = async () => {
    const manifests = await readManifests(text)
    const plan = toPlan(
      await client.POST('/manifests/plan', { body: { account, application, manifests } }),
    )
    const names = manifests.map(
      (manifest) => scalarOf(fieldAt(manifest, 'metadata', 'name')) ?? scalarOf(manifest['kind']),
    )
    const place = {
      cloudProvider: provider,
      account,
      credentials: account,
      source: 'text',
      moniker: { app: application },
    }
    const job = [{ type: 'deployManifest', ...place, manifests }]
    const change = { application, description: `Deploy ${names.join(', ')}`, job, object }
    return <PlanDialog change={change} plan={plan} onClose={edit} />
  }
  const close = () => {
    if (text === original) return closeDialog()
    openLeaveDialog(
      'The manifests that you have changed are not deployed. They would be lost.',
      () => {},
      edit,
    )
  }
  return (
    <FormDialog
      title={title}
      action="Show the plan"
      onClose={close}
      run={run}
      next={(plan) => plan}
      wide
    >
      <p class="muted">Nothing is changed before you have seen the plan.</p>
      {accounts.length > 1 && (
        <ChoiceField label="Account" value={account} choices={accounts} onChange={setAccount} />
      )}
      <div class="manifest-editor">
        <Lazy
          load={loadCodeEditor}
          props={{ text: draft.text, label: 'Manifests as YAML', onChange: setText }}
        />
      </div>
    </FormDialog>
  )
}

/** @throws {ApiError} for a text that is not made of manifests */
async function readManifests(text: string) {
  const read = (await loadText()).readDocuments(text)
  const documents = 'problem' in read ? [] : read.documents
  const wrong = findNoManifest(documents)
  const problem =
    ('problem' in read && read.problem) ||
    (wrong > 0 && `Document ${wrong} is no manifest: it needs kind and metadata.`) ||
    (documents.length === 0 && 'Enter at least one manifest.')
  if (problem) throw new ApiError({ status: 400, message: problem })
  return documents as JsonObject[]
}

function PlanDialog({
  change,
  plan,
  onClose,
}: {
  change: Change
  plan: readonly PlannedObject[]
  onClose: () => void
}) {
  const isRefused = plan.some((object) => object.change === 'error')
  const words = {
    title: `Deploy ${plural(plan.length, 'object')}?`,
    action: 'Deploy',
    dismissal: 'Back to the editor',
  }
  return (
    <FormDialog
      {...words}
      onClose={onClose}
      isReady={!isRefused}
      run={() => submitTask(change)}
      wide
    >
      {plan.every((object) => object.change === 'none') && (
        <p class="muted">The cluster has all of this already. A deployment changes nothing.</p>
      )}
      {isRefused && <p class="error">The cluster refuses this. Go back and correct it.</p>}
      <Plan objects={plan} />
    </FormDialog>
  )
}

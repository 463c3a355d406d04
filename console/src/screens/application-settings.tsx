/** Settings of an application, a tab for each kind; edits of all tabs are reviewed and saved together. */

import { type JsonObject, objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ScreenProps } from '../address.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { calls, warningsOf } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { useAttributes } from '../api/pipelines.ts'
import { changeOperation, useDenial } from '../api/rights.ts'
import { Banner, Button } from '../components/button.tsx'
import { Denied } from '../components/denied.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Difference } from '../components/difference.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { reportWarning } from '../components/notices.tsx'
import { ApplicationHead, Loaded, Panel } from '../components/screen.tsx'
import { AddressTabs } from '../components/tabs.tsx'
import { useLeaveGuard } from '../leave.tsx'
import { useKeyDown } from '../letter-keys.ts'
import { conflictsOf, type Edits, edit, valuesOf, withEdits } from '../model/edits.ts'
import { plural } from '../words.ts'
import { SecretsTab } from './application-secrets.tsx'
import { EnvironmentFields } from './environment-fields.tsx'
import {
  DeleteTab,
  type FieldsProps,
  GeneralFields,
  GuardFields,
  labelOf,
  NotificationFields,
  PermissionFields,
  Revisions,
  type TabProps,
  toList,
  toRecord,
} from './settings-tabs.tsx'

export function ApplicationSettings({ params: { application = '' } }: ScreenProps) {
  const { attributes, notifications } = useStored(application)
  const edits = useSignal<Edits>({})
  const denied = useDenial(changeOperation, application)
  useLeaveGuard({
    isNeeded: () => countOf(edits.peek()) > 0,
    loss: () =>
      `${plural(countOf(edits.peek()), 'setting')} of ${application} ${countOf(edits.peek()) === 1 ? 'is' : 'are'} not saved.`,
    discard: () => undefined,
  })
  const form = (title: string, Fields: FormProps['Fields']) => (
    <Form application={application} denied={denied} edits={edits} title={title} Fields={Fields} />
  )
  const general = () => (
    <div class="stack">
      {form('General', GeneralFields)}
      <Revisions application={application} />
    </div>
  )
  const notified = () => (
    <Loaded live={notifications}>{() => form('Notifications', NotificationFields)}</Loaded>
  )
  const tabs = [
    { id: 'general', label: 'General', body: general },
    { id: 'permissions', label: 'Permissions', body: () => form('Permissions', PermissionFields) },
    {
      id: 'environments',
      label: 'Environments',
      body: () => form('Environments', EnvironmentFields),
    },
    { id: 'guards', label: 'Traffic guards', body: () => form('Traffic guards', GuardFields) },
    { id: 'notifications', label: 'Notifications', body: notified },
    {
      id: 'secrets',
      label: 'Secrets',
      body: () => <SecretsTab application={application} denied={denied} />,
    },
    {
      id: 'delete',
      label: 'Delete',
      body: () => <DeleteTab application={application} denied={denied} />,
    },
  ]
  const none = `There is no application ${application}, or you may not read it.`
  return (
    <>
      <ApplicationHead application={application} tab="Settings" />
      <Loaded live={attributes} rows={6} icon="search" empty={none}>
        {() => <AddressTabs label="Settings" tabs={tabs} />}
      </Loaded>
    </>
  )
}

/** The attributes and the notifications of an application: two records, edited as one. */
function useStored(application: string) {
  const attributes = useAttributes(application)
  const path = { type: 'application', application }
  const notifications = useLive('/notifications/{type}/{application}', { path }, 'slow')
  const record: JsonObject = notifications.body ?? {}
  const stored: JsonObject = { ...attributes.body?.attributes, notifications: toList(record) }
  return { attributes, notifications, record, stored }
}

function countOf(edits: Edits) {
  return Object.keys(edits).length
}

interface FormProps extends TabProps {
  readonly edits: Signal<Edits>
  readonly title: string
  readonly Fields: ComponentType<FieldsProps>
}

function Form({ application, denied, edits, title, Fields }: FormProps) {
  const { stored } = useStored(application)
  // Fields that keep rows of their own begin anew when edits are thrown away.
  const [generation, setGeneration] = useState(0)
  const set = (name: string, value: unknown) => {
    edits.value = edit(edits.peek(), stored, name, value)
  }
  const discard = () => {
    edits.value = {}
    setGeneration(generation + 1)
  }
  const count = countOf(edits.value)
  const objection = denied ?? (count === 0 ? 'Nothing is changed.' : undefined)
  const review = () =>
    openDialog(<Review application={application} edits={edits.peek()} onSaved={discard} />)
  useKeyDown((event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 's') return
    event.preventDefault()
    if (document.querySelector('dialog[open]') === null && objection === undefined) review()
  })
  return (
    <Panel title={title}>
      <Fields
        key={generation}
        application={application}
        denied={denied}
        set={set}
        values={withEdits(stored, edits.value)}
      />
      <div class="foot">
        <Button kind="primary" denied={objection} onClick={review}>
          Review changes
        </Button>
        {count > 0 && <Button onClick={discard}>Discard</Button>}
        <span class="muted">
          {objection === undefined ? plural(count, 'change') : <Denied reason={objection} />}
        </span>
      </div>
    </Panel>
  )
}

/** What is stored now beside what will be, with what another user has changed meanwhile. */
function Review({
  application,
  edits,
  onSaved,
}: {
  application: string
  edits: Edits
  onSaved: () => void
}) {
  const { attributes, notifications, record, stored } = useStored(application)
  useEffect(() => {
    attributes.refresh()
    notifications.refresh()
  }, [])
  const conflicts = conflictsOf(edits, stored)
  const authors = conflicts.map(
    (key) =>
      scalarOf((key === 'notifications' ? record : stored)['lastModifiedBy']) ?? 'Another user',
  )
  const run = async () => {
    const { notifications: list, ...changed } = valuesOf(edits)
    if (Object.keys(changed).length > 0) await saveAttributes(application, changed, stored['email'])
    if (list !== undefined) await saveNotifications(application, toRecord(record, objectsOf(list)))
    onSaved()
  }
  return (
    <FormDialog
      title={`Save the settings of ${application}?`}
      action={`Save ${application}`}
      run={run}
    >
      {conflicts.length > 0 && (
        <Banner tone="warning">
          {[...new Set(authors)].join(', ')} changed {conflicts.map(labelOf).join(', ')} while you
          were editing. Saving replaces that with your values.
        </Banner>
      )}
      <Difference
        values={Object.entries(edits).map(([key, { to }]) => ({
          name: labelOf(key),
          before: stored[key],
          after: to,
        }))}
      />
    </FormDialog>
  )
}

/** Every change of an application repeats its address, as engines ask for it. @throws {ApiError} */
async function saveAttributes(application: string, changed: JsonObject, email: unknown) {
  await completeTask({
    application,
    description: `Update ${application}`,
    job: [
      {
        type: 'updateApplication',
        application: { ...(email ? { email } : {}), ...changed, name: application },
      },
    ],
    object: objectKey('application', application),
  })
  refreshMatching('/applications')
  refreshMatching('/auth/explain')
}

/** @throws {ApiError} */
async function saveNotifications(application: string, body: JsonObject) {
  const params = { path: { type: 'application', application } }
  const call = calls.POST('/notifications/{type}/{application}', { params, body })
  reportWarning(`Notifications of ${application} saved`, await warningsOf(call))
  refreshMatching('/notifications')
}

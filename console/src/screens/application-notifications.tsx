/** Notifications of an application: who hears of its runs, and how. */
import { useState } from 'preact/hooks'
import { actionHeaders, client, unwrap, warningsOf } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import type { Right } from '../api/rights.ts'
import { Button } from '../components/button.tsx'
import { CheckList, ChoiceField, TextField } from '../components/form-fields.tsx'
import { act, reportWarning } from '../components/notices.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { Loaded } from '../components/states.tsx'
import { type Json, objectsOf, textOf, textsOf } from '../model/read.ts'
import { SettingsForm } from './settings-form.tsx'

const channels = [
  'email',
  'slack',
  'microsoftteams',
  'googlechat',
  'webhook',
  'githubStatus',
  'gitlabStatus',
  'giteaStatus',
  'sms',
  'pubsub',
] as const

export function NotificationsTab({ application, right }: { application: string; right: Right }) {
  const live = useLive('/notifications/{type}/{application}', { path: { type: 'application', application } }, { refresh: 'slow' })
  const metadata = useLive('/notifications/metadata', {}, { refresh: 'open' }).reading.value.body ?? []
  const known = [...channels, ...metadata.map(({ notificationType }) => toKind(notificationType))]
  return (
    <Loaded live={live} rows={3}>
      {() => (
        <SettingsForm
          application={application}
          form="notifications"
          title="Notifications"
          right={right}
          live={live}
          storedIn={(record: Json) => ({ ...toList(record), lastModifiedBy: record['lastModifiedBy'] })}
          save={(edits, record) => saveNotifications(application, toRecord(record, objectsOf(edits['notifications']?.to)))}
        >
          {({ notifications }, set) => (
            <Rows
              list={objectsOf(notifications)}
              onChange={(next) => set('notifications', next)}
              {...{ application, channels: known, right }}
            />
          )}
        </SettingsForm>
      )}
    </Loaded>
  )
}

async function saveNotifications(application: string, body: Json): Promise<void> {
  const warnings = await warningsOf(
    client.POST('/notifications/{type}/{application}', {
      params: { path: { type: 'application', application } },
      headers: actionHeaders,
      body,
    }),
  )
  reportWarning(`Notifications of ${application} saved`, warnings)
  refreshMatching('/notifications')
}

/** Spinnaker writes its kinds in capitals where definitions have small letters. */
function toKind(type: string): string {
  return type === type.toUpperCase() ? type.toLowerCase() : type
}

/** The record has a list for each channel; the form has one list. */
function toList(record: Json): { readonly notifications: readonly Json[] } {
  return {
    notifications: Object.entries(record).flatMap(([type, list]) =>
      objectsOf(list).map((notification) => ({ type, ...notification })),
    ),
  }
}

/** Fields that are no lists stay; lists that became empty are sent, because the record is replaced. */
function toRecord(record: Json, notifications: readonly Json[]): Json {
  const others = Object.entries(record).filter(([, value]) => !Array.isArray(value))
  const byType = Map.groupBy(notifications, ({ type }) => textOf(type) ?? 'email')
  return { ...Object.fromEntries(others), ...Object.fromEntries(byType) }
}

interface RowsProps {
  readonly application: string
  readonly list: readonly Json[]
  readonly channels: readonly string[]
  readonly right: Right
  readonly onChange: (list: readonly Json[]) => void
}

function Rows({ application, list, channels: known, right, onChange }: RowsProps) {
  return (
    <div class="answer">
      <p class="muted">Who is notified of every run of this application. Each run shows what became of its messages.</p>
      {list.length === 0 && <p>No notification. Runs of this application send no message.</p>}
      <RecordRows
        records={list}
        onChange={onChange}
        label={(number) => `Notification ${number}`}
        removeLabel="Remove notification"
        addLabel="Add notification"
        added={{ type: 'email', level: 'application', address: '', when: ['pipeline.failed'] }}
      >
        {(notification, put) => (
          <>
            <NotificationFields notification={notification} channels={known} put={put} />
            <TestButton {...{ application, notification, right }} number={list.indexOf(notification) + 1} />
          </>
        )}
      </RecordRows>
    </div>
  )
}

interface NotificationFieldsProps {
  readonly notification: Json
  readonly channels: readonly string[]
  readonly put: (change: Json) => void
}

const events = [
  { id: 'pipeline.starting', label: 'a run starts' },
  { id: 'pipeline.complete', label: 'a run succeeds' },
  { id: 'pipeline.failed', label: 'a run fails' },
]

function NotificationFields({ notification, channels: known, put }: NotificationFieldsProps) {
  return (
    <>
      <ChoiceField
        label="Channel"
        value={textOf(notification['type']) ?? ''}
        choices={known}
        onChange={(type) => put({ type })}
      />
      <TextField label="To" value={textOf(notification['address']) ?? ''} onChange={(address) => put({ address })} />
      <CheckList label="When" choices={events} chosen={textsOf(notification['when'])} onChange={(when) => put({ when })} />
    </>
  )
}

interface TestButtonProps {
  readonly application: string
  readonly notification: Json
  /** Its place in the form, from 1. */
  readonly number: number
  readonly right: Right
}

/** Sends what the form shows, saved or not. */
function TestButton({ application, notification, number, right }: TestButtonProps) {
  const [result, setResult] = useState<string>()
  const type = textOf(notification['type']) ?? ''
  const address = textOf(notification['address']) ?? ''
  const send = async () => {
    setResult(undefined)
    const { delivered, reason } = await unwrap(
      client.POST('/notifications/{type}/{application}/test', {
        params: { path: { type: 'application', application } },
        headers: actionHeaders,
        body: { type, address },
      }),
    )
    setResult(delivered ? 'The test was delivered.' : `The test was not delivered: ${reason ?? ''}`)
  }
  return (
    <p class="row">
      <Button
        small
        denied={right.reason}
        aria-label={`Send a test of notification ${number}`}
        onClick={() => act(`Send a test of notification ${number}`, send)}
      >
        Send a test
      </Button>
      <span role="status">{result}</span>
    </p>
  )
}

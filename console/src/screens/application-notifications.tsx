/** Notifications of an application: who hears of its runs, and how. */
import { useState } from 'preact/hooks'
import { actionHeaders, client, unwrap, warningsOf } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { CheckList, Fields, type FieldTable } from '../components/form-fields.tsx'
import { act, reportWarning } from '../components/notices.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { channels, toChannel } from '../model/notifications.ts'
import { type Json, objectsOf, textOf, textsOf } from '../model/read.ts'
import { SettingsForm, type SettingsTabProps } from './settings-form.tsx'

const moments = [
  { id: 'pipeline.starting', label: 'a run starts' },
  { id: 'pipeline.complete', label: 'a run succeeds' },
  { id: 'pipeline.failed', label: 'a run fails' },
]

export function NotificationsTab({ application, denied }: SettingsTabProps) {
  const path = { type: 'application', application }
  const live = useLive('/notifications/{type}/{application}', { path }, { refresh: 'slow' })
  const metadata = useLive('/notifications/metadata', {}, { refresh: 'open' }).reading.value.body ?? []
  const known = new Set([...channels, ...metadata.map(({ notificationType }) => toChannel(notificationType))])
  const fields = { type: { label: 'Channel', choices: [...known] }, address: { label: 'To' } }
  return (
    <SettingsForm
      application={application}
      denied={denied}
      of="notifications"
      title="Notifications"
      live={live}
      storedIn={(record: Json) => ({ notifications: toList(record), lastModifiedBy: record['lastModifiedBy'] })}
      labelOf={() => 'Notifications'}
      save={(edits, record) => save(application, toRecord(record, objectsOf(edits['notifications']?.to)))}
    >
      {({ notifications }, set) => (
        <div class="answer">
          <p class="muted">Who is notified of every run of this application. Each run shows what became of its messages.</p>
          {objectsOf(notifications).length === 0 && <p>No notification. Runs of this application send no message.</p>}
          <RecordRows
            records={objectsOf(notifications)}
            onChange={(next) => set('notifications', next)}
            label={(number) => `Notification ${number}`}
            removeLabel="Remove notification"
            addLabel="Add notification"
            added={{ type: 'email', level: 'application', address: '', when: ['pipeline.failed'] }}
          >
            {(notification, put) => <NotificationFields {...{ application, denied, fields, notification, put }} />}
          </RecordRows>
        </div>
      )}
    </SettingsForm>
  )
}

async function save(application: string, body: Json): Promise<void> {
  const params = { path: { type: 'application', application } }
  const call = client.POST('/notifications/{type}/{application}', { params, headers: actionHeaders, body })
  reportWarning(`Notifications of ${application} saved`, await warningsOf(call))
  refreshMatching('/notifications')
}

/** The record has a list for each channel; the form has one list. */
function toList(record: Json): readonly Json[] {
  return Object.entries(record).flatMap(([type, list]) => objectsOf(list).map((notification) => ({ type, ...notification })))
}

/** Fields that are no lists stay; lists that became empty are sent, because the record is replaced. */
function toRecord(record: Json, notifications: readonly Json[]): Json {
  const others = Object.entries(record).filter(([, value]) => !Array.isArray(value))
  return { ...Object.fromEntries(others), ...Object.groupBy(notifications, ({ type }) => textOf(type) ?? 'email') }
}

interface NotificationFieldsProps extends SettingsTabProps {
  readonly fields: FieldTable
  readonly notification: Json
  readonly put: (change: Json) => void
}

/** With a button that sends what the form shows, saved or not. */
function NotificationFields({ application, denied, fields, notification, put }: NotificationFieldsProps) {
  const [result, setResult] = useState('')
  const [type = '', address = ''] = [textOf(notification['type']), textOf(notification['address'])]
  const send = async () => {
    setResult('')
    const params = { path: { type: 'application', application } }
    const message = { params, headers: actionHeaders, body: { type, address } }
    const { delivered, reason = '' } = await unwrap(client.POST('/notifications/{type}/{application}/test', message))
    setResult(delivered ? 'The test was delivered.' : `The test was not delivered: ${reason}`)
  }
  return (
    <>
      <Fields fields={fields} values={notification} onChange={(name, value) => put({ [name]: value })} />
      <CheckList label="When" choices={moments} chosen={textsOf(notification['when'])} onChange={(when) => put({ when })} />
      <p class="row">
        <Button small denied={denied} onClick={() => act(`Send a test to ${address}`, send)}>
          Send a test
        </Button>
        <span role="status">{result}</span>
      </p>
    </>
  )
}

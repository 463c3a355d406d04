/** Notifications of an application: who hears of its runs, and how. */
import { useEffect, useState } from 'preact/hooks'
import { actionHeaders, client, unwrap, warningsOf } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import type { Right } from '../api/rights.ts'
import { Button } from '../components/button.tsx'
import { openDialog } from '../components/dialog.tsx'
import { CheckList, ChoiceField, TextField } from '../components/form-fields.tsx'
import { act, reportWarning } from '../components/notices.tsx'
import { Panel } from '../components/panel.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { Loaded } from '../components/states.tsx'
import { type Json, objectsOf, textOf, textsOf } from '../model/read.ts'
import { settingsWords } from '../settings-words.ts'
import { ReviewDialog, type ReviewProps, SaveBar, useEdits } from './settings-form.tsx'

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
  const live = useNotifications(application)
  return (
    <Loaded live={live} rows={3}>
      {(record) => <Notifications application={application} record={record} right={right} />}
    </Loaded>
  )
}

function useNotifications(application: string) {
  return useLive('/notifications/{type}/{application}', { path: { type: 'application', application } }, { refresh: 'slow' })
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

function Notifications({ application, record, right }: { application: string; record: Json; right: Right }) {
  const { values, set, edits, reset } = useEdits(application, 'notifications', toList(record))
  const metadata = useLive('/notifications/metadata', {}, { refresh: 'open' }).reading.value.body ?? []
  const known = [...channels, ...metadata.map(({ notificationType }) => toKind(notificationType))]
  const list = objectsOf(values.notifications)
  return (
    <Panel title={settingsWords.notifications}>
      <div class="answer">
        <p class="muted">{settingsWords.notificationsMeaning}</p>
        {list.length === 0 && <p>{settingsWords.noNotifications}</p>}
        <RecordRows
          records={list}
          onChange={(next) => set('notifications', next)}
          label={settingsWords.notification}
          removeLabel={settingsWords.removeNotification}
          addLabel={settingsWords.addNotification}
          added={{ type: 'email', level: 'application', address: '', when: ['pipeline.failed'] }}
        >
          {(notification, put) => (
            <>
              <NotificationFields notification={notification} channels={known} put={put} />
              <TestButton
                application={application}
                notification={notification}
                number={list.indexOf(notification) + 1}
                right={right}
              />
            </>
          )}
        </RecordRows>
      </div>
      <SaveBar
        edits={edits}
        right={right}
        onDiscard={reset}
        onReview={() => openDialog(<ReviewNotifications application={application} edits={edits} onSaved={reset} />)}
      />
    </Panel>
  )
}

interface NotificationFieldsProps {
  readonly notification: Json
  readonly channels: readonly string[]
  readonly put: (change: Json) => void
}

const events = Object.entries(settingsWords.events).map(([id, label]) => ({ id, label }))

function NotificationFields({ notification, channels: known, put }: NotificationFieldsProps) {
  return (
    <>
      <ChoiceField
        label={settingsWords.channel}
        value={textOf(notification['type']) ?? ''}
        choices={known}
        onChange={(type) => put({ type })}
      />
      <TextField
        label={settingsWords.recipient}
        value={textOf(notification['address']) ?? ''}
        onChange={(address) => put({ address })}
      />
      <CheckList
        label={settingsWords.when}
        choices={events}
        chosen={textsOf(notification['when'])}
        onChange={(when) => put({ when })}
      />
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
    setResult(delivered ? settingsWords.testDelivered : settingsWords.testFailed(reason ?? ''))
  }
  return (
    <p class="row">
      <Button
        small
        denied={right.reason}
        aria-label={settingsWords.sendTestTo(number)}
        onClick={() => act(settingsWords.sendTestTo(number), send)}
      >
        {settingsWords.sendTest}
      </Button>
      <span role="status">{result}</span>
    </p>
  )
}

function ReviewNotifications({ application, edits, onSaved }: ReviewProps) {
  const live = useNotifications(application)
  useEffect(() => live.refresh(), [])
  const record: Json = live.reading.value.body ?? {}
  const save = async () => {
    const warnings = await warningsOf(
      client.POST('/notifications/{type}/{application}', {
        params: { path: { type: 'application', application } },
        headers: actionHeaders,
        body: toRecord(record, objectsOf(edits['notifications']?.to)),
      }),
    )
    reportWarning(settingsWords.savedWithWarnings(application), warnings)
    refreshMatching('/notifications')
    onSaved()
    return undefined
  }
  const stored = { ...toList(record), lastModifiedBy: record['lastModifiedBy'] }
  return <ReviewDialog application={application} edits={edits} stored={stored} save={save} />
}

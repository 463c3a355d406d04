/** Settings of an application: attributes, permissions, traffic guards, notifications, and its end. */
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { actionHeaders, client, type Schemas, unwrap } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { changeOperation, type Right, useRight } from '../api/rights.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { Banner } from '../components/banner.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { DataTable } from '../components/data-table.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Difference } from '../components/difference.tsx'
import { Field } from '../components/field.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { CheckField, ChoiceField, TextField } from '../components/form-fields.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { PermissionsField } from '../components/permissions-field.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Tabs } from '../components/tabs.tsx'
import { Time } from '../components/time.tsx'
import { conflictsOf, type Edits, edit, isSame, valuesOf, withEdits } from '../model/edits.ts'
import { type Json, numberOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import { accountOf } from '../model/server-groups.ts'
import type { ScreenProps } from '../screen.ts'
import { settingsWords } from '../settings-words.ts'
import { words } from '../words.ts'
import { useAccounts } from './infrastructure-head.tsx'

type Attributes = Schemas['ApplicationAttributes']

const tabs = [
  { id: 'general', label: settingsWords.general },
  { id: 'permissions', label: settingsWords.permissions },
  { id: 'guards', label: settingsWords.guards },
  { id: 'notifications', label: settingsWords.notifications },
  { id: 'delete', label: settingsWords.delete },
] as const

/** Words of the attributes, which the review shows. */
const labels: Readonly<Record<string, string>> = {
  email: words.email,
  description: words.description,
  cloudProviders: settingsWords.providers,
  instancePort: settingsWords.instancePort,
  platformHealthOnly: settingsWords.platformHealthOnly,
  repoType: `${settingsWords.repository}: ${settingsWords.repoType}`,
  repoProjectKey: `${settingsWords.repository}: ${settingsWords.repoProject}`,
  repoSlug: `${settingsWords.repository}: ${settingsWords.repoName}`,
  aliases: settingsWords.aliases,
  permissions: settingsWords.permissions,
  trafficGuards: settingsWords.guards,
  notifications: settingsWords.notifications,
}

export function ApplicationSettings({ params, query }: ScreenProps) {
  const application = params['application'] ?? ''
  const change = useQueryChange()
  const live = useAttributes(application)
  const selected = tabs.find(({ id }) => id === query['tab'])?.id ?? 'general'
  const right = useRight({ operation: changeOperation, application })
  return (
    <>
      <ApplicationHead application={application} tab={words.settings} />
      <Loaded live={live} rows={6} empty={<EmptyState icon="search" text={words.noSuchApplication(application)} />}>
        {({ attributes }) => (
          <Tabs
            label={words.settings}
            tabs={tabs}
            selected={selected}
            onSelect={(id) => change({ tab: id === 'general' ? undefined : id })}
          >
            {selected === 'delete' ? (
              <DeleteTab application={application} right={right} />
            ) : selected === 'notifications' ? (
              <NotificationsTab application={application} right={right} />
            ) : (
              <AttributesTab key="attributes" application={application} stored={attributes} tab={selected} right={right} />
            )}
          </Tabs>
        )}
      </Loaded>
    </>
  )
}

function useAttributes(application: string) {
  return useLive('/applications/{application}', { path: { application }, query: { expand: false } }, { refresh: 'slow' })
}

interface EditedForm<T extends Json> {
  /** What the fields show. */
  readonly values: T
  readonly set: (key: string, value: unknown) => void
  readonly edits: Edits
  /** Counts up when edits were thrown away: fields that keep rows of their own begin anew. */
  readonly generation: number
  readonly reset: () => void
}

function useEdits<T extends Json>(stored: T): EditedForm<T> {
  const [edits, setEdits] = useState<Edits>({})
  const [generation, setGeneration] = useState(0)
  return {
    values: withEdits(stored, edits),
    set: (key, value) => setEdits((before) => edit(before, stored, key, value)),
    edits,
    generation,
    reset: () => {
      setEdits({})
      setGeneration(generation + 1)
    },
  }
}

interface AttributesTabProps {
  readonly application: string
  readonly stored: Attributes
  readonly tab: 'general' | 'permissions' | 'guards'
  readonly right: Right
}

/** One set of edits for three tabs: they are saved together. */
function AttributesTab({ application, stored, tab, right }: AttributesTabProps) {
  const form = useEdits(stored)
  const { values, set, edits, generation, reset } = form
  const review = () => openDialog(<ReviewAttributes application={application} edits={edits} onSaved={reset} />)
  return (
    <div class="stack">
      <Panel title={tabs.find(({ id }) => id === tab)?.label}>
        {tab === 'general' && <General values={values} set={set} />}
        {tab === 'permissions' && (
          <PermissionsField
            key={generation}
            application={application}
            permissions={values.permissions}
            onChange={(permissions) => set('permissions', permissions)}
          />
        )}
        {tab === 'guards' && (
          <Guards guards={objectsOf(values.trafficGuards)} onChange={(guards) => set('trafficGuards', guards)} />
        )}
        <SaveBar edits={edits} right={right} onReview={review} onDiscard={reset} />
      </Panel>
      {tab === 'general' && <History application={application} />}
    </div>
  )
}

function SaveBar({
  edits,
  right,
  onReview,
  onDiscard,
}: {
  edits: Edits
  right: Right
  onReview: () => void
  onDiscard: () => void
}) {
  const count = Object.keys(edits).length
  const isReady = count > 0 && right.allowed
  const reason = right.reason ?? (count === 0 ? settingsWords.nothingChanged : undefined)
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 's') return
      event.preventDefault()
      if (isReady && document.querySelector('dialog[open]') === null) onReview()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })
  return (
    <div class="foot">
      <button
        type="button"
        class="button is-primary"
        aria-disabled={!isReady}
        title={reason}
        onClick={() => isReady && onReview()}
      >
        {settingsWords.review}
      </button>
      {count > 0 && (
        <button type="button" class="button" onClick={onDiscard}>
          {settingsWords.discard}
        </button>
      )}
      <span class="muted">{right.reason ?? (count === 0 ? settingsWords.nothingChanged : settingsWords.changed(count))}</span>
    </div>
  )
}

interface GeneralProps {
  readonly values: Attributes
  readonly set: (key: string, value: unknown) => void
}

function General({ values, set }: GeneralProps) {
  const text = (key: string, label: string, more: { help?: string; required?: boolean } = {}) => (
    <Field key={key} label={label} help={more.help} required={more.required === true}>
      {(tied) => <input {...tied} value={textOf(values[key]) ?? ''} onInput={(event) => set(key, event.currentTarget.value)} />}
    </Field>
  )
  return (
    <div class="question">
      {text('email', words.email, { required: true })}
      {text('description', words.description)}
      {text('cloudProviders', settingsWords.providers, { help: settingsWords.providersHelp })}
      <Field label={settingsWords.instancePort} help={settingsWords.instancePortHelp}>
        {(tied) => (
          <input
            {...tied}
            type="number"
            min="1"
            max="65535"
            value={textOf(values.instancePort) ?? ''}
            onInput={(event) => set('instancePort', numberOf(event.currentTarget.value) ?? null)}
          />
        )}
      </Field>
      {text('aliases', settingsWords.aliases)}
      {text('repoType', labels['repoType'] ?? '')}
      {text('repoProjectKey', labels['repoProjectKey'] ?? '')}
      {text('repoSlug', labels['repoSlug'] ?? '')}
      <CheckField
        label={settingsWords.platformHealthOnly}
        checked={values.platformHealthOnly === true}
        onChange={(checked) => set('platformHealthOnly', checked)}
      />
    </div>
  )
}

function Guards({ guards, onChange }: { guards: readonly Json[]; onChange: (guards: readonly Json[]) => void }) {
  const accounts = (useAccounts().reading.value.body ?? []).map(({ name }) => name)
  return (
    <div class="answer">
      <p class="muted">{settingsWords.guardsMeaning}</p>
      {guards.length === 0 && <p>{settingsWords.noGuards}</p>}
      <RecordRows
        records={guards}
        onChange={onChange}
        label={settingsWords.guard}
        removeLabel={settingsWords.removeGuard}
        addLabel={settingsWords.addGuard}
        added={{ account: accounts[0] ?? '*', location: '*', stack: '*', detail: '*', enabled: true }}
      >
        {(guard, set) => (
          <>
            <ChoiceField
              label={words.account}
              value={textOf(guard['account']) ?? ''}
              choices={[...accounts, '*']}
              onChange={(account) => set({ account })}
            />
            {(['location', 'stack', 'detail'] as const).map((key) => (
              <TextField
                key={key}
                label={{ location: words.region, stack: settingsWords.stack, detail: settingsWords.detail }[key]}
                help={settingsWords.allHelp}
                value={textOf(guard[key]) ?? ''}
                onChange={(text) => set({ [key]: text })}
              />
            ))}
            <CheckField
              label={settingsWords.guardEnabled}
              checked={guard['enabled'] !== false}
              onChange={(enabled) => set({ enabled })}
            />
          </>
        )}
      </RecordRows>
    </div>
  )
}

interface ReviewProps {
  readonly application: string
  readonly edits: Edits
  readonly onSaved: () => void
}

function ReviewAttributes({ application, edits, onSaved }: ReviewProps) {
  const live = useAttributes(application)
  useEffect(() => live.refresh(), [])
  const stored = live.reading.value.body?.attributes ?? { name: application }
  const save = async () => {
    await completeTask({
      application,
      description: settingsWords.savedTask(application),
      job: [{ type: 'updateApplication', application: { ...emailOf(stored), ...valuesOf(edits), name: application } }],
      object: objectKey('application', application),
    })
    refreshMatching('/applications')
    refreshMatching('/auth/explain')
    onSaved()
    return undefined
  }
  return <ReviewDialog application={application} edits={edits} stored={stored} save={save} />
}

/** Every change of an application repeats its address, as engines ask for it. */
function emailOf({ email }: Attributes): { email?: string } {
  return email ? { email } : {}
}

interface ReviewDialogProps {
  readonly application: string
  readonly edits: Edits
  /** As it is now, with who stored it. */
  readonly stored: Json
  readonly save: () => Promise<undefined>
}

/** What is stored beside what will be, with what another user has changed meanwhile. */
function ReviewDialog({ application, edits, stored, save }: ReviewDialogProps) {
  const conflicts = conflictsOf(edits, stored)
  return (
    <FormDialog title={settingsWords.reviewTitle(application)} action={settingsWords.reviewAction(application)} run={save}>
      {conflicts.length > 0 && (
        <Banner tone="warning">
          {settingsWords.changedMeanwhile(
            textOf(stored['lastModifiedBy']) ?? settingsWords.anotherUser,
            conflicts.map((key) => labels[key] ?? key).join(', '),
          )}
        </Banner>
      )}
      <Difference
        values={Object.entries(edits).map(([key, { to: after }]) => ({ name: labels[key] ?? key, before: stored[key], after }))}
      />
    </FormDialog>
  )
}

/** Who changed what, the newest first. */
function History({ application }: { application: string }) {
  const live = useLive(
    '/applications/{application}/history',
    { path: { application }, query: { limit: 20 } },
    { refresh: 'open' },
  )
  return (
    <Panel title={settingsWords.history} flush>
      <Loaded live={live} rows={2} empty={<p class="panel-note">{settingsWords.noHistory}</p>}>
        {(revisions) => (
          <DataTable
            label={settingsWords.history}
            rows={revisions.map((revision, at) => ({ revision, older: revisions[at + 1] }))}
            keyOf={({ revision }) => String(revision.updateTs)}
            columns={[
              { key: 'when', head: settingsWords.when, cell: ({ revision }) => <Time at={numberOf(revision.updateTs)} /> },
              {
                key: 'by',
                head: settingsWords.changedBy,
                cell: ({ revision }) => <Name text={revision.lastModifiedBy ?? words.unknown} max={40} />,
              },
              {
                key: 'what',
                head: settingsWords.field,
                grow: true,
                cell: ({ revision, older }) => (older === undefined ? settingsWords.firstRevision : changedKeys(revision, older)),
              },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}

const stamps = new Set(['updateTs', 'createTs', 'lastModified', 'lastModifiedBy', 'user'])

function changedKeys(newer: Json, older: Json): string {
  const keys = [...new Set([...Object.keys(newer), ...Object.keys(older)])]
  return keys
    .filter((key) => !stamps.has(key) && !isSame(newer[key], older[key]))
    .map((key) => labels[key] ?? key)
    .join(', ')
}

const channels = ['email', 'slack', 'microsoftteams', 'googlechat', 'sms', 'pubsub'] as const

function NotificationsTab({ application, right }: { application: string; right: Right }) {
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
  const { values, set, edits, reset } = useEdits(toList(record))
  const metadata = useLive('/notifications/metadata', {}, { refresh: 'open' }).reading.value.body ?? []
  const known = [...channels, ...metadata.map(({ notificationType }) => notificationType.toLowerCase())]
  const list = objectsOf(values.notifications)
  const events = Object.entries(settingsWords.events)
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
              <fieldset class="field" aria-label={settingsWords.when}>
                {events.map(([id, label]) => (
                  <label key={id} class="check">
                    <input
                      type="checkbox"
                      checked={textsOf(notification['when']).includes(id)}
                      onChange={(event) =>
                        put({
                          when: event.currentTarget.checked
                            ? [...textsOf(notification['when']), id]
                            : textsOf(notification['when']).filter((one) => one !== id),
                        })
                      }
                    />{' '}
                    {label}
                  </label>
                ))}
              </fieldset>
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

function ReviewNotifications({ application, edits, onSaved }: ReviewProps) {
  const live = useNotifications(application)
  useEffect(() => live.refresh(), [])
  const record: Json = live.reading.value.body ?? {}
  const save = async () => {
    await unwrap(
      client.POST('/notifications/{type}/{application}', {
        params: { path: { type: 'application', application } },
        headers: actionHeaders,
        body: toRecord(record, objectsOf(edits['notifications']?.to)),
      }),
    )
    refreshMatching('/notifications')
    onSaved()
    return undefined
  }
  const stored = { ...toList(record), lastModifiedBy: record['lastModifiedBy'] }
  return <ReviewDialog application={application} edits={edits} stored={stored} save={save} />
}

/** Refused while something is deployed, as the engine would refuse it. */
function DeleteTab({ application, right }: { application: string; right: Right }) {
  const { route: navigate } = useLocation()
  const groups = useLive(
    '/applications/{applicationName}/serverGroups',
    { path: { applicationName: application } },
    { refresh: 'steady' },
  )
  const pipelines = useLive('/applications/{application}/pipelineConfigs', { path: { application } }, { refresh: 'steady' })
  const count = pipelines.reading.value.body?.length ?? 0
  const remove = () =>
    confirm({
      title: settingsWords.deleteTitle(application),
      effect: (
        <p>
          {settingsWords.deleteLead(application, count)} {settingsWords.deleteFinal}
        </p>
      ),
      action: settingsWords.deleteApplication(application),
      level: 2,
      typed: application,
      destructive: true,
      run: async () => {
        await completeTask({
          application,
          description: settingsWords.deleteApplication(application),
          job: [{ type: 'deleteApplication', application: { name: application } }],
          object: objectKey('application', application),
        })
        refreshMatching('/applications')
        navigate(to.applications())
      },
    })
  return (
    <Panel title={settingsWords.delete}>
      <Loaded live={groups} rows={2} empty={<DeleteButton {...{ application, count, right, remove }} />}>
        {(deployed) =>
          deployed.length === 0 ? (
            <DeleteButton {...{ application, count, right, remove }} />
          ) : (
            <>
              <p>{settingsWords.deleteRefused(application)}</p>
              <ul class="bullets">
                {deployed.map((group) => (
                  <li key={`${accountOf(group)} ${group.region} ${group.name}`}>
                    <a href={to.serverGroup(application, { account: accountOf(group), region: group.region, name: group.name })}>
                      <Name text={group.name} max={60} />
                    </a>{' '}
                    <span class="muted">{`${accountOf(group)} / ${group.region}`}</span>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </Loaded>
    </Panel>
  )
}

function DeleteButton({
  application,
  count,
  right,
  remove,
}: {
  application: string
  count: number
  right: Right
  remove: () => void
}) {
  return (
    <>
      <p>{settingsWords.deleteLead(application, count)}</p>
      <div class="foot">
        <button
          type="button"
          class="button is-destructive"
          aria-disabled={!right.allowed}
          title={right.reason}
          onClick={() => right.allowed && remove()}
        >
          <Icon name="trash" /> {settingsWords.deleteApplication(application)}
        </button>
        {right.reason !== undefined && <span class="muted">{right.reason}</span>}
      </div>
    </>
  )
}

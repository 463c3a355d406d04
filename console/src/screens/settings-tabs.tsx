/** Tabs of the settings of an application: fields of its forms, revisions, deletion. */

import {
  type JsonObject,
  numberOf,
  objectsOf,
  scalarOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { channels } from '@fairlead/model/stage-types/pipeline-parts.ts'
import { useState } from 'preact/hooks'
import { to, useNavigate } from '../address.ts'
import { objectKey } from '../api/actions.ts'
import { client } from '../api/client.ts'
import { useAccounts } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { usePipelines, useServerGroups } from '../api/pipelines.ts'
import { startAction } from '../components/actions.tsx'
import { Button } from '../components/button.tsx'
import { DataTable } from '../components/data-table.tsx'
import { CheckList, Fields, type FieldTable, RecordRows } from '../components/form-fields.tsx'
import { act } from '../components/notices.tsx'
import { PermissionsField } from '../components/permissions-field.tsx'
import { Loaded, Panel } from '../components/screen.tsx'
import { NameLink, Time } from '../components/text.tsx'
import { isSame } from '../model/edits.ts'
import { accountOf, groupPlace } from '../model/server-groups.ts'
import { plural } from '../words.ts'

export interface TabProps {
  readonly application: string
  /** Why its settings may not be changed. */
  readonly denied: string | undefined
}

export interface FieldsProps extends TabProps {
  readonly values: JsonObject
  readonly set: (name: string, value: unknown) => void
}

const generalFields: FieldTable = {
  email: { label: 'Owner’s email address', required: true },
  description: { label: 'Description' },
  aliases: { label: 'Other names', help: 'Separated by commas.' },
  cloudProviders: {
    label: 'Cloud providers',
    help: 'Separated by commas, such as aws, kubernetes.',
  },
  instancePort: {
    label: 'Port of instances',
    help: 'Links to instances lead to this port.',
    input: { type: 'number', min: 1, max: 65_535 },
  },
  platformHealthOnly: { label: 'Only the health that the platform reports counts' },
}
const repositoryFields: FieldTable = {
  repoType: { label: 'Kind', choices: ['', 'github', 'gitlab', 'bitbucket', 'stash'] },
  repoProjectKey: { label: 'Project', help: 'The organisation, group or user that owns it.' },
  repoSlug: { label: 'Name' },
}
const others = {
  permissions: 'Permissions',
  environments: 'Environments',
  trafficGuards: 'Traffic guards',
  notifications: 'Notifications',
}

/** For the review and the revisions. */
export function labelOf(key: string): string {
  const repository = repositoryFields[key]?.label
  if (repository !== undefined) return `Repository: ${repository}`
  return generalFields[key]?.label ?? others[key as keyof typeof others] ?? key
}

export function GeneralFields({ values, set }: FieldsProps) {
  return (
    <div class="settings-grid">
      <Fields
        fields={generalFields}
        values={{ ...values, platformHealthOnly: values['platformHealthOnly'] === true }}
        onChange={(name, value) =>
          set(name, name === 'instancePort' ? (numberOf(value) ?? null) : value)
        }
      />
      <fieldset class="settings-group">
        <legend>Repository</legend>
        <Fields fields={repositoryFields} values={values} onChange={set} />
      </fieldset>
    </div>
  )
}

export function PermissionFields({ application, values: { permissions }, set }: FieldsProps) {
  return (
    <PermissionsField
      application={application}
      permissions={permissions}
      onChange={(changed) => set('permissions', changed)}
    />
  )
}

const scope = { help: '* for all, empty for none.' }

export function GuardFields({ values, set }: FieldsProps) {
  const accounts = (useAccounts().body ?? []).map(({ name }) => name)
  const guards = objectsOf(values['trafficGuards'])
  const fields: FieldTable = {
    account: { label: 'Account', choices: [...accounts, '*'] },
    location: { label: 'Region', ...scope },
    stack: { label: 'Stack', ...scope },
    detail: { label: 'Detail', ...scope },
    enabled: { label: 'In force' },
  }
  return (
    <div class="answer">
      <p class="muted">
        A traffic guard refuses every action that would leave its cluster without a server group
        that takes traffic.
      </p>
      {guards.length === 0 && (
        <p>No traffic guard. Every server group may be disabled or destroyed.</p>
      )}
      <RecordRows
        noun="traffic guard"
        records={guards}
        onChange={(changed) => set('trafficGuards', changed)}
        added={{
          account: accounts[0] ?? '*',
          location: '*',
          stack: '*',
          detail: '*',
          enabled: true,
        }}
      >
        {(guard, put) => (
          <Fields
            fields={fields}
            values={{ ...guard, enabled: guard['enabled'] !== false }}
            onChange={(name, value) => put({ [name]: value })}
          />
        )}
      </RecordRows>
    </div>
  )
}

/** The record of notifications has a list for each channel; the form has one list. */
export function toList(record: JsonObject): readonly JsonObject[] {
  return Object.entries(record).flatMap(([type, list]) =>
    objectsOf(list).map((notification) => ({ type, ...notification })),
  )
}

/** Fields that are no lists stay; the record is replaced. */
export function toRecord(record: JsonObject, notifications: readonly JsonObject[]): JsonObject {
  const rest = Object.entries(record).filter(([, value]) => !Array.isArray(value))
  return {
    ...Object.fromEntries(rest),
    ...Object.groupBy(notifications, ({ type }) => scalarOf(type) ?? 'email'),
  }
}

const moments = [
  { id: 'pipeline.starting', label: 'a run starts' },
  { id: 'pipeline.complete', label: 'a run succeeds' },
  { id: 'pipeline.failed', label: 'a run fails' },
  { id: 'rollback', label: 'a version is rolled back' },
]

export function NotificationFields({ application, denied, values, set }: FieldsProps) {
  // Spinnaker writes some in capitals where definitions have small letters.
  const metadata = useLive('/notifications/metadata', {}, 'open').body ?? []
  const known = new Set([
    ...channels,
    ...metadata.map(({ notificationType: type }) =>
      type === type.toUpperCase() ? type.toLowerCase() : type,
    ),
  ])
  const fields = { type: { label: 'Channel', choices: [...known] }, address: { label: 'To' } }
  const notifications = objectsOf(values['notifications'])
  return (
    <div class="answer">
      <p class="muted">
        Who is notified of every run of this application. Each run shows what became of its
        messages.
      </p>
      {notifications.length === 0 && (
        <p>No notification. Runs of this application send no message.</p>
      )}
      <RecordRows
        noun="notification"
        records={notifications}
        onChange={(changed) => set('notifications', changed)}
        added={{
          type: 'email',
          level: 'application',
          address: '',
          when: ['pipeline.failed', 'rollback'],
        }}
      >
        {(notification, put) => (
          <>
            <Fields
              fields={fields}
              values={notification}
              onChange={(name, value) => put({ [name]: value })}
            />
            <CheckList
              label="When"
              choices={moments}
              chosen={textsOf(notification['when'])}
              onChange={(when) => put({ when })}
            />
            <SendTest application={application} denied={denied} notification={notification} />
          </>
        )}
      </RecordRows>
    </div>
  )
}

/** Sends what the form shows, saved or not. */
function SendTest({ application, denied, notification }: TabProps & { notification: JsonObject }) {
  const [result, setResult] = useState('')
  const [type = '', address = ''] = [
    scalarOf(notification['type']),
    scalarOf(notification['address']),
  ]
  const send = async () => {
    setResult('')
    const message = {
      params: { path: { type: 'application', application } },
      body: { type, address },
    }
    const { delivered, reason = '' } = await client.POST(
      '/notifications/{type}/{application}/test',
      message,
    )
    setResult(delivered ? 'The test was delivered.' : `The test was not delivered: ${reason}`)
  }
  return (
    <p class="row">
      <Button small denied={denied} onClick={() => act(`Send a test to ${address}`, send)}>
        Send a test
      </Button>
      <span role="status">{result}</span>
    </p>
  )
}

/** Who changed what, the newest first. */
export function Revisions({ application }: { application: string }) {
  const parameters = { path: { application }, query: { limit: 20 } }
  const live = useLive('/applications/{application}/history', parameters, 'open')
  return (
    <Panel title="Revisions" flush>
      <Loaded live={live} rows={2} empty={<p class="panel-note">No revision is kept.</p>}>
        {(revisions) => (
          <DataTable
            label="Revisions"
            rows={revisions.map((revision, at) => ({
              ...revision,
              changed: changedKeys(revision, revisions[at + 1]),
            }))}
            keyOf={({ updateTs }) => String(updateTs)}
            columns={[
              { head: 'When', cell: ({ updateTs }) => <Time at={numberOf(updateTs)} /> },
              { head: 'Changed by', cell: ({ lastModifiedBy }) => lastModifiedBy ?? 'unknown' },
              { head: 'Setting', grow: true, cell: ({ changed }) => changed },
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}

const stamps = new Set(['updateTs', 'createTs', 'lastModified', 'lastModifiedBy', 'user'])

function changedKeys(newer: JsonObject, older: JsonObject | undefined) {
  if (older === undefined) return 'first kept revision'
  const changed = Object.keys({ ...newer, ...older }).filter(
    (key) => !stamps.has(key) && !isSame(newer[key], older[key]),
  )
  return changed.map(labelOf).join(', ')
}

/** Refused while something is deployed, as the engine would refuse it. */
export function DeleteTab({ application, denied }: TabProps) {
  const navigate = useNavigate()
  const groups = useServerGroups(application)
  const pipelines = usePipelines(application).body
  const counted = pipelines === undefined ? 'pipelines' : plural(pipelines.length, 'pipeline')
  const effect = `Removes ${application}, its ${counted} and its permissions. Executions stay until they expire.`
  const target = { application, name: application, object: objectKey('application', application) }
  const remove = () =>
    startAction(target, {
      label: 'Delete',
      type: 'deleteApplication',
      job: () => ({ application: { name: application } }),
      effect: `${effect} This cannot be undone.`,
      destructive: true,
      list: '/applications',
      onDone: () => navigate(to.applications()),
    })
  const deletion = (
    <>
      <p>{effect}</p>
      <div class="foot">
        <Button
          kind="destructive"
          icon="trash"
          denied={denied}
          onClick={remove}
        >{`Delete ${application}`}</Button>
        <span class="muted">{denied}</span>
      </div>
    </>
  )
  return (
    <Panel title="Delete">
      <Loaded live={groups} rows={2} empty={deletion}>
        {(deployed) => (
          <>
            <p>{`${application} cannot be deleted while something is deployed:`}</p>
            <ul class="bullets">
              {deployed.map((group) => (
                <li key={Object.values(groupPlace(group)).join(' ')}>
                  <NameLink
                    href={to.serverGroup(application, groupPlace(group))}
                    text={group.name}
                    max={60}
                  />{' '}
                  <span class="muted">{`${accountOf(group)} / ${group.region}`}</span>
                </li>
              ))}
            </ul>
          </>
        )}
      </Loaded>
    </Panel>
  )
}

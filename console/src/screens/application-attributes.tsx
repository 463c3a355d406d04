/** Attributes of an application, with its permissions and traffic guards: one record, saved together. */
import { completeTask, objectKey } from '../api/actions.ts'
import { useAttributes } from '../api/attributes.ts'
import type { Schemas } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import type { Right } from '../api/rights.ts'
import { DataTable } from '../components/data-table.tsx'
import { CheckField, ChoiceField, TextField } from '../components/form-fields.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { PermissionsField } from '../components/permissions-field.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { type Edits, isSame, valuesOf } from '../model/edits.ts'
import { type Json, numberOf, objectsOf, textOf } from '../model/read.ts'

import { useAccounts } from './infrastructure-head.tsx'
import { labelOf, SettingsForm } from './settings-form.tsx'

type Attributes = Schemas['ApplicationAttributes']

interface AttributesTabProps {
  readonly application: string
  readonly tab: 'general' | 'permissions' | 'guards'
  readonly right: Right
}

const titles = { general: 'General', permissions: 'Permissions', guards: 'Traffic guards' } as const

/** One set of edits for three tabs: they are saved together. */
export function AttributesTab({ application, tab, right }: AttributesTabProps) {
  const live = useAttributes(application)
  const fields = (values: Attributes, set: Set, key: number) => {
    if (tab === 'general') return <General values={values} set={set} />
    if (tab === 'guards') return <TrafficGuards guards={objectsOf(values.trafficGuards)} set={set} />
    const change = (permissions: unknown) => set('permissions', permissions)
    return <PermissionsField key={key} application={application} permissions={values.permissions} onChange={change} />
  }
  return (
    <div class="stack">
      <SettingsForm
        application={application}
        form="attributes"
        title={titles[tab]}
        right={right}
        live={live}
        storedIn={({ attributes }) => attributes}
        save={(edits, { attributes }) => saveAttributes(application, edits, attributes)}
      >
        {fields}
      </SettingsForm>
      {tab === 'general' && <History application={application} />}
    </div>
  )
}

/** Every change of an application repeats its address, as engines ask for it. */
async function saveAttributes(application: string, edits: Edits, { email }: Attributes): Promise<void> {
  await completeTask({
    application,
    description: `Update ${application}`,
    job: [{ type: 'updateApplication', application: { ...(email && { email }), ...valuesOf(edits), name: application } }],
    object: objectKey('application', application),
  })
  refreshMatching('/applications')
  refreshMatching('/auth/explain')
}

type Set = (key: string, value: unknown) => void

interface GeneralProps {
  readonly values: Attributes
  readonly set: Set
}

const repositories = ['', 'github', 'gitlab', 'bitbucket', 'stash'] as const

function General({ values, set }: GeneralProps) {
  const text = (key: string, label: string, more: { help?: string; required?: boolean } = {}) => (
    <TextField key={key} label={label} value={textOf(values[key]) ?? ''} onChange={(value) => set(key, value)} {...more} />
  )
  return (
    <div class="settings-grid">
      {text('email', 'Owner’s email address', { required: true })}
      {text('description', 'Description')}
      {text('aliases', 'Other names', { help: 'Separated by commas.' })}
      {text('cloudProviders', 'Cloud providers', { help: 'Separated by commas, such as aws, kubernetes.' })}
      <TextField
        label="Port of instances"
        help="Links to instances lead to this port."
        value={textOf(values.instancePort) ?? ''}
        input={{ type: 'number', min: 1, max: 65_535 }}
        onChange={(port) => set('instancePort', numberOf(port) ?? null)}
      />
      <CheckField
        label="Only the health that the platform reports counts"
        checked={values.platformHealthOnly === true}
        onChange={(checked) => set('platformHealthOnly', checked)}
      />
      <fieldset class="settings-group">
        <legend>Repository</legend>
        <ChoiceField
          label="Kind"
          value={textOf(values['repoType']) ?? ''}
          choices={repositories}
          onChange={(kind) => set('repoType', kind)}
        />
        {text('repoProjectKey', 'Project', { help: 'The organisation, group or user that owns it.' })}
        {text('repoSlug', 'Name')}
      </fieldset>
    </div>
  )
}

interface TrafficGuardsProps {
  readonly guards: readonly Json[]
  readonly set: Set
}

function TrafficGuards({ guards, set }: TrafficGuardsProps) {
  const accounts = (useAccounts().reading.value.body ?? []).map(({ name }) => name)
  return (
    <div class="answer">
      <p class="muted">
        A traffic guard refuses every action that would leave its cluster without a server group that takes traffic.
      </p>
      {guards.length === 0 && <p>No traffic guard. Every server group may be disabled or destroyed.</p>}
      <RecordRows
        records={guards}
        onChange={(next) => set('trafficGuards', next)}
        label={(number) => `Traffic guard ${number}`}
        removeLabel="Remove guard"
        addLabel="Add guard"
        added={{ account: accounts[0] ?? '*', location: '*', stack: '*', detail: '*', enabled: true }}
      >
        {(guard, put) => <GuardFields guard={guard} accounts={accounts} put={put} />}
      </RecordRows>
    </div>
  )
}

interface GuardFieldsProps {
  readonly guard: Json
  readonly accounts: readonly string[]
  readonly put: (change: Json) => void
}

function GuardFields({ guard, accounts, put }: GuardFieldsProps) {
  return (
    <>
      <ChoiceField
        label="Account"
        value={textOf(guard['account']) ?? ''}
        choices={[...accounts, '*']}
        onChange={(account) => put({ account })}
      />
      {(['location', 'stack', 'detail'] as const).map((key) => (
        <TextField
          key={key}
          label={{ location: 'Region', stack: 'Stack', detail: 'Detail' }[key]}
          help="* for all, empty for none."
          value={textOf(guard[key]) ?? ''}
          onChange={(text) => put({ [key]: text })}
        />
      ))}
      <CheckField label="In force" checked={guard['enabled'] !== false} onChange={(enabled) => put({ enabled })} />
    </>
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
    <Panel title="Revisions" flush>
      <Loaded live={live} rows={2} empty={<p class="panel-note">No revision is kept.</p>}>
        {(revisions) => (
          <DataTable
            label="Revisions"
            rows={revisions.map((revision, at) => ({ revision, older: revisions[at + 1] }))}
            keyOf={({ revision }) => String(revision.updateTs)}
            columns={[
              { head: 'When', cell: ({ revision }) => <Time at={numberOf(revision.updateTs)} /> },
              { head: 'Changed by', cell: ({ revision }) => <Name text={revision.lastModifiedBy ?? 'unknown'} max={40} /> },
              {
                head: 'Setting',
                grow: true,
                cell: ({ revision, older }) => (older === undefined ? 'first kept revision' : changedKeys(revision, older)),
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
    .map(labelOf)
    .join(', ')
}

/** Attributes of an application, with its permissions and traffic guards: one record, saved together. */
import type { ComponentChildren } from 'preact'
import { completeTask, objectKey } from '../api/actions.ts'
import { useAttributes } from '../api/attributes.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { DataTable } from '../components/data-table.tsx'
import { Fields, type FieldTable } from '../components/form-fields.tsx'
import { Panel } from '../components/panel.tsx'
import { PermissionsField } from '../components/permissions-field.tsx'
import { RecordRows } from '../components/record-rows.tsx'
import { Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { isSame, valuesOf } from '../model/edits.ts'
import { type Json, numberOf, objectsOf } from '../model/read.ts'
import { useAccounts } from './infrastructure-head.tsx'
import { SettingsForm, type SettingsTabProps } from './settings-form.tsx'

const generalFields: FieldTable = {
  email: { label: 'Owner’s email address', required: true },
  description: { label: 'Description' },
  aliases: { label: 'Other names', help: 'Separated by commas.' },
  cloudProviders: { label: 'Cloud providers', help: 'Separated by commas, such as aws, kubernetes.' },
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
const scope = { help: '* for all, empty for none.' }
const guardFields: FieldTable = {
  location: { label: 'Region', ...scope },
  stack: { label: 'Stack', ...scope },
  detail: { label: 'Detail', ...scope },
  enabled: { label: 'In force' },
}

/** For the review and the revisions. */
function labelOf(key: string): string {
  const [repository, label] = [repositoryFields[key]?.label, generalFields[key]?.label]
  if (repository !== undefined) return `Repository: ${repository}`
  return label ?? { permissions: 'Permissions', trafficGuards: 'Traffic guards' }[key] ?? key
}

interface AttributesFormProps extends SettingsTabProps {
  readonly title: string
  readonly children: (values: Json, set: (key: string, value: unknown) => void) => ComponentChildren
}

function AttributesForm({ application, ...props }: AttributesFormProps) {
  return (
    <SettingsForm
      {...props}
      application={application}
      of="attributes"
      live={useAttributes(application)}
      storedIn={({ attributes }) => attributes}
      labelOf={labelOf}
      save={async (edits, { attributes: { email } }) => {
        // Every change of an application repeats its address, as engines ask for it.
        const changed = { ...(email && { email }), ...valuesOf(edits), name: application }
        await completeTask({
          application,
          description: `Update ${application}`,
          job: [{ type: 'updateApplication', application: changed }],
          object: objectKey('application', application),
        })
        refreshMatching('/applications')
        refreshMatching('/auth/explain')
      }}
    />
  )
}

export function GeneralTab(props: SettingsTabProps) {
  return (
    <div class="stack">
      <AttributesForm title="General" {...props}>
        {(values, set) => (
          <div class="settings-grid">
            <Fields
              fields={generalFields}
              values={{ ...values, platformHealthOnly: values['platformHealthOnly'] === true }}
              onChange={(name, value) => set(name, name === 'instancePort' ? (numberOf(value) ?? null) : value)}
            />
            <fieldset class="settings-group">
              <legend>Repository</legend>
              <Fields fields={repositoryFields} values={values} onChange={set} />
            </fieldset>
          </div>
        )}
      </AttributesForm>
      <History application={props.application} />
    </div>
  )
}

export function PermissionsTab(props: SettingsTabProps) {
  return (
    <AttributesForm title="Permissions" {...props}>
      {({ permissions }, set) => (
        <PermissionsField
          application={props.application}
          permissions={permissions}
          onChange={(changed) => set('permissions', changed)}
        />
      )}
    </AttributesForm>
  )
}

export function GuardsTab(props: SettingsTabProps) {
  const accounts = (useAccounts().reading.value.body ?? []).map(({ name }) => name)
  const fields = { account: { label: 'Account', choices: [...accounts, '*'] }, ...guardFields }
  return (
    <AttributesForm title="Traffic guards" {...props}>
      {({ trafficGuards }, set) => (
        <div class="answer">
          <p class="muted">
            A traffic guard refuses every action that would leave its cluster without a server group that takes traffic.
          </p>
          {objectsOf(trafficGuards).length === 0 && <p>No traffic guard. Every server group may be disabled or destroyed.</p>}
          <RecordRows
            records={objectsOf(trafficGuards)}
            onChange={(guards) => set('trafficGuards', guards)}
            label={(number) => `Traffic guard ${number}`}
            removeLabel="Remove guard"
            addLabel="Add guard"
            added={{ account: accounts[0] ?? '*', location: '*', stack: '*', detail: '*', enabled: true }}
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
      )}
    </AttributesForm>
  )
}

/** Who changed what, the newest first. */
function History({ application }: { application: string }) {
  const parameters = { path: { application }, query: { limit: 20 } }
  const live = useLive('/applications/{application}/history', parameters, { refresh: 'open' })
  return (
    <Panel title="Revisions" flush>
      <Loaded live={live} rows={2} empty={<p class="panel-note">No revision is kept.</p>}>
        {(revisions) => (
          <DataTable
            label="Revisions"
            rows={revisions.map((revision, at) => ({ ...revision, changed: changedKeys(revision, revisions[at + 1]) }))}
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

function changedKeys(newer: Json, older: Json | undefined): string {
  if (older === undefined) return 'first kept revision'
  const keys = new Set([...Object.keys(newer), ...Object.keys(older)]).difference(stamps)
  return [...keys]
    .filter((key) => !isSame(newer[key], older[key]))
    .map(labelOf)
    .join(', ')
}

/** Secrets of an application: names and versions, new values, what uses them; values are never shown. */
import { client, type Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { type Column, DataTable, menuColumn } from '../components/data-table.tsx'
import { Dialog, openDialog } from '../components/dialog.tsx'
import type { FieldTable } from '../components/form-fields.tsx'
import { reportWarning } from '../components/notices.tsx'
import { Loaded, Panel } from '../components/screen.tsx'
import { Name, Time } from '../components/text.tsx'
import { plural } from '../words.ts'
import type { TabProps } from './settings-tabs.tsx'

type Secret = Schemas['Secret']

const refreshes = '/applications/{application}/secrets'

export function SecretsTab({ application, denied }: TabProps) {
  const live = useLive('/applications/{application}/secrets', { path: { application } }, 'slow')
  const actions = menuColumn<Secret>(
    ({ name }) => name,
    (secret) => [
      { label: 'Show uses', icon: 'search', onSelect: () => showUses(application, secret) },
      {
        label: 'Set a new value',
        icon: 'refresh',
        denied,
        onSelect: () => setSecret(application, secret),
      },
      {
        label: 'Delete',
        icon: 'trash',
        destructive: true,
        denied,
        onSelect: () => deleteSecret(application, secret),
      },
    ],
  )
  const add = (
    <Button icon="plus" denied={denied} onClick={() => setSecret(application)}>
      Add secret
    </Button>
  )
  const none = 'No secret. Add one, and write its reference where a value belongs.'
  return (
    <Panel title="Secrets" actions={add} flush>
      <p class="panel-note">
        Pipelines, builds and programs use a secret by its reference. Values can be set, and are
        never shown.
      </p>
      <Loaded live={live} rows={3} icon="lock" empty={none}>
        {(secrets) => (
          <DataTable
            label="Secrets"
            rows={secrets}
            keyOf={({ name }) => name}
            columns={[...columns, actions]}
          />
        )}
      </Loaded>
    </Panel>
  )
}

const columns: readonly Column<Secret>[] = [
  {
    head: 'Name',
    grow: true,
    cell: ({ name, note }) => (
      <>
        <Name class="row-title" text={name} max={60} /> <span class="muted">{note}</span>
      </>
    ),
  },
  { head: 'Reference', hideBelow: 'narrow', cell: ({ name }) => <code>secret:{name}</code> },
  { head: 'Version', align: 'end', cell: ({ version }) => version },
  {
    head: 'Set',
    hideBelow: 'phone',
    cell: ({ setTime, setBy }) => (
      <>
        <Time at={setTime} /> <span class="muted">by {setBy}</span>
      </>
    ),
  },
  { head: 'Last used', hideBelow: 'narrow', cell: ({ lastUseTime }) => <Time at={lastUseTime} /> },
]

const nameField: FieldTable[string] = {
  label: 'Name',
  help: 'Letters, digits, dots, hyphens and underscores.',
  required: true,
  input: { placeholder: 'db-password', maxLength: 128 },
}
const valueFields: FieldTable = {
  value: {
    label: 'Value',
    help: 'It cannot be read again.',
    required: true,
    input: { type: 'password', autoComplete: 'new-password' },
  },
  note: {
    label: 'Note',
    help: 'Shown to all who may read the application.',
    input: { maxLength: 500 },
  },
}

/** @param secret Undefined adds one. */
function setSecret(application: string, secret?: Secret) {
  confirm({
    action: secret === undefined ? 'Add secret' : `Set ${secret.name}`,
    values: { name: secret?.name ?? '', value: '', note: secret?.note ?? '' },
    fields: secret === undefined ? { name: nameField, ...valueFields } : valueFields,
    run: async ({ name, value, note }) => {
      const params = { path: { application, name: name.trim() } }
      const body = { value, ...(note !== '' && { note }) }
      const call = client.PUT('/applications/{application}/secrets/{name}', { params, body })
      const { isMasked } = await call
      if (!isMasked)
        reportWarning(
          `${name} is set`,
          'The value is too short or too common to be masked in logs.',
        )
    },
    refreshes,
  })
}

function deleteSecret(application: string, { name }: Secret) {
  const params = { path: { application, name } }
  confirm({
    effect: 'References to it will fail. Running instances keep their value.',
    action: `Delete ${name}`,
    destructive: true,
    typed: name,
    note: () => <SecretUses application={application} name={name} />,
    run: () => client.DELETE('/applications/{application}/secrets/{name}', { params }),
    refreshes,
  })
}

function showUses(application: string, { name }: Secret) {
  openDialog(
    <Dialog title={`Uses of ${name}`}>
      <SecretUses application={application} name={name} />
    </Dialog>,
  )
}

function SecretUses({ application, name }: { application: string; name: string }) {
  const live = useLive(
    '/applications/{application}/secrets/{name}/uses',
    { path: { application, name } },
    'open',
  )
  return (
    <Loaded live={live} rows={2}>
      {({ running, uses }) => (
        <ul>
          {running.length + uses.length === 0 && <li>This secret has not been used yet.</li>}
          {running.map(({ place, version, count, isCurrent }) => (
            <li key={`${place} ${version}`}>
              <Name text={place} />{' '}
              {`version ${version}, in use now by ${plural(count, 'instance')}`}{' '}
              {!isCurrent && <span class="chip">old version</span>}
            </li>
          ))}
          {uses.slice(0, 20).map(({ place, version, user, lastTime }) => (
            <li key={`${place} ${version} ${user}`}>
              <Name text={place} /> {`version ${version}, as ${user},`} <Time at={lastTime} />
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  )
}

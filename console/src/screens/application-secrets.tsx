/** Secrets of an application: names and versions, new values, what uses them; values are never shown. */
import { useState } from 'preact/hooks'
import { actionHeaders, client, type Schemas, unwrap } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import type { Right } from '../api/rights.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { closeDialog, Dialog, openDialog } from '../components/dialog.tsx'
import { Field } from '../components/field.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { TextField } from '../components/form-fields.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { reportWarning } from '../components/notices.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { plural } from '../words.ts'

type Secret = Schemas['Secret']
type Uses = Schemas['SecretUses']

interface SecretProps {
  readonly application: string
  readonly secret: Secret
}

export function SecretsTab({ application, right }: { application: string; right: Right }) {
  const live = useLive('/applications/{application}/secrets', { path: { application } }, { refresh: 'slow' })
  const set = (
    <Button icon="plus" denied={right.reason} onClick={() => openDialog(<SetSecret application={application} />)}>
      Add secret
    </Button>
  )
  return (
    <Panel title="Secrets" actions={set}>
      <div class="answer">
        <p class="muted">Pipelines, builds and programs use a secret by its reference. Values can be set, and are never shown.</p>
        <Loaded
          live={live}
          rows={3}
          empty={<EmptyState icon="lock" text="No secret. Add one, and write its reference where a value belongs." />}
        >
          {(secrets) => (
            <DataTable label="Secrets" rows={secrets} keyOf={({ name }) => name} columns={columnsOf(application, right)} />
          )}
        </Loaded>
      </div>
    </Panel>
  )
}

function columnsOf(application: string, right: Right): readonly Column<Secret>[] {
  return [
    {
      head: 'Name',
      grow: true,
      cell: ({ name, note }) => (
        <>
          <strong>
            <Name text={name} max={60} />
          </strong>{' '}
          {note && <span class="muted">{note}</span>}
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
          <Time at={setTime} /> <span class="muted">{`by ${setBy}`}</span>
        </>
      ),
    },
    { head: 'Last used', hideBelow: 'narrow', cell: ({ lastUseTime }) => <Time at={lastUseTime} /> },
    {
      head: 'Actions',
      align: 'end',
      cell: (secret) => <SecretMenu application={application} secret={secret} right={right} />,
    },
  ]
}

function SecretMenu({ application, secret, right }: SecretProps & { readonly right: Right }) {
  const { name } = secret
  const denied = right.reason
  return (
    <Menu
      label={`Actions of ${name}`}
      items={[
        {
          label: 'Show uses',
          icon: 'search',
          onSelect: () => openDialog(<UsesDialog {...{ application, secret }} />),
        },
        {
          label: 'Set a new value',
          icon: 'refresh',
          denied,
          onSelect: () => openDialog(<SetSecret application={application} secret={secret} />),
        },
        {
          label: 'Delete',
          icon: 'trash',
          destructive: true,
          denied,
          onSelect: () => deleteSecret({ application, secret }),
        },
      ]}
    />
  )
}

function SetSecret({ application, secret }: { readonly application: string; readonly secret?: Secret }) {
  const [name, setName] = useState(secret?.name ?? '')
  const [value, setValue] = useState('')
  const [note, setNote] = useState(secret?.note ?? '')
  const action = secret === undefined ? 'Add secret' : `Set ${secret.name}`
  const set = async () => {
    const path = { application, name: name.trim() }
    const body = { value, ...(note !== '' && { note }) }
    const { isMasked } = await unwrap(
      client.PUT('/applications/{application}/secrets/{name}', { params: { path }, headers: actionHeaders, body }),
    )
    if (isMasked === false) reportWarning(`${path.name} is set`, 'The value is too short or too common to be masked in logs.')
    refreshMatching('/applications/{application}/secrets')
    return undefined
  }
  return (
    <FormDialog title={action} action={action} isReady={name.trim() !== '' && value !== ''} run={set}>
      {secret === undefined && (
        <TextField
          label="Name"
          help="Letters, digits, dots, hyphens and underscores."
          value={name}
          required
          input={{ placeholder: 'db-password', maxLength: 128 }}
          onChange={setName}
        />
      )}
      <Field label="Value" help="It cannot be read again." required>
        {(tied) => (
          <input
            {...tied}
            type="password"
            autoComplete="new-password"
            value={value}
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        )}
      </Field>
      <TextField
        label="Note"
        help="Shown to all who may read the application."
        value={note}
        input={{ maxLength: 500 }}
        onChange={setNote}
      />
    </FormDialog>
  )
}

function deleteSecret({ application, secret }: SecretProps): void {
  const { name } = secret
  confirm({
    title: `Delete ${name}?`,
    effect: <p>References to it will fail. Running instances keep their value.</p>,
    action: `Delete ${name}`,
    destructive: true,
    level: 2,
    typed: name,
    fields: <SecretUses application={application} secret={secret} />,
    run: async () => {
      const params = { path: { application, name } }
      await unwrap(client.DELETE('/applications/{application}/secrets/{name}', { params, headers: actionHeaders }))
      refreshMatching('/applications/{application}/secrets')
    },
  })
}

function UsesDialog(props: SecretProps) {
  const close = <Button onClick={closeDialog}>Close</Button>
  return (
    <Dialog title={`Uses of ${props.secret.name}`} footer={close}>
      <SecretUses {...props} />
    </Dialog>
  )
}

function SecretUses({ application, secret: { name } }: SecretProps) {
  const live = useLive('/applications/{application}/secrets/{name}/uses', { path: { application, name } }, { refresh: 'open' })
  return (
    <Loaded live={live} rows={2}>
      {({ running, uses }) =>
        running.length + uses.length === 0 ? (
          <p>This secret has not been used yet.</p>
        ) : (
          <UseLists running={running} uses={uses} />
        )
      }
    </Loaded>
  )
}

function UseLists({ running, uses }: Pick<Uses, 'running' | 'uses'>) {
  return (
    <div class="answer">
      {running.length > 0 && <h3>In use now</h3>}
      <ul>
        {running.map(({ place, version, count, isCurrent }) => (
          <li key={`${place} ${version}`}>
            <Name text={place} max={80} /> {`version ${version}, ${plural(count, 'instance')}`}{' '}
            {!isCurrent && <span class="chip">old version</span>}
          </li>
        ))}
      </ul>
      {uses.length > 0 && <h3>Latest uses</h3>}
      <ul>
        {uses.slice(0, 20).map(({ place, version, user, lastTime }) => (
          <li key={`${place} ${version} ${user}`}>
            <Name text={place} max={80} /> {`version ${version}, as ${user},`} <Time at={lastTime} />
          </li>
        ))}
      </ul>
    </div>
  )
}

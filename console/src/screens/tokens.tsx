/** API tokens: create, rotate and revoke; a secret is shown once. */

import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { client, type Schemas, unwrap } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Field } from '../components/field.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { CheckField, TextField } from '../components/form-fields.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { SecretDialog } from '../components/secret-dialog.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Segments } from '../components/tabs.tsx'
import { Time } from '../components/time.tsx'
import { splitList } from '../model/read.ts'
import { formatRelative, presentMs } from '../model/time.ts'
import type { ScreenProps } from '../screen.ts'
import { plural } from '../words.ts'
import { AccessHead } from './access-head.tsx'

type Token = Schemas['ApiToken']

const dayMs = 86_400_000
const overlaps = [
  { seconds: 0, label: 'no time: it ends at once' },
  { seconds: 3600, label: '1 hour' },
  { seconds: 86_400, label: '1 day' },
]

export function Tokens({ query }: ScreenProps) {
  const { isAdmin, canMintApiTokens, maxUserTokenLifetimeDays: maxDays } = user.value ?? {}
  const showsAll = isAdmin === true && query['scope'] === 'all'
  const change = useQueryChange()
  if (maxDays === undefined) {
    return (
      <>
        <AccessHead tab="Tokens" />
        <EmptyState icon="lock" text="API tokens are switched off; the setting api-tokens.enabled switches them on." />
      </>
    )
  }
  const denied =
    canMintApiTokens === true
      ? undefined
      : 'Only members of certain roles may create tokens: see the setting api-tokens.allowed-minting-roles.'
  const create = (
    <Button kind="primary" icon="plus" denied={denied} onClick={() => openDialog(<CreateToken maxDays={maxDays} />)}>
      Create token
    </Button>
  )
  return (
    <>
      <AccessHead tab="Tokens" actions={create} />
      {isAdmin === true && (
        <div class="filters">
          <Segments
            label="Tokens"
            options={[
              { id: 'mine', label: 'Mine' },
              { id: 'all', label: 'Of all users' },
            ]}
            selected={showsAll ? 'all' : 'mine'}
            onSelect={(scope) => change({ scope: scope === 'all' ? scope : undefined })}
          />
        </div>
      )}
      {denied !== undefined && <p class="quiet">{denied}</p>}
      {showsAll ? <All /> : <Mine create={create} />}
    </>
  )
}

function Mine({ create }: { create: VNode }) {
  const live = useLive('/auth/apiTokens', {}, { refresh: 'slow' })
  return (
    <Loaded
      live={live}
      empty={
        <EmptyState icon="lock" text="You have no token. A token lets a program act with your rights, or fewer.">
          {create}
        </EmptyState>
      }
    >
      {(tokens) => <List tokens={tokens} />}
    </Loaded>
  )
}

function All() {
  const live = useLive('/auth/apiTokens/admin/users', {}, { refresh: 'slow' })
  return (
    <Loaded
      live={live}
      empty={<EmptyState icon="lock" text="You have no token. A token lets a program act with your rights, or fewer." />}
    >
      {(tokens) => <List tokens={tokens} hasOwners />}
    </Loaded>
  )
}

function List({ tokens, hasOwners = false }: { tokens: readonly Token[]; hasOwners?: boolean }) {
  return (
    <div class="panel is-flush">
      <DataTable
        label="Tokens"
        rows={tokens.toSorted((a, b) => a.name.localeCompare(b.name))}
        keyOf={({ id }) => id}
        columns={hasOwners ? columns : columns.filter(({ head }) => head !== 'Owner')}
      />
    </div>
  )
}

const columns: readonly Column<Token>[] = [
  {
    head: 'Name',
    grow: true,
    cell: ({ name, readOnly }) => (
      <>
        <strong>
          <Name text={name} max={60} />
        </strong>{' '}
        {readOnly && <span class="chip">Reads only</span>}
      </>
    ),
  },
  { head: 'Owner', cell: ({ principalId }) => <Name text={principalId} max={30} /> },
  { head: 'Limits', hideBelow: 'narrow', cell: (token) => <Name text={limitsOf(token)} max={80} /> },
  { head: 'Expires', cell: ({ expiresAt }) => (expiresAt === undefined ? 'never' : <Time at={Date.parse(expiresAt)} />) },
  {
    head: 'Last used',
    hideBelow: 'phone',
    cell: ({ lastUsedAt }) => (lastUsedAt === undefined ? 'never' : <Time at={Date.parse(lastUsedAt)} />),
  },
  {
    head: 'Actions',
    align: 'end',
    cell: (token) => (
      <Menu
        label={`Actions of ${token.name}`}
        items={[
          { label: 'Rotate', icon: 'refresh', onSelect: () => openDialog(<RotateToken token={token} />) },
          { label: 'Revoke', icon: 'trash', destructive: true, onSelect: () => revoke(token) },
        ]}
      />
    ),
  },
]

function limitsOf({ applications, operations }: Token): string {
  return [...(applications ?? []), ...(operations ?? [])].join(', ') || 'everything you may do'
}

function revoke({ id, name, lastUsedAt }: Token): void {
  const used =
    lastUsedAt === undefined ? 'It was never used.' : `Last used ${formatRelative(Date.parse(lastUsedAt), presentMs())}.`
  confirm({
    title: `Revoke ${name}?`,
    effect: <p>{`${name} stops working at once, everywhere. ${used} This cannot be undone.`}</p>,
    action: `Revoke ${name}`,
    destructive: true,
    run: async () => {
      await unwrap(client.DELETE('/auth/apiTokens/{id}', { params: { path: { id } } }))
      refreshMatching('/auth/apiTokens')
    },
  })
}

function secretOf({ name, token }: Schemas['IssuedApiToken']) {
  refreshMatching('/auth/apiTokens')
  return (
    <SecretDialog
      title={`The secret of ${name}`}
      text="This secret is shown once. Store it now; Fairlead keeps only its hash."
      label="Copy the secret"
      secret={token}
    />
  )
}

function RotateToken({ token: { id, name } }: { token: Token }) {
  const overlap = useSignal(0)
  return (
    <FormDialog
      title={`Rotate ${name}?`}
      action={`Rotate ${name}`}
      run={async () =>
        secretOf(
          await unwrap(
            client.POST('/auth/apiTokens/{id}/rotate', { params: { path: { id } }, body: { overlapSeconds: overlap.peek() } }),
          ),
        )
      }
    >
      <p>{`${name} gets another secret, which is shown once. Programs need it before the former one ends.`}</p>
      <Field label="Accept the former secret for">
        {(tied) => (
          <select {...tied} onChange={(event) => (overlap.value = Number(event.currentTarget.value))}>
            {overlaps.map(({ seconds, label }) => (
              <option key={seconds} value={seconds}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
    </FormDialog>
  )
}

function CreateToken({ maxDays }: { maxDays: number }) {
  const [values, setValues] = useState({ name: '', days: String(maxDays), readOnly: false, applications: '' })
  const set = (change: Partial<typeof values>) => setValues({ ...values, ...change })
  const create = async () => {
    const { name, days, readOnly } = values
    const applications = splitList(values.applications)
    const expiresAt = new Date(presentMs() + Number(days) * dayMs).toISOString()
    const body = { name: name.trim(), expiresAt, readOnly, ...(applications.length > 0 && { applications }) }
    return secretOf(await unwrap(client.POST('/auth/apiTokens', { body })))
  }
  return (
    <FormDialog title="Create token" action="Create token" run={create}>
      <TextField
        label="Name"
        help="Of the program that uses it."
        value={values.name}
        required
        onChange={(name) => set({ name })}
      />
      <TextField
        label="Expires in days"
        help={`At most ${plural(maxDays, 'day')}.`}
        value={values.days}
        input={{ type: 'number', min: 1, max: maxDays }}
        onChange={(days) => set({ days })}
      />
      <TextField
        label="Only these applications"
        help="Separated by commas. Empty: all that you may use."
        value={values.applications}
        onChange={(applications) => set({ applications })}
      />
      <CheckField label="Reads only" checked={values.readOnly} onChange={(readOnly) => set({ readOnly })} />
    </FormDialog>
  )
}

/** API tokens: create, rotate and revoke; a secret is shown once. */

import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { adminWords } from '../admin-words.ts'
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
import { words } from '../words.ts'
import { AccessHead } from './access-head.tsx'

type Token = Schemas['ApiToken']

const dayMs = 86_400_000

export function Tokens({ query }: ScreenProps) {
  const { isAdmin, canMintApiTokens, maxUserTokenLifetimeDays: maxDays } = user.value ?? {}
  const showsAll = isAdmin === true && query['scope'] === 'all'
  const change = useQueryChange()
  if (maxDays === undefined) {
    return (
      <>
        <AccessHead tab={adminWords.tokens} />
        <EmptyState icon="lock" text={adminWords.tokensOff} />
      </>
    )
  }
  const denied = canMintApiTokens === true ? undefined : adminWords.tokensDenied
  const create = (
    <Button kind="primary" icon="plus" denied={denied} onClick={() => openDialog(<CreateToken maxDays={maxDays} />)}>
      {adminWords.createToken}
    </Button>
  )
  return (
    <>
      <AccessHead tab={adminWords.tokens} actions={create} />
      {isAdmin === true && (
        <div class="filters">
          <Segments
            label={adminWords.whose}
            options={[
              { id: 'mine', label: adminWords.mine },
              { id: 'all', label: adminWords.ofAll },
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
        <EmptyState icon="lock" text={adminWords.tokensEmpty}>
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
    <Loaded live={live} empty={<EmptyState icon="lock" text={adminWords.tokensEmpty} />}>
      {(tokens) => <List tokens={tokens} hasOwners />}
    </Loaded>
  )
}

function List({ tokens, hasOwners = false }: { tokens: readonly Token[]; hasOwners?: boolean }) {
  return (
    <div class="panel is-flush">
      <DataTable
        label={adminWords.tokens}
        rows={tokens.toSorted((a, b) => a.name.localeCompare(b.name))}
        keyOf={({ id }) => id}
        columns={hasOwners ? columns : columns.filter(({ key }) => key !== 'owner')}
      />
    </div>
  )
}

const columns: readonly Column<Token>[] = [
  {
    key: 'name',
    head: adminWords.tokenName,
    grow: true,
    cell: ({ name, readOnly }) => (
      <>
        <strong>
          <Name text={name} max={60} />
        </strong>{' '}
        {readOnly && <span class="chip">{adminWords.readOnly}</span>}
      </>
    ),
  },
  { key: 'owner', head: adminWords.owner, cell: ({ principalId }) => <Name text={principalId} max={30} /> },
  {
    key: 'limits',
    head: adminWords.limits,
    hideBelow: 'narrow',
    cell: (token) => <Name text={limitsOf(token)} max={80} />,
  },
  {
    key: 'expires',
    head: adminWords.expires,
    cell: ({ expiresAt }) => (expiresAt === undefined ? adminWords.never : <Time at={Date.parse(expiresAt)} />),
  },
  {
    key: 'used',
    head: adminWords.lastUsed,
    hideBelow: 'phone',
    cell: ({ lastUsedAt }) => (lastUsedAt === undefined ? adminWords.notUsed : <Time at={Date.parse(lastUsedAt)} />),
  },
  {
    key: 'actions',
    head: words.actions,
    align: 'end',
    cell: (token) => (
      <Menu
        label={words.actionsOf(token.name)}
        items={[
          { label: adminWords.rotate, icon: 'refresh', onSelect: () => openDialog(<RotateToken token={token} />) },
          { label: adminWords.revoke, icon: 'trash', destructive: true, onSelect: () => revoke(token) },
        ]}
      />
    ),
  },
]

function limitsOf({ applications, operations }: Token): string {
  return [...(applications ?? []), ...(operations ?? [])].join(', ') || adminWords.noLimits
}

function revoke({ id, name, lastUsedAt }: Token): void {
  const used =
    lastUsedAt === undefined ? adminWords.neverUsed : adminWords.lastUsedAt(formatRelative(Date.parse(lastUsedAt), presentMs()))
  confirm({
    title: adminWords.revokeTitle(name),
    effect: <p>{adminWords.revokeEffect(name, used)}</p>,
    action: adminWords.revokeAction(name),
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
      title={adminWords.tokenCreated(name)}
      text={adminWords.secretOnce}
      label={adminWords.copySecret}
      secret={token}
    />
  )
}

function RotateToken({ token: { id, name } }: { token: Token }) {
  const overlap = useSignal(0)
  return (
    <FormDialog
      title={adminWords.rotateTitle(name)}
      action={adminWords.rotateAction(name)}
      run={async () =>
        secretOf(
          await unwrap(
            client.POST('/auth/apiTokens/{id}/rotate', { params: { path: { id } }, body: { overlapSeconds: overlap.peek() } }),
          ),
        )
      }
    >
      <p>{adminWords.rotateEffect(name)}</p>
      <Field label={adminWords.overlap}>
        {(tied) => (
          <select {...tied} onChange={(event) => (overlap.value = Number(event.currentTarget.value))}>
            {adminWords.overlaps.map(({ seconds, label }) => (
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
    <FormDialog title={adminWords.createToken} action={adminWords.createToken} run={create}>
      <TextField
        label={adminWords.tokenName}
        help={adminWords.tokenNameHelp}
        value={values.name}
        required
        onChange={(name) => set({ name })}
      />
      <TextField
        label={adminWords.expiresIn}
        help={adminWords.expiresHelp(maxDays)}
        value={values.days}
        input={{ type: 'number', min: 1, max: maxDays }}
        onChange={(days) => set({ days })}
      />
      <TextField
        label={adminWords.onlyApplications}
        help={adminWords.onlyApplicationsHelp}
        value={values.applications}
        onChange={(applications) => set({ applications })}
      />
      <CheckField label={adminWords.readOnly} checked={values.readOnly} onChange={(readOnly) => set({ readOnly })} />
    </FormDialog>
  )
}

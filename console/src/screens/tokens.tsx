/** API tokens: create, rotate and revoke; a secret is shown once. */
import type { VNode } from 'preact'
import { client, type Schemas, unwrap } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { type Column, DataTable, menuColumn } from '../components/data-table.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Name } from '../components/name.tsx'
import { openForm } from '../components/open-form.tsx'
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

const refreshes = '/auth/apiTokens'
const scopes = [
  { id: 'mine', label: 'Mine' },
  { id: 'all', label: 'Of all users' },
] as const
const dayMs = 86_400_000

export function Tokens({ query }: ScreenProps) {
  const { isAdmin, canMintApiTokens, maxUserTokenLifetimeDays: maxDays } = user.value ?? {}
  const isOfAll = isAdmin === true && query['scope'] === 'all'
  const change = useQueryChange()
  if (maxDays === undefined) {
    return (
      <>
        <AccessHead tab="Tokens" />
        <EmptyState icon="lock" text="API tokens are switched off; the setting api-tokens.enabled switches them on." />
      </>
    )
  }
  const denied = canMintApiTokens
    ? undefined
    : 'Your roles may not create tokens: see the setting api-tokens.allowed-minting-roles.'
  const create = (
    <Button kind="primary" icon="plus" denied={denied} onClick={() => createToken(maxDays)}>
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
            options={scopes}
            selected={isOfAll ? 'all' : 'mine'}
            onSelect={(scope) => change({ scope: scope === 'all' ? scope : undefined })}
          />
        </div>
      )}
      {denied !== undefined && <p class="quiet">{denied}</p>}
      <List key={String(isOfAll)} isOfAll={isOfAll} create={create} />
    </>
  )
}

function List({ isOfAll, create }: { isOfAll: boolean; create: VNode }) {
  const live = useLive(isOfAll ? '/auth/apiTokens/admin/users' : '/auth/apiTokens', {}, { refresh: 'slow' })
  return (
    <Loaded
      live={live}
      empty={
        <EmptyState icon="lock" text="You have no token. A token lets a program act with your rights, or fewer.">
          {create}
        </EmptyState>
      }
    >
      {(tokens) => (
        <div class="panel is-flush">
          <DataTable
            label="Tokens"
            rows={tokens.toSorted((a, b) => a.name.localeCompare(b.name))}
            keyOf={({ id }) => id}
            columns={isOfAll ? columns : columns.filter(({ head }) => head !== 'Owner')}
          />
        </div>
      )}
    </Loaded>
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
  { head: 'Owner', cell: ({ principalId }) => principalId },
  { head: 'Limits', hideBelow: 'narrow', cell: limitsOf },
  { head: 'Expires', cell: ({ expiresAt }) => (expiresAt === undefined ? 'never' : <Time at={expiresAt} />) },
  { head: 'Last used', hideBelow: 'phone', cell: ({ lastUsedAt }) => (lastUsedAt == null ? 'never' : <Time at={lastUsedAt} />) },
  menuColumn<Token>(
    ({ name }) => name,
    (token) => [
      { label: 'Rotate', icon: 'refresh', onSelect: () => rotate(token) },
      { label: 'Revoke', icon: 'trash', destructive: true, onSelect: () => revoke(token) },
    ],
  ),
]

function limitsOf({ applications = [], operations = [] }: Token): string {
  return [...applications, ...operations].join(', ') || 'everything you may do'
}

function createToken(maxDays: number): void {
  openForm({
    title: 'Create token',
    action: 'Create token',
    values: { name: '', days: String(maxDays), applications: '', readOnly: false },
    fields: {
      name: { label: 'Name', help: 'Of the program that uses it.', required: true },
      days: {
        label: 'Expires in days',
        help: `At most ${plural(maxDays, 'day')}.`,
        required: true,
        input: { type: 'number', min: 1, max: maxDays },
      },
      applications: { label: 'Only these applications', help: 'Separated by commas. Empty: all that you may use.' },
      readOnly: { label: 'Reads only' },
    },
    run: ({ name, days, applications, readOnly }) => {
      const expiresAt = new Date(presentMs() + Number(days) * dayMs).toISOString()
      const limits = applications === '' ? {} : { applications: splitList(applications) }
      return unwrap(client.POST('/auth/apiTokens', { body: { name: name.trim(), expiresAt, readOnly, ...limits } }))
    },
    refreshes,
    next: secretOf,
  })
}

function rotate({ id, name }: Token): void {
  openForm({
    title: `Rotate ${name}?`,
    action: `Rotate ${name}`,
    effect: `${name} gets another secret, which is shown once. Programs need it before the former one ends.`,
    values: { overlapSeconds: '0' },
    fields: {
      overlapSeconds: {
        label: 'Accept the former secret for',
        choices: [
          ['0', 'no time: it ends at once'],
          ['3600', '1 hour'],
          ['86400', '1 day'],
        ],
      },
    },
    run: ({ overlapSeconds }) =>
      unwrap(
        client.POST('/auth/apiTokens/{id}/rotate', {
          params: { path: { id } },
          body: { overlapSeconds: Number(overlapSeconds) },
        }),
      ),
    refreshes,
    next: secretOf,
  })
}

function secretOf({ name, token }: Schemas['IssuedApiToken']) {
  return (
    <SecretDialog
      title={`The secret of ${name}`}
      text="This secret is shown once. Store it now; Fairlead keeps only its hash."
      label="Copy the secret"
      secret={token}
    />
  )
}

function revoke({ id, name, lastUsedAt }: Token): void {
  const used =
    lastUsedAt === undefined ? 'It was never used.' : `Last used ${formatRelative(Date.parse(lastUsedAt), presentMs())}.`
  confirm({
    title: `Revoke ${name}?`,
    effect: `${name} stops working at once, everywhere. ${used} This cannot be undone.`,
    action: `Revoke ${name}`,
    destructive: true,
    run: () => unwrap(client.DELETE('/auth/apiTokens/{id}', { params: { path: { id } } })),
    refreshes,
  })
}

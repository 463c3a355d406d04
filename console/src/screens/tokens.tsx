/** API tokens: create, rotate and revoke; a secret is shown once. */
import type { ScreenProps } from '../address.ts'
import { client, type Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { confirm, SecretDialog } from '../components/confirm-dialog.tsx'
import { type Column, menuColumn } from '../components/data-table.tsx'
import { FilterField } from '../components/filter-field.tsx'
import { EmptyState } from '../components/screen.tsx'
import { Name, Time } from '../components/text.tsx'
import { splitList } from '../model/names.ts'
import { formatRelative, presentMs } from '../model/time.ts'
import { plural } from '../words.ts'
import { AccessHead } from './access.tsx'
import { List } from './place-list.tsx'

type Token = Schemas['ApiToken']

const refreshes = '/auth/apiTokens'
const dayMs = 86_400_000
const off = 'API tokens are switched off; the setting api-tokens.enabled switches them on.'
const mayNot = 'Your roles may not create tokens: see the setting api-tokens.allowed-minting-roles.'

export function Tokens(screen: ScreenProps) {
  const { isAdmin = false, canMintApiTokens, maxUserTokenLifetimeDays: maxDays } = user.value ?? {}
  const isOfAll = isAdmin && screen.query['scope'] === 'all'
  const path = isOfAll ? '/auth/apiTokens/admin/users' : '/auth/apiTokens'
  const live = useLive(path, maxDays === undefined ? undefined : {}, 'slow')
  if (maxDays === undefined)
    return [<AccessHead key="head" tab="Tokens" />, <EmptyState key="off" icon="lock" text={off} />]
  const denied = canMintApiTokens ? undefined : mayNot
  const create = (
    <Button kind="primary" icon="plus" denied={denied} onClick={() => createToken(maxDays)}>
      Create token
    </Button>
  )
  return (
    <>
      <AccessHead tab="Tokens" actions={create} />
      {isAdmin && (
        <div class="filters">
          <FilterField
            name="scope"
            label="Tokens"
            any="Mine"
            least={1}
            choices={[['all', 'Of all users']]}
          />
        </div>
      )}
      {denied !== undefined && <p class="muted">{denied}</p>}
      <List
        key={path}
        live={live}
        screen={screen}
        create={create}
        label="Tokens"
        icon="lock"
        isBare
        empty="You have no token. A token lets a program act with your rights, or fewer."
        rowsOf={(tokens) => tokens.toSorted((a, b) => a.name.localeCompare(b.name))}
        placeOf={({ id }) => ({ id })}
        columns={isOfAll ? columns : columns.filter(({ head }) => head !== 'Owner')}
      />
    </>
  )
}

const columns: readonly Column<Token>[] = [
  {
    head: 'Name',
    grow: true,
    cell: ({ name, readOnly }) => (
      <>
        <Name class="row-title" text={name} max={60} />{' '}
        {readOnly && <span class="chip">Reads only</span>}
      </>
    ),
  },
  { head: 'Owner', cell: ({ principalId }) => principalId },
  {
    head: 'Limits',
    hideBelow: 'narrow',
    cell: ({ applications = [], operations = [], readOnly }) =>
      [...applications, ...operations].join(', ') ||
      `everything you may ${readOnly ? 'read' : 'do'}`,
  },
  { head: 'Expires', cell: ({ expiresAt: at }) => (at == null ? 'never' : <Time at={at} />) },
  {
    head: 'Last used',
    hideBelow: 'phone',
    cell: ({ lastUsedAt: at }) => (at == null ? 'never' : <Time at={at} />),
  },
  menuColumn<Token>(
    ({ name }) => name,
    (token) => [
      { label: 'Rotate', icon: 'refresh', onSelect: () => rotate(token) },
      { label: 'Revoke', icon: 'trash', destructive: true, onSelect: () => revoke(token) },
    ],
  ),
]

function createToken(maxDays: number) {
  confirm({
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
      applications: {
        label: 'Only these applications',
        help: 'Separated by commas. Empty: all that you may use.',
      },
      readOnly: { label: 'Reads only' },
    },
    run: ({ name, days, applications, readOnly }) => {
      const expiresAt = new Date(presentMs() + Number(days) * dayMs).toISOString()
      const limits = applications === '' ? {} : { applications: splitList(applications) }
      return client.POST('/auth/apiTokens', {
        body: { name: name.trim(), expiresAt, readOnly, ...limits },
      })
    },
    refreshes,
    next: secretOf,
  })
}

const overlaps = [
  ['0', 'no time: it ends at once'],
  ['3600', '1 hour'],
  ['86400', '1 day'],
] as const

function rotate({ id, name }: Token): void {
  const params = { path: { id } }
  confirm({
    action: `Rotate ${name}`,
    effect: `${name} gets another secret, which is shown once. Programs need it before the former one ends.`,
    values: { overlapSeconds: '0' },
    fields: { overlapSeconds: { label: 'Accept the former secret for', choices: overlaps } },
    run: ({ overlapSeconds }) =>
      client.POST('/auth/apiTokens/{id}/rotate', {
        params,
        body: { overlapSeconds: Number(overlapSeconds) },
      }),
    refreshes,
    next: secretOf,
  })
}

function secretOf({ name, token }: Schemas['IssuedApiToken']) {
  return <SecretDialog what="secret" of={name} secret={token} />
}

function revoke({ id, name, lastUsedAt }: Token) {
  const used =
    lastUsedAt == null
      ? 'It was never used.'
      : `Last used ${formatRelative(Date.parse(lastUsedAt), presentMs())}.`
  confirm({
    action: `Revoke ${name}`,
    effect: `${name} stops working at once, everywhere. ${used} This cannot be undone.`,
    destructive: true,
    run: () => client.DELETE('/auth/apiTokens/{id}', { params: { path: { id } } }),
    refreshes,
  })
}

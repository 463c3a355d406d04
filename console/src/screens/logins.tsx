/** Where the user is signed in, and the end of it. */
import { to } from '../address.ts'
import { adminWords } from '../admin-words.ts'
import { client, type Schemas, unwrap } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Name } from '../components/name.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { words } from '../words.ts'
import { AccessHead } from './access-head.tsx'

type Login = Schemas['LoginSession']

/** The size of a page. Logins beyond it can only be ended together. */
const shownLogins = 100

export function Logins() {
  const live = useLive('/auth/sessions', { query: { limit: shownLogins } }, { refresh: 'slow' })
  const others = (live.reading.value.body ?? []).filter(({ current }) => !current)
  return (
    <>
      <AccessHead
        tab={adminWords.logins}
        actions={
          others.length > 0 && (
            <Button icon="signout" onClick={endOthers}>
              {adminWords.endOthers}
            </Button>
          )
        }
      />
      <Loaded live={live} empty={<EmptyState icon="user" text={adminWords.loginsEmpty} />}>
        {(logins) => (
          <div class="panel is-flush">
            <DataTable label={adminWords.logins} rows={logins} keyOf={({ id }) => id} columns={columns} />
            {logins.length === shownLogins && <p class="muted">{adminWords.loginsMore(shownLogins)}</p>}
          </div>
        )}
      </Loaded>
    </>
  )
}

const columns: readonly Column<Login>[] = [
  {
    key: 'browser',
    head: adminWords.browser,
    grow: true,
    cell: (login) => (
      <>
        <Name text={browserOf(login)} max={60} /> {login.current && <span class="chip">{adminWords.thisOne}</span>}
      </>
    ),
  },
  { key: 'address', head: adminWords.fromAddress, cell: ({ address }) => <Name text={address ?? '–'} max={40} /> },
  { key: 'method', head: adminWords.method, hideBelow: 'narrow', cell: ({ method }) => method },
  {
    key: 'created',
    head: adminWords.signedInAt,
    hideBelow: 'phone',
    cell: ({ createdAt }) => <Time at={createdAt === undefined ? undefined : Date.parse(createdAt)} />,
  },
  {
    key: 'used',
    head: adminWords.lastUsed,
    hideBelow: 'phone',
    cell: ({ lastUsedAt }) => <Time at={Date.parse(lastUsedAt)} />,
  },
  {
    key: 'actions',
    head: words.actions,
    align: 'end',
    cell: (login) =>
      login.current ? (
        <a class="button small" href={to.logout()}>
          {words.signOut}
        </a>
      ) : (
        <Button small onClick={() => end(login)}>
          {adminWords.end}
        </Button>
      ),
  },
]

/** The product and the system of a user agent, without the rest of it. */
function browserOf({ userAgent }: Login): string {
  if (userAgent === undefined) return adminWords.unknownBrowser
  const product = /(Edg|OPR|Firefox|Chrome|Safari|curl)\/(\d+)/.exec(userAgent)
  const system = /(Windows|Mac OS X|Android|iPhone|iPad|Linux)/.exec(userAgent)?.[1]
  if (product === null) return userAgent
  const name = { Edg: 'Edge', OPR: 'Opera' }[product[1] ?? ''] ?? product[1]
  return [`${name} ${product[2]}`, system].filter(Boolean).join(', ')
}

function end(login: Login): void {
  confirm({
    title: adminWords.endTitle,
    effect: <p>{adminWords.endEffect(browserOf(login), login.address ?? '–')}</p>,
    action: adminWords.endAction,
    run: async () => {
      await unwrap(client.DELETE('/auth/sessions/{id}', { params: { path: { id: login.id }, query: {} } }))
      refreshMatching('/auth/sessions')
    },
  })
}

function endOthers(): void {
  confirm({
    title: adminWords.endOthersTitle,
    effect: <p>{adminWords.endOthersEffect}</p>,
    action: adminWords.endOthersAction,
    run: async () => {
      await unwrap(client.DELETE('/auth/sessions', { params: { query: {} } }))
      refreshMatching('/auth/sessions')
    },
  })
}

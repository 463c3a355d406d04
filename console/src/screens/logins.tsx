/** Where the user is signed in, and the end of it. */
import { to } from '../address.ts'
import { client, type Schemas, unwrap } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { forgetUser } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Name } from '../components/name.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
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
        tab="Logins"
        actions={
          others.length > 0 && (
            <Button icon="signout" onClick={endOthers}>
              End all others
            </Button>
          )
        }
      />
      <Loaded live={live} empty={<EmptyState icon="user" text="No login is kept: you come with credentials in every request." />}>
        {(logins) => (
          <div class="panel is-flush">
            <DataTable label="Logins" rows={logins} keyOf={({ id }) => id} columns={columns} />
            {logins.length === shownLogins && <p class="muted">{`Only the ${shownLogins} logins used last are shown.`}</p>}
          </div>
        )}
      </Loaded>
    </>
  )
}

const columns: readonly Column<Login>[] = [
  {
    head: 'Browser',
    grow: true,
    cell: (login) => (
      <>
        <Name text={browserOf(login)} max={60} /> {login.current && <span class="chip">this one</span>}
      </>
    ),
  },
  { head: 'From', cell: ({ address }) => <Name text={address ?? '–'} max={40} /> },
  { head: 'By', hideBelow: 'narrow', cell: ({ method }) => method },
  {
    head: 'Signed in',
    hideBelow: 'phone',
    cell: ({ createdAt }) => <Time at={createdAt === undefined ? undefined : Date.parse(createdAt)} />,
  },
  { head: 'Last used', hideBelow: 'phone', cell: ({ lastUsedAt }) => <Time at={Date.parse(lastUsedAt)} /> },
  {
    head: 'Actions',
    align: 'end',
    cell: (login) =>
      login.current ? (
        <a class="button small" href={to.logout()} onClick={forgetUser}>
          Sign out
        </a>
      ) : (
        <Button small onClick={() => end(login)}>
          End
        </Button>
      ),
  },
]

/** The product and the system of a user agent, without the rest of it. */
function browserOf({ userAgent }: Login): string {
  if (userAgent === undefined) return 'A browser'
  const product = /(Edg|OPR|Firefox|Chrome|Safari|curl)\/(\d+)/.exec(userAgent)
  const system = /(Windows|Mac OS X|Android|iPhone|iPad|Linux)/.exec(userAgent)?.[1]
  if (product === null) return userAgent
  const name = { Edg: 'Edge', OPR: 'Opera' }[product[1] ?? ''] ?? product[1]
  return [`${name} ${product[2]}`, system].filter(Boolean).join(', ')
}

function end(login: Login): void {
  confirm({
    title: 'End this login?',
    effect: <p>{`${browserOf(login)} at ${login.address ?? '–'} has to sign in again. API tokens stay valid.`}</p>,
    action: 'End login',
    run: async () => {
      await unwrap(client.DELETE('/auth/sessions/{id}', { params: { path: { id: login.id }, query: {} } }))
      refreshMatching('/auth/sessions')
    },
  })
}

function endOthers(): void {
  confirm({
    title: 'End all other logins?',
    effect: <p>Every other browser of yours has to sign in again. This one stays signed in. API tokens stay valid.</p>,
    action: 'End all other logins',
    run: async () => {
      await unwrap(client.DELETE('/auth/sessions', { params: { query: {} } }))
      refreshMatching('/auth/sessions')
    },
  })
}

/** Where the user is signed in, and the end of it. */
import { useEffect } from 'preact/hooks'
import { to } from '../address.ts'
import { client, type Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { forgetUser, reportSignedIn } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { EmptyState, Loaded } from '../components/screen.tsx'
import { Name, Time } from '../components/text.tsx'
import { AccessHead } from './access.tsx'

type Login = Schemas['LoginSession']

const refreshes = '/auth/sessions'
/** The size of a page. Logins beyond it can only be ended together. */
const limit = 100

export function Logins() {
  const live = useLive('/auth/sessions', { query: { limit } }, 'slow')
  const hasOthers = live.body?.some(({ current }) => !current)
  const end = hasOthers && (
    <Button icon="signout" onClick={endOthers}>
      End all others
    </Button>
  )
  return (
    <>
      <AccessHead tab="Logins" actions={end} />
      <Loaded
        live={live}
        icon="user"
        empty="No login is kept: you come with credentials in every request."
      >
        {(logins) => (
          <div class="panel is-flush">
            <DataTable label="Logins" rows={logins} keyOf={({ id }) => id} columns={columns} />
            {logins.length === limit && (
              <p class="panel-note">{`Only the ${limit} logins used last are shown.`}</p>
            )}
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
        <Name text={browserOf(login)} max={60} />{' '}
        {login.current && <span class="chip">this one</span>}
      </>
    ),
  },
  { head: 'From', cell: ({ address = '–' }) => address },
  { head: 'By', hideBelow: 'narrow', cell: ({ method }) => method },
  { head: 'Signed in', hideBelow: 'phone', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: 'Last used', hideBelow: 'phone', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
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
function browserOf({ userAgent = 'A browser' }: Login) {
  const [, product, version] = /(Edg|OPR|Firefox|Chrome|Safari|curl)\/(\d+)/.exec(userAgent) ?? []
  if (product === undefined) return userAgent
  const system = /Windows|Mac OS X|Android|iPhone|iPad|Linux/.exec(userAgent)?.[0]
  const name = { Edg: 'Edge', OPR: 'Opera' }[product] ?? product
  return [`${name} ${version}`, system].filter(Boolean).join(', ')
}

function end(login: Login) {
  confirm({
    title: 'End this login?',
    effect: `${browserOf(login)} at ${login.address ?? '–'} has to sign in again. API tokens stay valid.`,
    action: 'End login',
    run: () =>
      client.DELETE('/auth/sessions/{id}', { params: { path: { id: login.id }, query: {} } }),
    refreshes,
  })
}

function endOthers() {
  confirm({
    effect: 'Every other browser of yours has to sign in again. API tokens stay valid.',
    action: 'End all other logins',
    run: () => client.DELETE('/auth/sessions', { params: { query: {} } }),
    refreshes,
  })
}

/** The end of a login that was started in a tab of its own. */
export function SignedIn() {
  useEffect(reportSignedIn, [])
  return <EmptyState icon="check" text="You are signed in. You can close this tab." />
}

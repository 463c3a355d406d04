/** Users of the login form: add, give roles and passwords, unlock, remove. For administrators. */
import type { ScreenProps } from '../address.ts'
import { client, type Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { user as self } from '../api/session.ts'
import { Banner, Button } from '../components/button.tsx'
import { confirm, SecretDialog } from '../components/confirm-dialog.tsx'
import { type Column, menuColumn } from '../components/data-table.tsx'
import type { MenuItem } from '../components/menu.tsx'
import { Roles } from '../components/permissions-field.tsx'
import { EmptyState, PageHead } from '../components/screen.tsx'
import { Name, Time } from '../components/text.tsx'
import { splitList } from '../model/names.ts'
import { plural } from '../words.ts'
import { List } from './place-list.tsx'

type User = Schemas['FormUser']

const refreshes = '/auth/users'
const rolesField = { label: 'Roles', help: 'Separated by commas.' }
const elsewhere =
  'The login form has no users of its own. Add and remove people in the directory or at the identity provider.'

export function Users(screen: ScreenProps) {
  const live = useLive('/auth/users', {}, 'slow')
  const { error, body } = live
  const add = (
    <Button kind="primary" icon="plus" onClick={addUser}>
      Add user
    </Button>
  )
  const hasOneAdmin = body?.filter(({ isAdmin }) => isAdmin).length === 1
  const actions = menuColumn<User>(
    ({ username }) => username,
    (user) => actionsOf(user, user.isAdmin && hasOneAdmin),
  )
  return (
    <>
      <PageHead tab="Users" count={body?.length} actions={body !== undefined && add}>
        {body !== undefined && (
          <p class="muted">Users of the login form that Fairlead keeps itself.</p>
        )}
      </PageHead>
      {error?.status === 404 && body === undefined ? (
        <EmptyState icon="people" text={elsewhere} />
      ) : (
        <List
          live={live}
          screen={screen}
          label="Users"
          icon="people"
          empty="No user yet."
          rowsOf={(users) => users}
          placeOf={({ username, roles }) => ({ username, roles: roles.join(' ') })}
          keyOf={({ username }) => username}
          columns={[...columns, actions]}
        />
      )}
    </>
  )
}

const columns: readonly Column<User>[] = [
  { head: 'Name', cell: ({ username }) => <Name class="row-title" text={username} /> },
  {
    head: 'Roles',
    grow: true,
    cell: ({ roles, isAdmin }) => <Roles roles={roles.map((name) => ({ name }))} admin={isAdmin} />,
  },
  { head: 'Tokens', align: 'end', hideBelow: 'narrow', cell: ({ tokens }) => tokens ?? '–' },
  { head: 'Last used', hideBelow: 'phone', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
]

function actionsOf(user: User, isLastAdmin: boolean): readonly MenuItem[] {
  const isSelf = user.username === self.value?.username
  const denied = isSelf
    ? 'You cannot remove yourself.'
    : isLastAdmin
      ? 'This is the last administrator.'
      : undefined
  return [
    { label: 'New password', icon: 'refresh', onSelect: () => setPassword(user) },
    { label: 'Roles …', icon: 'people', onSelect: () => setRoles(user, isSelf) },
    { label: 'Unlock', icon: 'lock', onSelect: () => unlock(user) },
    { label: 'Remove', icon: 'trash', destructive: true, denied, onSelect: () => remove(user) },
  ]
}

function addUser() {
  confirm({
    action: 'Add user',
    effect: 'Fairlead generates a password, which is shown once.',
    values: { username: '', roles: '' },
    fields: { username: { label: 'Name', required: true }, roles: rolesField },
    run: ({ username, roles }) =>
      client.POST('/auth/users', { body: { username: username.trim(), roles: splitList(roles) } }),
    refreshes,
    next: passwordOf,
  })
}

function passwordOf({ username, password = '' }: Schemas['FormUserPassword']) {
  return <SecretDialog what="password" of={username} secret={password} />
}

function setPassword({ username }: User) {
  const params = { path: { username } }
  confirm({
    title: `A new password for ${username}?`,
    action: 'Generate password',
    effect: `Fairlead generates a password, which is shown once. The former one ends, and ${username} has to log in again everywhere.`,
    values: { revokeTokens: false },
    fields: { revokeTokens: { label: 'Revoke the API tokens as well' } },
    run: (body) => client.PUT('/auth/users/{username}/password', { params, body }),
    refreshes,
    next: passwordOf,
  })
}

function setRoles({ username, roles: before, isAdmin }: User, isSelf: boolean) {
  const params = { path: { username } }
  const loses = (roles: string) =>
    !before.every((role) => splitList(roles.toLowerCase()).includes(role))
  confirm({
    title: `Roles of ${username}`,
    action: 'Save roles',
    values: { roles: before.join(', ') },
    fields: { roles: rolesField },
    note: ({ roles }) =>
      isSelf &&
      isAdmin &&
      loses(roles) && (
        <Banner tone="warning">
          You take a role from yourself. Without an administrator role you could not undo this.
        </Banner>
      ),
    run: ({ roles }) =>
      client.PUT('/auth/users/{username}/roles', { params, body: { roles: splitList(roles) } }),
    refreshes,
  })
}

function unlock({ username }: User): void {
  confirm({
    effect: `Wrong passwords so far are forgotten, and ${username} may log in at once.`,
    action: `Unlock ${username}`,
    run: () => client.POST('/auth/users/{username}/unlock', { params: { path: { username } } }),
  })
}

function remove({ username, tokens = 0 }: User) {
  const revoked =
    tokens === 0
      ? ''
      : ` ${plural(tokens, 'token')} of ${username} ${tokens === 1 ? 'is' : 'are'} revoked.`
  confirm({
    effect: `${username} can no longer log in.${revoked} This cannot be undone.`,
    action: `Remove ${username}`,
    typed: username,
    destructive: true,
    run: () => client.DELETE('/auth/users/{username}', { params: { path: { username } } }),
    refreshes,
  })
}

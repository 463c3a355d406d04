/** Users of the login form: add, give roles and passwords, unlock, remove. For administrators. */

import { useState } from 'preact/hooks'
import { client, type Schemas, unwrap } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { user as self } from '../api/session.ts'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Filters } from '../components/filter-field.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { CheckField, TextField } from '../components/form-fields.tsx'
import { Icon } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { SecretDialog } from '../components/secret-dialog.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { splitList } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'
import { plural } from '../words.ts'

type User = Schemas['FormUser']

export function Users({ query: { q = '' } }: ScreenProps) {
  const live = useLive('/auth/users', {}, { refresh: 'slow' })
  const { error, body } = live.reading.value
  const isElsewhere = error?.status === 404 && body === undefined
  const add = (
    <Button kind="primary" icon="plus" onClick={() => openDialog(<AddUser />)}>
      Add user
    </Button>
  )
  return (
    <>
      <PageHead
        tab="Users"
        title="Users"
        state={body !== undefined && <span class="count">{body.length.toLocaleString()}</span>}
        actions={!isElsewhere && body !== undefined && add}
      >
        <p class="muted">Users of the login form that Fairlead keeps itself.</p>
      </PageHead>
      {isElsewhere ? (
        <EmptyState
          icon="people"
          text="Users come from elsewhere: the login form has no users of its own. Add and remove people in the directory or at the identity provider."
        />
      ) : (
        <Loaded
          live={live}
          empty={
            <EmptyState icon="people" text="No user yet.">
              {add}
            </EmptyState>
          }
        >
          {(users) => <List users={users} filter={q} />}
        </Loaded>
      )}
    </>
  )
}

function List({ users, filter }: { users: readonly User[]; filter: string }) {
  const wanted = filter.toLowerCase()
  const shown = users.filter(({ username, roles }) => [username, ...roles].some((text) => text.toLowerCase().includes(wanted)))
  const hasOneAdmin = users.filter(({ isAdmin }) => isAdmin).length === 1
  const isLastAdmin = ({ isAdmin }: User) => isAdmin && hasOneAdmin
  return (
    <Filters
      filters={[{ name: 'q', label: 'Filter' }]}
      noMatch={shown.length === 0 ? `None of the users matches “${filter}”.` : undefined}
    >
      <div class="panel is-flush">
        <DataTable label="Users" rows={shown} keyOf={({ username }) => username} columns={columnsOf(isLastAdmin)} />
      </div>
    </Filters>
  )
}

function columnsOf(isLastAdmin: (user: User) => boolean): readonly Column<User>[] {
  return [
    {
      head: 'Name',
      cell: ({ username }) => (
        <strong>
          <Name text={username} max={50} />
        </strong>
      ),
    },
    { head: 'Roles', grow: true, cell: (user) => <RoleChips user={user} /> },
    { head: 'Tokens', align: 'end', hideBelow: 'narrow', cell: ({ tokens }) => tokens ?? '–' },
    {
      head: 'Last used',
      hideBelow: 'phone',
      cell: ({ lastUsedAt }) => (lastUsedAt === undefined ? '–' : <Time at={Date.parse(lastUsedAt)} />),
    },
    { head: 'Actions', align: 'end', cell: (user) => <Actions user={user} isLastAdmin={isLastAdmin(user)} /> },
  ]
}

function RoleChips({ user: { roles, isAdmin } }: { user: User }) {
  return (
    <span class="chips">
      {isAdmin && (
        <span class="chip">
          <Icon name="lock" /> {'administrator'}
        </span>
      )}
      {roles.map((role) => (
        <span key={role} class="chip">
          <Name text={role} max={40} />
        </span>
      ))}
    </span>
  )
}

function Actions({ user, isLastAdmin }: { user: User; isLastAdmin: boolean }) {
  const { username } = user
  const isSelf = username === self.value?.username
  return (
    <Menu
      label={`Actions of ${username}`}
      items={[
        { label: 'New password', icon: 'refresh', onSelect: () => openDialog(<NewPassword username={username} />) },
        { label: 'Roles …', icon: 'people', onSelect: () => openDialog(<EditRoles user={user} />) },
        { label: 'Unlock', icon: 'lock', onSelect: () => unlock(user) },
        {
          label: 'Remove',
          icon: 'trash',
          destructive: true,
          denied: isSelf ? 'You cannot remove yourself.' : isLastAdmin ? 'This is the last administrator.' : undefined,
          onSelect: () => remove(user),
        },
      ]}
    />
  )
}

function unlock({ username }: User): void {
  confirm({
    title: `Unlock ${username}?`,
    effect: <p>{`Wrong passwords so far are forgotten, and ${username} may log in at once.`}</p>,
    action: `Unlock ${username}`,
    run: async () => {
      await unwrap(client.POST('/auth/users/{username}/unlock', { params: { path: { username } } }))
    },
  })
}

function remove({ username, tokens = 0 }: User): void {
  const revoked = tokens === 0 ? '' : ` ${plural(tokens, 'token')} of ${username} ${tokens === 1 ? 'is' : 'are'} revoked.`
  confirm({
    title: `Remove ${username}?`,
    effect: <p>{`${username} can no longer log in.${revoked} This cannot be undone.`}</p>,
    action: `Remove ${username}`,
    level: 2,
    typed: username,
    destructive: true,
    run: async () => {
      await unwrap(client.DELETE('/auth/users/{username}', { params: { path: { username } } }))
      refreshMatching('/auth/users')
    },
  })
}

function passwordOf({ username, password = '' }: Schemas['FormUserPassword']) {
  refreshMatching('/auth/users')
  return (
    <SecretDialog
      title={`The password of ${username}`}
      text={`This password is shown once. Give it to ${username}; Fairlead keeps only its hash.`}
      label="Copy the password"
      secret={password}
    />
  )
}

function AddUser() {
  const [values, setValues] = useState({ username: '', roles: '' })
  const body = { username: values.username.trim(), roles: splitList(values.roles) }
  const add = async () => passwordOf(await unwrap(client.POST('/auth/users', { body })))
  return (
    <FormDialog title="Add user" action="Add user" run={add}>
      <p class="muted">Fairlead generates a password, which is shown once.</p>
      <TextField label="Name" value={values.username} required onChange={(username) => setValues({ ...values, username })} />
      <RolesField value={values.roles} onChange={(roles) => setValues({ ...values, roles })} />
    </FormDialog>
  )
}

function RolesField({ value, onChange }: { value: string; onChange: (roles: string) => void }) {
  return <TextField label="Roles" help="Separated by commas." value={value} onChange={onChange} />
}

function NewPassword({ username }: { username: string }) {
  const [revokeTokens, setRevokeTokens] = useState(false)
  const set = async () =>
    passwordOf(
      await unwrap(client.PUT('/auth/users/{username}/password', { params: { path: { username } }, body: { revokeTokens } })),
    )
  return (
    <FormDialog title={`A new password for ${username}?`} action="Generate password" run={set}>
      <p>{`Fairlead generates a password, which is shown once. The former one ends, and ${username} has to log in again everywhere.`}</p>
      <CheckField label="Revoke the API tokens as well" checked={revokeTokens} onChange={setRevokeTokens} />
    </FormDialog>
  )
}

function EditRoles({ user: { username, roles, isAdmin } }: { user: User }) {
  const [text, setText] = useState(roles.join(', '))
  const isSelf = username === self.value?.username
  const keepsRoles = roles.every((role) => splitList(text.toLowerCase()).includes(role))
  const save = async () => {
    await unwrap(client.PUT('/auth/users/{username}/roles', { params: { path: { username } }, body: { roles: splitList(text) } }))
    refreshMatching('/auth/users')
    return undefined
  }
  return (
    <FormDialog title={`Roles of ${username}`} action="Save roles" run={save}>
      <RolesField value={text} onChange={setText} />
      {isSelf && isAdmin && !keepsRoles && (
        <Banner tone="warning">You take a role from yourself. Without an administrator role you could not undo this.</Banner>
      )}
    </FormDialog>
  )
}

/** Roles that may read, start and change an application: a row each. */
import { useState } from 'preact/hooks'
import { user } from '../api/session.ts'
import {
  isOpen,
  lostRights,
  type RoleRights,
  toPermissions,
  toRoleRights,
  unheldRights,
} from '../model/permissions.ts'
import { Banner } from './button.tsx'
import { CheckList, RecordRows, TextField } from './form-fields.tsx'
import { Icon, Name } from './text.tsx'

const rightWords = { READ: 'read', EXECUTE: 'start', WRITE: 'change' } as const
const choices = Object.entries(rightWords).map(([id, label]) => ({ id, label }))
const list = new Intl.ListFormat('en-GB')

interface PermissionsFieldProps {
  readonly application: string
  /** Shown at first; the rows are those of the component from then on. */
  readonly permissions: unknown
  readonly onChange: (permissions: Record<string, readonly string[]>) => void
}

export function PermissionsField({ application, permissions, onChange }: PermissionsFieldProps) {
  const [rows, setRows] = useState<readonly RoleRights[]>(() => toRoleRights(permissions))
  const { isAdmin, roles = [] } = user.value ?? {}
  const change = (next: readonly RoleRights[]) => {
    setRows(next)
    onChange(toPermissions(next, permissions))
  }
  const lost = isAdmin ? [] : lostRights(rows, roles).map((right) => rightWords[right])
  const unheld = unheldRights(rows).map((right) => rightWords[right])
  return (
    <div class="answer plain-records matrix">
      <RecordRows records={rows} onChange={change} noun="role" added={{ role: '', has: ['READ'] }}>
        {({ role, has }, put) => (
          <>
            <TextField
              label="Role"
              value={role}
              suggestions={roles}
              onChange={(text) => put({ role: text })}
            />
            <CheckList
              label={`${role || 'The role'} may`}
              head=""
              choices={choices}
              chosen={has}
              onChange={(next) => put({ has: next })}
            />
          </>
        )}
      </RecordRows>
      {isOpen(rows) && (
        <p class="muted">{`Every user may read, start and change ${application}.`}</p>
      )}
      {unheld.length > 0 && (
        <p class="muted">{`Only administrators may ${list.format(unheld)} ${application}: no role is named for it.`}</p>
      )}
      {lost.length > 0 && (
        <Banner tone="warning">{`You could no longer ${list.format(lost)} this application yourself.`}</Banner>
      )}
    </div>
  )
}

interface RolesProps {
  /** Each with where it comes from. */
  readonly roles: readonly { readonly name: string; readonly from?: string }[]
  readonly admin: boolean
  /** Where there are none. */
  readonly none?: string
}

export function Roles({ roles, admin, none }: RolesProps) {
  if (roles.length === 0 && !admin) return <>{none}</>
  return (
    <span class="chips">
      {admin && (
        <span class="chip">
          <Icon name="lock" /> administrator
        </span>
      )}
      {roles.map(({ name, from }) => (
        <span key={`${name} ${from}`} class="chip">
          <Name text={name} max={60} /> {from !== undefined && <span class="muted">({from})</span>}
        </span>
      ))}
    </span>
  )
}

/** Roles by what they may do, or that every user may. */
export function Permissions({
  permissions = {},
}: {
  permissions: Readonly<Record<string, readonly string[]>> | undefined
}) {
  const given = Object.entries(permissions).filter(([, roles]) => roles.length > 0)
  if (given.length === 0) return <span class="muted">Every user: no role is named.</span>
  return (
    <span class="chips">
      {given.map(([right, roles]) => (
        <span key={right} class="chip">
          {right}: <Name text={roles.join(', ')} max={120} />
        </span>
      ))}
    </span>
  )
}

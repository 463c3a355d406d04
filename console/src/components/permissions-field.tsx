/** Which roles may read, start and change an application: a row for each role. */

import { useId, useState } from 'preact/hooks'
import { user } from '../api/session.ts'
import {
  type ApplicationRight,
  isOpen,
  lostRights,
  type RoleRights,
  rights,
  toPermissions,
  toRoleRights,
  unheldRights,
} from '../model/permissions.ts'
import { Banner } from './banner.tsx'
import { Button, IconButton } from './button.tsx'
import { Check } from './check.tsx'
import { focusBeside } from './focus.ts'
import { Suggestions } from './form-fields.tsx'

const rightWords = { READ: 'read', EXECUTE: 'start', WRITE: 'change' } as const
const list = new Intl.ListFormat('en-GB')

interface PermissionsFieldProps {
  readonly application: string
  /** Shown at first; the rows are those of the component from then on. */
  readonly permissions: unknown
  readonly onChange: (permissions: Record<string, readonly string[]>) => void
}

export function PermissionsField({ application, permissions, onChange }: PermissionsFieldProps) {
  const [rows, setRows] = useState<readonly RoleRights[]>(() => toRoleRights(permissions))
  const change = (next: readonly RoleRights[]) => {
    setRows(next)
    onChange(toPermissions(next, permissions))
  }
  const unheld = unheldRights(rows).map((right) => rightWords[right])
  const lost = user.value?.isAdmin === true ? [] : lostRights(rows, user.value?.roles ?? [])
  return (
    <div class="permissions answer">
      {rows.length > 0 && <RoleTable rows={rows} onChange={change} />}
      <p>
        <Button small icon="plus" onClick={() => change([...rows, { role: '', has: ['READ'] }])}>
          Add role
        </Button>
      </p>
      {isOpen(rows) && <p class="muted">{`Every user may read, start and change ${application}.`}</p>}
      {unheld.length > 0 && (
        <p class="muted">{`Only administrators may ${list.format(unheld)} ${application}: no role is named for it.`}</p>
      )}
      {lost.length > 0 && (
        <Banner tone="warning">{`You could no longer ${list.format(lost.map((right) => rightWords[right]))} this application yourself.`}</Banner>
      )}
    </div>
  )
}

interface RoleTableProps {
  readonly rows: readonly RoleRights[]
  readonly onChange: (rows: readonly RoleRights[]) => void
}

function RoleTable({ rows, onChange }: RoleTableProps) {
  const id = useId()
  return (
    <div class="scrolls">
      <table class="table">
        <thead>
          <tr>
            <th scope="col" class="grow">
              Role
            </th>
            {rights.map((right) => (
              <th key={right} scope="col">
                {right}
              </th>
            ))}
            <th scope="col">
              <span class="visually-hidden">Delete</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <RoleRow
              key={at}
              row={row}
              list={id}
              onChange={(changed) => onChange(rows.with(at, changed))}
              onRemove={() => onChange(rows.toSpliced(at, 1))}
            />
          ))}
        </tbody>
      </table>
      <Suggestions id={id} values={user.value?.roles ?? []} />
    </div>
  )
}

interface RoleRowProps {
  readonly row: RoleRights
  /** Id of the roles that are suggested. */
  readonly list: string
  readonly onChange: (row: RoleRights) => void
  readonly onRemove: () => void
}

function RoleRow({ row, list, onChange, onRemove }: RoleRowProps) {
  const toggle = (right: ApplicationRight) => rights.filter((one) => (one === right) !== row.has.includes(one))
  return (
    <tr>
      <td class="grow">
        <input
          aria-label="Role"
          list={list}
          value={row.role}
          onInput={(event) => onChange({ ...row, role: event.currentTarget.value })}
          autoComplete="off"
          spellcheck={false}
        />
      </td>
      {rights.map((right) => (
        <td key={right}>
          <Check checked={row.has.includes(right)} onChange={() => onChange({ ...row, has: toggle(right) })}>
            <span class="visually-hidden">{`${row.role || 'The role'} may ${rightWords[right]}`}</span>
          </Check>
        </td>
      ))}
      <td>
        <IconButton
          icon="trash"
          label={`Remove ${row.role || 'the role'}`}
          onClick={(event) => {
            focusBeside(event.currentTarget)
            onRemove()
          }}
        />
      </td>
    </tr>
  )
}

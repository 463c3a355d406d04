/** Which roles may read, start and change an application: a row for each role. */
import { useId, useState } from 'preact/hooks'
import { user } from '../api/session.ts'
import {
  isOpen,
  lostRights,
  type Right,
  type RoleRights,
  rights,
  toPermissions,
  toRoleRights,
  unheldRights,
} from '../model/permissions.ts'
import { settingsWords } from '../settings-words.ts'
import { Banner } from './banner.tsx'
import { focusBeside } from './focus.ts'
import { Icon } from './icon.tsx'

interface PermissionsFieldProps {
  readonly application: string
  /** Shown at first; the rows are those of the component from then on. */
  readonly permissions: unknown
  readonly onChange: (permissions: Record<string, readonly string[]>) => void
}

export function PermissionsField({ application, permissions, onChange }: PermissionsFieldProps) {
  const [rows, setRows] = useState<readonly RoleRights[]>(() => toRoleRights(permissions))
  const id = useId()
  const change = (next: readonly RoleRights[]) => {
    setRows(next)
    onChange(toPermissions(next, permissions))
  }
  const replace = (at: number, row: RoleRights) => change(rows.map((one, index) => (index === at ? row : one)))
  const toggle = ({ has }: RoleRights, right: Right) => rights.filter((one) => (one === right) !== has.includes(one))
  const unheld = unheldRights(rows).map((right) => settingsWords.rightWords[right])
  const own = user.value?.roles ?? []
  const lost = user.value?.isAdmin === true ? [] : lostRights(rows, own)
  return (
    <div class="permissions answer">
      {rows.length > 0 && (
        <div class="scrolls">
          <table class="table">
            <thead>
              <tr>
                <th scope="col" class="grow">
                  {settingsWords.role}
                </th>
                {rights.map((right) => (
                  <th key={right} scope="col">
                    {right}
                  </th>
                ))}
                <th scope="col">
                  <span class="visually-hidden">{settingsWords.delete}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row, at) => (
                <tr key={at}>
                  <td class="grow">
                    <input
                      aria-label={settingsWords.role}
                      list={id}
                      value={row.role}
                      onInput={(event) => replace(at, { ...row, role: event.currentTarget.value })}
                      autoComplete="off"
                      spellcheck={false}
                    />
                  </td>
                  {rights.map((right) => (
                    <td key={right}>
                      <label class="check">
                        <input
                          type="checkbox"
                          checked={row.has.includes(right)}
                          onChange={() => replace(at, { ...row, has: toggle(row, right) })}
                        />
                        <span class="visually-hidden">{settingsWords.mayRight(row.role, settingsWords.rightWords[right])}</span>
                      </label>
                    </td>
                  ))}
                  <td>
                    <button
                      type="button"
                      class="icon-button"
                      aria-label={settingsWords.removeRole(row.role)}
                      onClick={(event) => {
                        focusBeside(event.currentTarget)
                        change(rows.filter((_, index) => index !== at))
                      }}
                    >
                      <Icon name="trash" />
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <datalist id={id}>
        {own.map((role) => (
          <option key={role} value={role} />
        ))}
      </datalist>
      <p>
        <button type="button" class="button small" onClick={() => change([...rows, { role: '', has: ['READ'] }])}>
          <Icon name="plus" /> {settingsWords.addRole}
        </button>
      </p>
      {isOpen(rows) && <p class="muted">{settingsWords.openToAll(application)}</p>}
      {unheld.length > 0 && <p class="muted">{settingsWords.unheld(application, unheld)}</p>}
      {lost.length > 0 && (
        <Banner tone="warning">{settingsWords.loses(lost.map((right) => settingsWords.rightWords[right]))}</Banner>
      )}
    </div>
  )
}

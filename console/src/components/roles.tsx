/** Roles: those of a user, and those that may do something. */
import { Icon, Name } from './text.tsx'

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
export function Permissions({ permissions = {} }: { permissions: Readonly<Record<string, readonly string[]>> | undefined }) {
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

/** Origins of roles in words, by the sources of the permission service. */
import type { PermissionView } from '../../permissions/permissions.ts'

interface ExplainedRole {
  readonly name: string
  /** As the permission service calls it. */
  readonly source: string
  readonly from: string
}

const providers: Readonly<Record<string, string>> = {
  FILE: 'the role file',
  LDAP: 'the directory',
  GOOGLE_GROUPS: 'Google Groups',
  GITHUB_TEAMS: 'GitHub teams',
}

/** @param method The login method that the user came by last, where it is known. */
export function explainRoles(view: PermissionView | undefined, method: string | undefined): ExplainedRole[] {
  return (view?.roles ?? []).map(({ name, source = 'EXTERNAL' }) => ({ name, source, from: originOf(source, method) }))
}

function originOf(source: string, method: string | undefined): string {
  if (source === 'EXTERNAL') return method === undefined ? 'the last login' : `the last login, by ${method}`
  return Object.hasOwn(providers, source) ? String(providers[source]) : `the role provider ${source}`
}

/** Check of a role source before the start, with errors reported together. */
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import type { RoleSourceSettings } from './settings.ts'

/** Loaded late: most installations have no source but the login. The directory itself is not asked: it may be silent for a while. */
export async function checkRoleSource(
  source: RoleSourceSettings | undefined,
  report: SettingsReport,
): Promise<void> {
  if (source?.kind === 'file') {
    const { readRoleFile } = await import('./role-file.ts')
    tell(report, 'auth.group-membership.file.path', () => readRoleFile(source.path))
  }
  if (source?.kind === 'ldap') {
    const { parseFilterTemplate } = await import('@fairlead/base/directory/filter-template.ts')
    const { userSearch, groupSearch } = source.directory
    for (const [key, search] of [
      ['userSearchFilter', userSearch],
      ['groupSearchFilter', groupSearch],
    ] as const) {
      if (search !== undefined)
        tell(report, `auth.group-membership.ldap.${key}`, () => parseFilterTemplate(search.filter))
    }
  }
}

function tell(report: SettingsReport, key: string, attempt: () => unknown): void {
  try {
    attempt()
  } catch (error) {
    report.problem(key, (error as Error).message)
  }
}

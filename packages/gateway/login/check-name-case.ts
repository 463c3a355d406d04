/** Checks how user names are compared. */
import type { Finding, Reporter } from '@fairlead/base/findings/finding.ts'
import type { NameCase } from './login-method.ts'

export interface NameSettings {
  /** Undefined: true for identity providers that are known to ignore case, false for others. */
  readonly caseInsensitiveNames: boolean | undefined
}

export function checkNameCase(
  report: Reporter,
  nameCase: NameCase,
  { caseInsensitiveNames }: NameSettings,
): Finding {
  const tried = 'compare user names'
  if (caseInsensitiveNames !== undefined) {
    const rule = caseInsensitiveNames
      ? 'mark and MARK are one user'
      : 'names with upper-case letters are refused'
    return report.ok(tried, `${rule} (login.caseInsensitiveNames)`)
  }
  if (nameCase === 'insensitive')
    return report.ok(tried, 'mark and MARK are one user: this provider is known to ignore case')
  return report.ok(
    tried,
    'names with upper-case letters are refused; if the provider ignores case, login.caseInsensitiveNames: true accepts them',
  )
}

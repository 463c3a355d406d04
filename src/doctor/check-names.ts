/** Checks case in user names, by login method. */
import { type NameCase, nameCaseOfProxy } from '../login/name-case.ts'
import type { LoginSettings } from '../login/settings.ts'
import { type Check, type Finding, findingsOn, type Reporter } from './finding.ts'

export type NameSettings = Pick<LoginSettings, 'caseInsensitiveNames'>

/** The methods that have no identity provider which another check examines. */
export function checkNames({ header, iap, x509, caseInsensitiveNames }: LoginSettings): Check[] {
  const methods: [subject: string, isOn: boolean, nameCase: NameCase][] = [
    ['Trusted header', header !== undefined, 'unknown'],
    ['Identity-Aware Proxy', iap !== undefined, iap === undefined ? 'unknown' : nameCaseOfProxy(iap.issuer)],
    ['Client certificates', x509 !== undefined, 'unknown'],
  ]
  return methods
    .filter(([, isOn]) => isOn)
    .map(([subject, , nameCase]) => ({
      subject,
      run: () => [judgeNames(findingsOn(subject), nameCase, { caseInsensitiveNames })],
    }))
}

export function judgeNames(report: Reporter, nameCase: NameCase, { caseInsensitiveNames }: NameSettings): Finding {
  const tried = 'compare user names'
  if (caseInsensitiveNames !== undefined) {
    const rule = caseInsensitiveNames ? 'mark and MARK are one user' : 'names with upper-case letters are refused'
    return report.ok(tried, `${rule} (login.caseInsensitiveNames)`)
  }
  if (nameCase === 'insensitive') return report.ok(tried, 'mark and MARK are one user: this provider is known to ignore case')
  return report.ok(
    tried,
    'names with upper-case letters are refused; if the provider ignores case, login.caseInsensitiveNames: true accepts them',
  )
}

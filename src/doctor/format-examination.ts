/** Findings of the doctor as text: addresses to register, problems, warnings. */
import type { Finding, Verdict } from '../findings/finding.ts'
import type { RegisteredAddress } from '../login/method-type.ts'
import type { Examination } from './doctor.ts'

const order: readonly Verdict[] = ['problem', 'warning', 'ok']

export function formatExamination({ publicUrl, addresses, findings }: Examination): string {
  const sorted = order.flatMap((verdict) => findings.filter((one) => one.verdict === verdict))
  return [...formatAddresses(publicUrl, addresses), ...sorted.map(formatFinding), formatCounts(findings), ''].join('\n')
}

function formatAddresses(publicUrl: string, addresses: readonly RegisteredAddress[]): string[] {
  if (addresses.length === 0) return []
  const line = ({ login, what, url }: RegisteredAddress) => `  ${login}, ${what}: ${url}`
  const others = addresses.filter(({ needed }) => !needed)
  return [
    `Register at the identity provider, for ${publicUrl}:`,
    ...addresses.filter(({ needed }) => needed).map(line),
    ...(others.length > 0 ? ['Answered as well, as by all versions of Gate:', ...others.map(line)] : []),
    '',
  ]
}

function formatFinding({ verdict, subject, tried, found, advice }: Finding): string {
  if (advice === undefined) return `ok       ${subject}: ${tried}: ${found}`
  return [
    `${verdict.padEnd(8)} ${subject}`,
    `         tried: ${tried}`,
    `         found: ${found}`,
    `         do:    ${advice.trimEnd().replaceAll('\n', '\n                ')}`,
  ].join('\n')
}

function formatCounts(findings: readonly Finding[]): string {
  const count = (verdict: Verdict) => findings.filter((one) => one.verdict === verdict).length
  const plural = (many: number, word: string) => `${many} ${word}${many === 1 ? '' : 's'}`
  return `\n${plural(count('problem'), 'problem')}, ${plural(count('warning'), 'warning')}, ${count('ok')} in order`
}

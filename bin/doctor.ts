/** `fairlead doctor`: examines the installation and prints the addresses for the identity provider. */
import { ConfigError, type LoadedConfig } from '@fairlead/app/config/config.ts'
import { type Examination, examine } from '@fairlead/app/doctor/doctor.ts'
import { findMistake } from '@fairlead/app/doctor/public-address.ts'
import { type Finding, findingsOn, type Verdict } from '@fairlead/base/findings/finding.ts'
import type { RegisteredAddress } from '@fairlead/gateway/login/method-type.ts'
import { Misuse, readArguments } from './arguments.ts'
import { configOption, readConfig } from './read-config.ts'

const options = {
  'public-url': { type: 'string' },
  proxy: { type: 'string' },
  json: { type: 'boolean', default: false },
  ...configOption,
} as const

export async function run(args: readonly string[]): Promise<number> {
  const { values } = readArguments(args, { command: 'doctor', options })
  const { 'public-url': publicUrl, proxy: proxyAddress, json } = values
  const mistake = publicUrl === undefined ? undefined : findMistake(publicUrl)
  if (mistake !== undefined) throw new Misuse('doctor', `--public-url ${mistake}.`)
  const loaded = await load(args)
  if (Array.isArray(loaded)) {
    print(json, { verdict: 'problem', publicUrl: publicUrl ?? '', addresses: [], findings: loaded })
    return 1
  }
  const examination = await examine({ ...loaded, publicUrl, proxyAddress })
  print(json, examination)
  // A peer that neither answers nor closes must not keep the command from ending.
  setTimeout(() => process.exit(), 1000).unref()
  return examination.verdict === 'problem' ? 1 : 0
}

async function load(args: readonly string[]): Promise<LoadedConfig | Finding[]> {
  try {
    return await readConfig(args)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const { problem } = findingsOn('Configuration')
    return error.message
      .split('\n')
      .map((line) => problem('read it', line, 'correct it; the gateway does not start with it'))
  }
}

function print(json: boolean, examination: Parameters<typeof formatExamination>[0]): void {
  process.stdout.write(
    json ? `${JSON.stringify(examination, null, 2)}\n` : formatExamination(examination),
  )
}

const order: readonly Verdict[] = ['problem', 'warning', 'ok']

export function formatExamination({ publicUrl, addresses, findings }: Examination): string {
  const sorted = order.flatMap((verdict) => findings.filter((one) => one.verdict === verdict))
  return [
    ...formatAddresses(publicUrl, addresses),
    ...sorted.map(formatFinding),
    formatCounts(findings),
    '',
  ].join('\n')
}

function formatAddresses(publicUrl: string, addresses: readonly RegisteredAddress[]): string[] {
  if (addresses.length === 0) return []
  const line = ({ login, what, url }: RegisteredAddress) => `  ${login}, ${what}: ${url}`
  const others = addresses.filter(({ needed }) => !needed)
  return [
    `Register at the identity provider, for ${publicUrl}:`,
    ...addresses.filter(({ needed }) => needed).map(line),
    ...(others.length > 0
      ? ['Answered as well, as by all versions of Gate:', ...others.map(line)]
      : []),
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

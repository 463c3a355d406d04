/** What the tests of the doctor share: a configuration as an operator writes it, and questions to the findings. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type LoadedConfig, loadConfig } from '../../packages/app/config/config.ts'
import { type DoctorOptions, type Examination, examine } from '../../packages/app/doctor/doctor.ts'
import { type Explanation, explainLogin } from '../../packages/app/doctor/explain-login.ts'
import type { Finding } from '../../packages/base/findings/finding.ts'
import { serviceNames } from '../../packages/base/services/services.ts'
import type { LoginCredentials } from '../../packages/gateway/login/trace.ts'
import type { GatewaySettings } from '../support/gateway.ts'

/** Every service that is not named is switched off; the data directory exists, and is gone after the test. */
export async function load(t: TestContext, settings: GatewaySettings): Promise<LoadedConfig> {
  const home = mkdtempSync(join(tmpdir(), 'fairlead-doctor-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const dataDir = join(home, 'data')
  mkdirSync(dataDir, { mode: 0o700 })
  mkdirSync(join(home, 'config'))
  const services = {
    ...Object.fromEntries(serviceNames.map((name) => [name, { enabled: false }])),
    ...settings.services,
  }
  writeFileSync(
    join(home, 'config', 'gate.yml'),
    JSON.stringify({ data: { dir: dataDir }, ...settings, services }),
  )
  return loadConfig({ cwd: home, env: {}, homeDir: home, systemDir: home })
}

export async function examineSettings(
  t: TestContext,
  settings: GatewaySettings,
  options: Partial<DoctorOptions> = {},
): Promise<Examination> {
  const { config } = await load(t, settings)
  const timeouts = { answerMs: 60_000, checkMs: 120_000 }
  return examine({ config, notices: [], publicUrl: undefined, timeouts, ...options })
}

export async function explainTo(
  t: TestContext,
  settings: GatewaySettings,
  credentials: LoginCredentials,
  now?: () => number,
): Promise<Explanation> {
  const { config } = await load(t, settings)
  return explainLogin({ config, credentials, ...(now && { now }) })
}

/** The findings about subjects with this text, as `verdict: what was tried`. */
export function about({ findings }: Examination, subject: string): Finding[] {
  return findings.filter((one) => one.subject.includes(subject))
}

export function brief(findings: readonly Finding[]): string[] {
  return findings.map(({ verdict, tried }) => `${verdict}: ${tried}`)
}

/** All steps, as `yes text`. */
export function stepsOf({ judgements }: Explanation): string[] {
  return judgements.flatMap(({ steps }) => steps.map(({ verdict, text }) => `${verdict} ${text}`))
}

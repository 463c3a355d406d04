/** The provider `local` as a type: server groups are processes of this machine. */
import { basename } from 'node:path'
import {
  type Check,
  createCheck,
  type Finding,
  type Reporter,
  type Timeouts,
} from '@fairlead/base/findings/finding.ts'
import { callRuntime } from '@fairlead/base/sandbox/container-runtime.ts'
import { imageMigrations } from '../images/image-store.ts'
import type { BakeryType, ProviderType } from '../provider-type.ts'
import { bakeMigrations } from './bakes/bake-store.ts'
import { Bakes } from './bakes/bakes.ts'
import { type BakeTimes, bakeTimes } from './bakes/running-bakes.ts'
import type { BakeSettings, bakeKeys } from './bakes/settings.ts'
import { certificateMigrations } from './certificates/certificate-store.ts'
import { checkAcme } from './certificates/check-authority.ts'
import { Containers, findRuntime } from './containers.ts'
import { bakeDeclaration, localDeclaration } from './declaration.ts'
import { desiredMigrations } from './desired.ts'
import { LocalProvider } from './local.ts'
import type { LocalAccountSettings, LocalSettings, localKeys } from './settings.ts'
import { openAccountUsers } from './users.ts'

export function createLocalProvider(times: BakeTimes): ProviderType {
  const type: ProviderType<typeof localKeys.keys, LocalSettings> = {
    ...localDeclaration,
    migrations: [...desiredMigrations, ...imageMigrations, ...certificateMigrations],
    sharesMigrations: true,
    open: (context, settings) => new LocalProvider(context, settings),
    bakery: bakeryOf(times),
    checks: (settings, timeouts) => [
      ...checkContainers(settings, timeouts),
      ...checkAcme(settings.acme),
    ],
  }
  return type
}

function bakeryOf(times: BakeTimes): BakeryType {
  const type: BakeryType<typeof bakeKeys.keys, BakeSettings> = {
    ...bakeDeclaration,
    migrations: bakeMigrations,
    open: (context, provider, settings) =>
      new Bakes({ context, provider: provider as LocalProvider, settings, times }),
  }
  return type
}

export const localProvider: ProviderType = createLocalProvider(bakeTimes)

function checkContainers({ accounts }: LocalSettings, { answerMs }: Timeouts): Check[] {
  const containers = new Containers({ accounts, users: openAccountUsers(accounts), agentMark: '' })
  return accounts.map((account) =>
    createCheck(`Containers of the account ${account.name}`, (report) =>
      checkAccount(account, { containers, answerMs, report }),
    ),
  )
}

interface Examined {
  readonly containers: Containers
  readonly answerMs: number
  readonly report: Reporter
}

async function checkAccount(
  account: LocalAccountSettings,
  { containers, answerMs, report }: Examined,
): Promise<Finding[]> {
  const found = findRuntime(account.containerRuntime)
  const tried = `look for ${account.containerRuntime ?? 'podman and docker'}`
  if (found === undefined) {
    if (account.containerRuntime !== undefined) {
      return [
        report.problem(
          tried,
          'it is not installed',
          'install it, or correct container-runtime of the account',
        ),
      ]
    }
    return [report.ok(tried, 'none is installed: the account runs programs only')]
  }
  try {
    await callRuntime(containers.toCaller(account.name), ['info'], { timeoutMs: answerMs })
    return [report.ok(tried, `${found} works`)]
  } catch (error) {
    const advice = `see whether "${basename(found)} info" works for the user that runs the containers`
    return [report.warning(`call ${found} info`, (error as Error).message, advice)]
  }
}

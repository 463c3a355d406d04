/** Examines which container runtime each account has, and whether it works. */
import { basename } from 'node:path'
import { type Check, createCheck, type Finding, type Reporter, type Timeouts } from '@fairlead/base/findings/finding.ts'
import { callRuntime } from '@fairlead/base/sandbox/container-runtime.ts'
import { Containers, findRuntime } from './containers.ts'
import type { LocalAccountSettings, LocalSettings } from './settings.ts'
import { openAccountUsers } from './users.ts'

export function checkContainers({ accounts }: LocalSettings, { answerMs }: Timeouts): Check[] {
  const containers = new Containers({ accounts, users: openAccountUsers(accounts), agentMark: '' })
  return accounts.map((account) =>
    createCheck(`Containers of the account ${account.name}`, (report) => judge(account, { containers, answerMs, report })),
  )
}

interface Examined {
  readonly containers: Containers
  readonly answerMs: number
  readonly report: Reporter
}

async function judge(account: LocalAccountSettings, { containers, answerMs, report }: Examined): Promise<Finding[]> {
  const found = findRuntime(account.containerRuntime)
  const tried = `look for ${account.containerRuntime ?? 'podman and docker'}`
  if (found === undefined) {
    if (account.containerRuntime !== undefined) {
      return [report.problem(tried, 'it is not installed', 'install it, or correct container-runtime of the account')]
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

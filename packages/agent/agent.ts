/** The agent: owns processes and listeners of one data directory. Clients wait for its listeners, so these are there first. */
import { readFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { agentLockName, trafficName } from '@fairlead/base/names/agent-files.ts'
import { allocateYoung } from '@fairlead/base/runtime/young-allocation.ts'
import { type FileLock, LockedError, lockFile } from '@fairlead/base/storage/file-lock.ts'
import type { AgentWork } from './agent-work.ts'
import { Balancers, type Traffic } from './balancers.ts'
import type { AgentLog } from './log.ts'

interface AgentOptions {
  readonly dataDir: string
  readonly version: string
  readonly log: AgentLog
  /** Listening sockets of the agent before this one, by host and port. */
  readonly inherited?: ReadonlyMap<string, number>
}

/** An agent that hands over needs a moment until it has ended. */
const lockTimeoutMs = 10_000
const lockPauseMs = 50
/** Head start of the waiting requests, before the rest of the program takes the processor. */
const leadMs = 30

/**
 * Runs until it is stopped. With the listening sockets of an agent before this one, it serves as that did until it has loaded the rest
 * of its program.
 *
 * @throws {LockedError} when another agent works on the data directory
 */
export async function runAgent({
  dataDir: folder,
  version,
  log,
  inherited = new Map(),
}: AgentOptions): Promise<void> {
  const dataDir = resolve(folder)
  const lock = await waitForLock(join(dataDir, agentLockName))
  let work: AgentWork | undefined
  const isDown = (instanceId: string) => work?.isDown(instanceId) === true
  const balancers = new Balancers({ log, onChange: () => work?.onTraffic(), isDown, inherited })
  const traffic = inherited.size === 0 ? undefined : readTraffic(dataDir)
  if (traffic !== undefined) {
    balancers.apply(traffic.loadBalancers, traffic)
    await sleep(leadMs)
  }
  const { AgentWork } = await import('./agent-work.ts')
  work = new AgentWork({ dataDir, version, log, lock, balancers })
  await work.begin()
  work.onTraffic()
  flushCompileCache()
  allocateYoung()
}

/** What the agent before this one has left; undefined when it is damaged. */
export function readTraffic(dataDir: string): Traffic | undefined {
  try {
    return JSON.parse(readFileSync(join(dataDir, trafficName), 'utf8')) as Traffic
  } catch {
    return undefined
  }
}

async function waitForLock(file: string): Promise<FileLock> {
  for (const endMs = performance.now() + lockTimeoutMs; ; ) {
    try {
      return lockFile(file)
    } catch (error) {
      if (!(error instanceof LockedError) || performance.now() > endMs) throw error
    }
    await sleep(lockPauseMs)
  }
}

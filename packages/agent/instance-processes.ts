/** All processes of one instance: found by group, session, control group and mark; ended together. */
import { setTimeout as sleep } from 'node:timers/promises'
import { membersOfGroup } from './control-groups.ts'
import type { ProcessIdentity, RunRecord } from './instance-files.ts'
import type { Marks } from './marks.ts'
import { bootOf, type ProcessEntry, type ProcessTable, signalProcess } from './processes.ts'

export interface ProcessOwner {
  readonly marks: Marks
  readonly instanceId: string
  readonly run: RunRecord | undefined
}

const longestPauseMs = 250
/** Rounds of SIGKILL, 100 ms apart, until processes that remain are given up: they belong to another user, or hang in the kernel. */
const killRounds = 100
const killPauseMs = 100
/** Enough for programs that start others while they are being stopped. */
const freezeRounds = 20

/** Whether the process is the one of the record, not a later one with its id. */
export function isSameProcess(table: ProcessTable, { pid, start }: ProcessIdentity): boolean {
  const found = table.find(pid)
  return found !== undefined && found.start === start && !found.isZombie
}

export function findMembers(
  owner: ProcessOwner,
  table: ProcessTable,
  entries = table.list(),
): ProcessEntry[] {
  const { run } = owner
  const grouped = new Set(run?.controlGroup === undefined ? [] : membersOfGroup(run.controlGroup))
  const beginning = `${owner.marks.agentMark}:${owner.instanceId}:`
  const leader = run && entries.find(({ pid }) => pid === run.pid)
  // While a group has members, the system gives its id to no other process.
  const ownsGroup = run !== undefined && (leader === undefined || leader.start === run.start)
  return entries.filter((entry) => {
    if (entry.isZombie || entry.pid === process.pid) return false
    const isInGroup = ownsGroup && (entry.group === run.pid || entry.session === run.pid)
    if (isInGroup && bootOf(entry.start) === bootOf(run.start)) return true
    if (grouped.has(entry.pid)) return true
    const mark = table.markOf(entry)
    return (
      mark?.startsWith(beginning) === true &&
      owner.marks.check(mark) !== undefined &&
      isOfItsUser(run, table, entry)
    )
  })
}

/** A mark alone, which its own programs may have given away, makes a process of another user none of the account's. */
export function isOfItsUser(
  run: RunRecord | undefined,
  table: ProcessTable,
  { pid }: ProcessEntry,
): boolean {
  return run?.uid === undefined || table.userOf(pid) === run.uid
}

/**
 * Sends SIGTERM, and SIGKILL to what remains after `graceMs`; with 0, SIGKILL at once.
 *
 * @param ask In place of SIGTERM
 * @returns processes that were sent SIGKILL, and those that even so are still there
 */
export async function endProcesses(
  owner: ProcessOwner,
  table: ProcessTable,
  graceMs: number,
  ask = () => {
    for (const { pid } of findMembers(owner, table)) signalProcess(pid, 'SIGTERM')
  },
): Promise<{ readonly killed: number; readonly left: number }> {
  const endMs = performance.now() + graceMs
  if (graceMs > 0) ask()
  for (
    let pauseMs = 10;
    performance.now() < endMs;
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
  ) {
    if (findMembers(owner, table, table.recent(pauseMs)).length === 0) return { killed: 0, left: 0 }
    await sleep(Math.min(pauseMs, Math.max(1, endMs - performance.now())))
  }
  const killed = new Set<number>()
  for (let round = 0; round < killRounds; round += 1) {
    const found = killAll(owner, table)
    if (found.size === 0) return { killed: killed.size, left: 0 }
    for (const pid of found) killed.add(pid)
    await sleep(round === 0 ? 5 : killPauseMs)
  }
  return { killed: killed.size, left: findMembers(owner, table).length }
}

/** Stopped processes start no others, so they are stopped until no new ones are found, then killed together. */
function killAll(owner: ProcessOwner, table: ProcessTable): Set<number> {
  const stopped = new Set<number>()
  for (let round = 0; round < freezeRounds; round += 1) {
    const fresh = findMembers(owner, table).filter(({ pid }) => !stopped.has(pid))
    if (fresh.length === 0) break
    for (const { pid } of fresh) {
      stopped.add(pid)
      signalProcess(pid, 'SIGSTOP')
    }
  }
  for (const pid of stopped) signalProcess(pid, 'SIGKILL')
  return stopped
}

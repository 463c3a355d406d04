/** Lines of several instances as one stream: what is there in the order of time, then what is written. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createRegexMeter, occursIn } from '@fairlead/base/regex/bounded-regex.ts'
import type { LogLine } from './program-access.ts'
import type { ServiceInstance, ServiceQuery } from './service-instances.ts'

export interface LogQuery extends ServiceQuery {
  readonly sinceMs?: number
  readonly untilMs?: number
  /** Last lines of all instances together. */
  readonly tail?: number
  /** Regular expression. */
  readonly grep?: string
  readonly previous?: boolean
  readonly follow?: boolean
}

export interface InstanceLine extends LogLine {
  readonly instance: string
  readonly cluster: string
}

/** How soon an instance is found that has just been started. */
const lookMs = 250
/** Pause before a broken connection, such as one to an agent that is replaced, is tried again. */
const retryMs = 500

interface LogStreamOptions {
  readonly query: LogQuery
  readonly find: () => Promise<ServiceInstance[]>
  readonly now: () => number
  readonly signal: AbortSignal
  /** Resolves when more can be taken. */
  readonly write: (line: InstanceLine) => Promise<void> | undefined
}

/** @throws {RegexError} */
export async function streamLogs(options: LogStreamOptions): Promise<void> {
  const { query, find, signal, write } = options
  const isWanted = createFilter(query)
  const instances = await find()
  const next = new Map<string, string>()
  const found: InstanceLine[] = []
  const isTailed = query.grep === undefined && query.untilMs === undefined
  for (const { programs, instance, group } of instances) {
    const wish = {
      sinceMs: query.sinceMs,
      tail: isTailed ? query.tail : undefined,
      previous: query.previous,
      isFollowed: query.follow,
    }
    const part = await programs.lines({ ...instance }, wish)
    next.set(instance.id, part.next)
    const cluster = group.moniker.cluster ?? group.name
    found.push(
      ...part.lines
        .filter(isWanted)
        .map((line) => ({ ...line, instance: instance.humanName, cluster })),
    )
  }
  found.sort((one, other) => one.atMs - other.atMs)
  for (const line of lastOf(found, query.tail)) {
    if (signal.aborted) return
    await write(line)
  }
  if (query.follow === true) await follow(options, { next, isWanted })
}

async function follow(
  { query, find, now, signal, write }: LogStreamOptions,
  {
    next,
    isWanted,
  }: {
    readonly next: ReadonlyMap<string, string>
    readonly isWanted: (line: LogLine) => boolean
  },
): Promise<void> {
  const followed = new Set<string>()
  const followOne = async ({ programs, instance, group }: ServiceInstance) => {
    let position = next.get(instance.id) ?? ''
    const cluster = group.moniker.cluster ?? group.name
    while (!signal.aborted) {
      try {
        for await (const line of programs.follow({ ...instance }, position, signal)) {
          if (isWanted(line)) await write({ ...line, instance: instance.humanName, cluster })
          position = line.next
        }
        return
      } catch {
        if (signal.aborted) return
        const isGone = !(await find()).some((each) => each.instance.id === instance.id)
        if (isGone) return
        await sleep(retryMs, undefined, { signal }).catch(() => {})
      }
    }
  }
  while (!signal.aborted && (query.untilMs === undefined || now() < query.untilMs)) {
    for (const each of await find()) {
      if (followed.has(each.instance.id)) continue
      followed.add(each.instance.id)
      void followOne(each)
    }
    await sleep(lookMs, undefined, { signal }).catch(() => {})
  }
}

function lastOf<T>(all: readonly T[], count: number | undefined): readonly T[] {
  return count === undefined ? all : all.slice(Math.max(0, all.length - count))
}

function createFilter({ sinceMs, untilMs, grep }: LogQuery): (line: LogLine) => boolean {
  return ({ atMs, text }) =>
    (sinceMs === undefined || atMs >= sinceMs) &&
    (untilMs === undefined || atMs < untilMs) &&
    (grep === undefined || occursIn(grep, text, createRegexMeter()))
}

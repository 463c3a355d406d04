/** The turn of one engine to write: the lock of its data directory, the lease, and the copy. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { DirectoryInUse, lockDataDir } from '../backends/hosting/lock.ts'
import type { FileLock } from '../storage/file-lock.ts'
import { Copy, checkLitestream, restoreCopy } from './copy.ts'
import type { Lease, TakenLease } from './lease.ts'
import { type LeasePlace, openLease } from './open-lease.ts'
import {
  describeOutdated,
  isCurrent,
  readServedDirectory,
  type ServedDirectory,
  writeServedDirectory,
} from './served-directory.ts'

export interface TurnPlace extends LeasePlace {
  readonly dataDir: string
}

interface TurnOptions {
  readonly waits: boolean
  readonly signal: AbortSignal
  readonly log: FastifyBaseLogger
  readonly env: Readonly<Record<string, string | undefined>>
  /** Another engine may write from now on: the process has to end at once. */
  readonly onLost: (reason: string) => void
}

export interface Turn {
  /** Undefined where the lock of the directory decides alone. */
  readonly lease: Lease | undefined
  /** When the database was restored from a copy that may lack the last moments; undefined: it was not. */
  readonly restoredAt: number | undefined
  startCopy(onComplete: (atMs: number) => void): Promise<void>
  end(): Promise<void>
}

const lockPauseMs = 100

/** Undefined: stopped meanwhile. @throws {Error} when another engine has it and `waits` is false, or the directory cannot be used */
export async function takeTurn(place: TurnPlace, options: TurnOptions): Promise<Turn | undefined> {
  const { dataDir } = place
  if (place.standby.copy !== undefined) await checkLitestream(options.env)
  const lock = await lockWhenFree(dataDir, options)
  if (lock === undefined) return undefined
  if (place.standby.lease === undefined) return alone(lock)
  const served = readServedDirectory(dataDir)
  const lease = await openLease(place, { ...options, dataDir, directoryId: served.id })
  const taken = await lease.take(options)
  if (taken === undefined) return undefined
  let copy: Copy | undefined
  lease.keep((reason) => {
    copy?.kill()
    options.onLost(reason)
  })
  const prepared = await prepareDirectory(place, { ...options, served, taken, lease })
  const { folder } = prepared
  return {
    lease,
    restoredAt: prepared.restoredAt,
    startCopy: async (onComplete) => {
      const { copy: url } = place.standby
      if (url === undefined) return
      copy = new Copy({ ...options, dataDir, url, folder }, (atMs) => {
        onComplete(atMs)
        if (lease.record?.copy !== folder) void lease.note({ copy: folder }).catch(() => {})
      })
      await copy.start(folder !== served.copy)
    },
    end: async () => {
      await copy?.stop()
      await lease.release()
      lock.close()
    },
  }
}

interface Preparation extends TurnOptions {
  readonly served: ServedDirectory
  readonly taken: TakenLease
  readonly lease: Lease
}

async function prepareDirectory(
  { dataDir, standby }: TurnPlace,
  { served, taken: { before, term }, lease, env, log }: Preparation,
): Promise<{ readonly folder: string; readonly restoredAt: number | undefined }> {
  const isOutdated = before !== undefined && !isCurrent(served, before)
  try {
    if (isOutdated && (standby.copy === undefined || before.copy === undefined))
      throw new Error(describeOutdated(dataDir, served, before, lease.removal))
    if (isOutdated) await restoreCopy({ dataDir, url: String(standby.copy), folder: String(before.copy), env, log })
  } catch (error) {
    await lease.release()
    throw error
  }
  const isSame = served.term === term && served.copy !== undefined && !isOutdated
  const folder = isSame ? String(served.copy) : `term-${term}-${randomUUID().slice(0, 8)}`
  writeServedDirectory(dataDir, { ...served, term, copy: folder })
  await lease.note({ written: term, ...(standby.copy === undefined && { copy: undefined }) })
  log.info(`holds the lease, term ${term}`)
  return { folder, restoredAt: isOutdated ? Date.now() : undefined }
}

function alone(lock: FileLock): Turn {
  return { lease: undefined, restoredAt: undefined, startCopy: async () => {}, end: async () => lock.close() }
}

async function lockWhenFree(dataDir: string, { waits, signal, log }: TurnOptions): Promise<FileLock | undefined> {
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    try {
      return lockDataDir(dataDir)
    } catch (error) {
      if (!waits || !(error instanceof DirectoryInUse)) throw error
      if (isFirst) log.info(`standing by: another process uses ${dataDir}`)
      await sleep(lockPauseMs, undefined, { signal }).catch(() => {})
    }
  }
  return undefined
}

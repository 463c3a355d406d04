/** The turn of one engine to write: the lock of its data directory, and the lease where there is one. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { DirectoryInUse, lockDataDir } from '../backends/hosting/lock.ts'
import type { FileLock } from '../storage/file-lock.ts'
import type { Lease } from './lease.ts'
import { type LeasePlace, openLease } from './open-lease.ts'
import { describeOutdated, isCurrent, readServedDirectory, writeServedDirectory } from './served-directory.ts'

export interface TurnPlace extends LeasePlace {
  readonly dataDir: string
}

interface TurnOptions {
  /** Whether to stand by while another engine has its turn. */
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
  /** Called when nothing is written any more. */
  end(): Promise<void>
}

const lockPauseMs = 200

/** Undefined: stopped meanwhile. @throws {Error} when another engine has it and `waits` is false, or the directory cannot be used */
export async function takeTurn(place: TurnPlace, options: TurnOptions): Promise<Turn | undefined> {
  const { dataDir } = place
  const lock = await lockWhenFree(dataDir, options)
  if (lock === undefined) return undefined
  if (place.standby.lease === undefined) return { lease: undefined, end: async () => lock.close() }
  const served = readServedDirectory(dataDir)
  const lease = await openLease(place, { ...options, dataDir, directoryId: served.id })
  const taken = await lease.take(options)
  if (taken === undefined) return undefined
  const { before, term } = taken
  lease.keep(options.onLost)
  if (!isCurrent(served, before) && before !== undefined) {
    await lease.release()
    throw new Error(describeOutdated(dataDir, served, before, lease.removal))
  }
  writeServedDirectory(dataDir, { ...served, term })
  await lease.note({ written: term })
  options.log.info(`holds the lease, term ${term}`)
  return {
    lease,
    end: async () => {
      await lease.release()
      lock.close()
    },
  }
}

/** Undefined: stopped before. @throws {Error} of `lockDataDir` */
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

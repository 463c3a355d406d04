/** The turn of one engine to write: the lock of its data directory, the lease, and the copy. */
import { hash, randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openRedis } from '@fairlead/base/redis/open-redis.ts'
import type { RedisSettings } from '@fairlead/base/redis/settings.ts'
import type { FileLock } from '@fairlead/base/storage/file-lock.ts'
import { writePrivateFile } from '@fairlead/base/storage/private-files.ts'
import { KubeClient } from '@fairlead/providers/kubernetes/api/client.ts'
import { inClusterAccess } from '@fairlead/providers/kubernetes/api/in-cluster.ts'
import type { FastifyBaseLogger } from 'fastify'
import { z } from 'zod'
import { DirectoryInUse, lockDataDir } from '../hosting/lock.ts'
import { Copy, checkLitestream, restoreCopy } from './copy.ts'
import { createKubernetesLease } from './kubernetes-lease.ts'
import { Lease, type LeaseRecord, type LeaseStore, type TakenLease } from './lease.ts'
import { createRedisLease } from './redis-lease.ts'
import type { StandbySettings } from './settings.ts'

interface TurnPlace extends LeasePlace {
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

export interface StandbyTurn {
  /** Undefined where the lock of the directory decides alone. */
  readonly lease: Lease | undefined
  /** When the database was restored from a copy that may lack the last moments; undefined: it was not. */
  readonly restoredAt: number | undefined
  startCopy(onComplete: (atMs: number) => void): Promise<void>
  end(): Promise<void>
}

const lockPauseMs = 100

/** Undefined: stopped meanwhile. @throws {Error} when another engine has it and `waits` is false, or the directory cannot be used */
export async function takeTurn(
  place: TurnPlace,
  options: TurnOptions,
): Promise<StandbyTurn | undefined> {
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

interface TurnPreparation extends TurnOptions {
  readonly served: ServedDirectory
  readonly taken: TakenLease
  readonly lease: Lease
}

async function prepareDirectory(
  { dataDir, standby }: TurnPlace,
  { served, taken: { before, term }, lease, env, log }: TurnPreparation,
): Promise<{ readonly folder: string; readonly restoredAt: number | undefined }> {
  const isOutdated = before !== undefined && !isCurrent(served, before)
  try {
    if (isOutdated && (standby.copy === undefined || before.copy === undefined))
      throw new Error(describeOutdated(dataDir, served, before, lease.removal))
    if (isOutdated)
      await restoreCopy({
        dataDir,
        url: String(standby.copy),
        folder: String(before.copy),
        env,
        log,
      })
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

function alone(lock: FileLock): StandbyTurn {
  return {
    lease: undefined,
    restoredAt: undefined,
    startCopy: async () => {},
    end: async () => lock.close(),
  }
}

async function lockWhenFree(
  dataDir: string,
  { waits, signal, log }: TurnOptions,
): Promise<FileLock | undefined> {
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

const requestTimeoutMs = 1000

interface LeasePlace {
  readonly standby: StandbySettings
  readonly redis: RedisSettings | undefined
}

interface LeaseOptions {
  readonly dataDir: string
  readonly directoryId: string
  readonly log: FastifyBaseLogger
  readonly env: Readonly<Record<string, string | undefined>>
}

async function openLease(
  place: LeasePlace,
  { dataDir, directoryId, log, env }: LeaseOptions,
): Promise<Lease> {
  const store = await openStore(place, { log, env })
  // A directory that was copied, also with its id, is another one.
  const id = hash('sha256', JSON.stringify([hostname(), dataDir, directoryId])).slice(0, 32)
  return new Lease({ store, owner: { id, holder: hostname() }, log })
}

async function openStore(
  { standby, redis }: LeasePlace,
  { log, env }: Pick<LeaseOptions, 'log' | 'env'>,
): Promise<LeaseStore> {
  if (standby.lease === 'redis' && redis !== undefined)
    return createRedisLease(await openRedis(redis, log))
  const access = await inClusterAccess({
    host: env['KUBERNETES_SERVICE_HOST'],
    port: env['KUBERNETES_SERVICE_PORT'],
  })
  const client = new KubeClient(access, {
    log,
    requestTimeoutMs,
    retries: { maxAttempts: 1, pauseMs: 0 },
  })
  return createKubernetesLease(client, access.namespace ?? 'default')
}

/** Not part of backups: it belongs to this very directory. */
const servedDirectoryName = 'lease.json'

const Served = z.object({ id: z.string(), term: z.int().optional(), copy: z.string().optional() })
type ServedDirectory = z.infer<typeof Served>

/** For the process that holds the lock of the directory. @throws {Error} when the file is damaged or cannot be written */
function readServedDirectory(dataDir: string): ServedDirectory {
  const file = join(dataDir, servedDirectoryName)
  if (!existsSync(file)) {
    const fresh = { id: randomUUID() }
    writeServedDirectory(dataDir, fresh)
    return fresh
  }
  try {
    return Served.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    throw new Error(
      `${file} is damaged. Remove it; the directory then counts as one that was not served before.`,
      { cause },
    )
  }
}

function writeServedDirectory(dataDir: string, served: ServedDirectory): void {
  writePrivateFile(join(dataDir, servedDirectoryName), JSON.stringify(served))
}

function hasDatabase(dataDir: string): boolean {
  return existsSync(join(dataDir, 'backends.db'))
}

/** Whether nothing was written elsewhere since. @param before The lease as the former holder left it */
function isCurrent({ term }: ServedDirectory, before: LeaseRecord | undefined): boolean {
  if (before?.written === undefined) return true
  // A holder that ended before it could note in the lease that it writes has noted it in its directory.
  return term === before.written || term === before.term
}

function describeOutdated(
  dataDir: string,
  { term }: ServedDirectory,
  before: LeaseRecord,
  removal: string,
): string {
  const found = hasDatabase(dataDir)
    ? `The data directory ${dataDir} has what was written until ${term === undefined ? 'there was a lease' : `term ${term}`}`
    : `The data directory ${dataDir} is empty`
  return (
    `${found}, but term ${before.written} on ${before.holder} has written since, elsewhere. Start the engine with that directory, or ` +
    `restore its backup here and remove the lease (${removal}): then this directory counts. With backends.copy, a standby restores it.`
  )
}

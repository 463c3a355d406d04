/** Keys of login cookies, in the data directory or in the Redis of all replicas. */
import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from '@fairlead/base/redis/redis.ts'
import { RedisRecords } from '@fairlead/base/redis/redis-records.ts'
import { elapsedMs } from '@fairlead/base/settings/time-span.ts'
import { closeToOthers, writePrivateFile } from '@fairlead/base/storage/private-files.ts'
import type { Records } from '@fairlead/base/storage/records.ts'

export interface LoginKey {
  /** 4 bytes that distinguish keys. */
  readonly id: Buffer
  /** 256 bits. */
  readonly secret: Buffer
}

export interface LoginSecrets {
  /** The one to write with. @throws when it can neither be read nor created */
  current(): Promise<LoginKey>
  /** The one with which something was written, as far as it is still known. @throws as `current` */
  find(id: Buffer): Promise<LoginKey | undefined>
}

const secretBytes = 32

function toLoginKey(secret: Buffer): LoginKey {
  return { id: derive(secret, 'id').subarray(0, 4), secret }
}

export function deriveKey({ secret }: LoginKey, purpose: string): Buffer {
  return derive(secret, `key for ${purpose}`)
}

function derive(secret: Buffer, purpose: string): Buffer {
  return createHmac('sha256', secret).update(purpose).digest()
}

/** In the file `login.key` of the data directory, read when it is first needed. */
export function createFileKeys(dataDir: string): LoginSecrets {
  let key: LoginKey | undefined
  const current = async () => {
    key ??= toLoginKey(readOrCreate(join(dataDir, 'login.key')))
    return key
  }
  return { current, find: async (id) => pick([await current()], id) }
}

/** Without its key users stay logged in; only pending logins begin again. So an unreadable one is replaced. */
function readOrCreate(file: string): Buffer {
  const kept = readSecret(file)
  if (kept !== undefined) return kept
  const secret = randomBytes(secretBytes)
  writePrivateFile(file, secret.toString('base64url'))
  return secret
}

function readSecret(file: string): Buffer | undefined {
  try {
    closeToOthers(file)
    return parseSecret(readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const sharedKey = 'key'
/** A key that another replica has put in place of a lost one is taken over after this time. */
const rereadMs = 60_000

/** In Redis, for all replicas, under `fairlead:login:key`. */
export function createRedisKeys(redis: Redis, now: () => number): LoginSecrets {
  const records = new RedisRecords(redis, { prefix: 'fairlead:login:', now })
  let known: LoginKey[] = []
  let readAtMs = Number.NEGATIVE_INFINITY
  const reread = async () => {
    const key = toLoginKey(await readOrShare(records, known[0]?.secret))
    // The former one still opens what it has sealed.
    known = [key, ...known.filter(({ id }) => !id.equals(key.id))].slice(0, 2)
    readAtMs = now()
    return key
  }
  return {
    current: async () =>
      known[0] !== undefined && elapsedMs(now(), readAtMs) < rereadMs ? known[0] : reread(),
    find: async (id) => {
      const found = pick(known, id)
      if (found !== undefined) return found
      await reread()
      return pick(known, id)
    },
  }
}

/** What Redis holds; else the known secret or a new one is put there, unless another replica is faster. */
async function readOrShare(records: Records, known: Buffer | undefined): Promise<Buffer> {
  const held = await readShared(records)
  if (held !== undefined) return held
  const content = (known ?? randomBytes(secretBytes)).toString('base64url')
  if (
    !(await records.put(sharedKey, { content }, null)) &&
    (await readShared(records)) === undefined
  ) {
    // Something else stands there: it gives way.
    await records.put(sharedKey, { content })
  }
  return (await readShared(records)) ?? Buffer.from(content, 'base64url')
}

async function readShared(records: Records): Promise<Buffer | undefined> {
  return parseSecret((await records.get(sharedKey))?.content ?? '')
}

function parseSecret(text: string): Buffer | undefined {
  const secret = Buffer.from(text.trim(), 'base64url')
  return secret.length === secretBytes ? secret : undefined
}

function pick(keys: readonly LoginKey[], id: Buffer): LoginKey | undefined {
  return keys.find((key) => key.id.equals(id))
}

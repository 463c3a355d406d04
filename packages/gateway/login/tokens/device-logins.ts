/** Logins of programs that a user confirms in a browser, as RFC 8628 has them: pending ones, each good for one token. */
import { hash, randomBytes, randomInt } from 'node:crypto'
import { join } from 'node:path'
import { GatewayError } from '@fairlead/base/errors.ts'
import type { Redis } from '@fairlead/base/redis/redis.ts'
import { RedisRecords } from '@fairlead/base/redis/redis-records.ts'
import type { Records } from '@fairlead/base/storage/records.ts'
import { openSqliteRecords } from '@fairlead/base/storage/sqlite-records.ts'
import type { Logger } from 'pino'
import { z } from 'zod'
import { askStore } from '../../sessions/sessions.ts'

const lifeMs = 10 * 60_000
/** Strangers may start logins: more at once are rejected. */
const maxPending = 1000
/** Without vowels, so that no word appears, and without letters that look like digits. */
const letters = 'BCDFGHJKMNPQRSTVWXZ'
const halfLength = 4

/** Who asks, as the confirming user is shown it. */
const DeviceRequest = z.object({
  /** Name of the token. */
  name: z.string(),
  /** Name of the machine, as it says. */
  device: z.string(),
  address: z.string(),
  /** End of the token; undefined: as late as allowed. */
  expiresAtMs: z.number().optional(),
})
export type DeviceRequest = z.infer<typeof DeviceRequest>

const Confirmation = z.object({ username: z.string(), method: z.string() })
export type Confirmation = z.infer<typeof Confirmation>

const PendingLogin = DeviceRequest.extend({ confirmedBy: Confirmation.optional() })
type PendingLogin = z.infer<typeof PendingLogin>

interface StartedLogin {
  /** For the program alone. */
  readonly deviceCode: string
  /** For the user, such as `BCDF-GHJK`. */
  readonly userCode: string
  readonly endsAtMs: number
}

interface DeviceLoginOptions {
  readonly dataDir: string
  /** Shared by replicas. */
  readonly redis: Redis | undefined
  readonly log: Pick<Logger, 'warn'>
  readonly now: () => number
}

/** Every function throws SESSIONS_UNAVAILABLE while the store cannot be asked. */
export class DeviceLogins {
  readonly #records: Records
  readonly #now: () => number

  constructor(records: Records, now: () => number) {
    this.#records = records
    this.#now = now
  }

  /** @throws {GatewayError} RATE_LIMITED while too many are pending */
  async start(request: DeviceRequest): Promise<StartedLogin> {
    // Each has two records.
    if ((this.#records.count() ?? 0) >= 2 * maxPending) {
      throw new GatewayError(
        'RATE_LIMITED',
        'Too many logins wait for a confirmation. Try again in ten minutes.',
      )
    }
    const deviceCode = randomBytes(32).toString('base64url')
    const userCode = createUserCode()
    const endsAtMs = this.#now() + lifeMs
    const key = toKey(deviceCode)
    await askStore(async () => {
      await this.#records.put(key, { content: JSON.stringify(request), endsAtMs })
      await this.#records.put(userKey(userCode), { content: key, endsAtMs })
    })
    return { deviceCode, userCode, endsAtMs }
  }

  /** What a user is to confirm; undefined for a code that is unknown, has ended or was decided. */
  async find(userCode: string): Promise<DeviceRequest | undefined> {
    return (await this.#pending(userCode))?.login
  }

  /** @param by Undefined rejects the login. @returns false when there is nothing left to decide */
  async decide(userCode: string, by: Confirmation | undefined): Promise<boolean> {
    const found = await this.#pending(userCode)
    if (found === undefined) return false
    const { key, content, endsAtMs, login } = found
    return askStore(async () => {
      const isFirst = (await this.#records.remove([userKey(userCode)])) === 1
      if (!isFirst) return false
      if (by === undefined) return (await this.#records.remove([key])) === 1
      const confirmed = JSON.stringify({ ...login, confirmedBy: by })
      return this.#records.put(key, { content: confirmed, endsAtMs }, content)
    })
  }

  /**
   * Hands a confirmed login out, once.
   *
   * @throws {GatewayError} NOT_FOUND for a code that is unknown, has ended, was rejected or was used
   */
  async take(deviceCode: string): Promise<(DeviceRequest & { by: Confirmation }) | 'pending'> {
    const key = toKey(deviceCode)
    const { confirmedBy: by, ...request } = (await this.#load(key))?.login ?? {}
    if (by === undefined && 'name' in request) return 'pending'
    const isFirst = by !== undefined && (await askStore(() => this.#records.remove([key]))) === 1
    if (isFirst) return { ...(request as DeviceRequest), by }
    throw new GatewayError(
      'NOT_FOUND',
      'The code has expired, was rejected or was used already. Start the login again.',
    )
  }

  close(): void {
    this.#records.close()
  }

  async #pending(userCode: string) {
    const key = (await askStore(() => this.#records.get(userKey(userCode))))?.content
    const found = key === undefined ? undefined : await this.#load(key)
    return key === undefined || found === undefined ? undefined : { key, ...found }
  }

  async #load(
    key: string,
  ): Promise<{ content: string; endsAtMs: number | undefined; login: PendingLogin } | undefined> {
    const record = await askStore(() => this.#records.get(key))
    if (record === undefined) return undefined
    const { content, endsAtMs } = record
    return { content, endsAtMs, login: PendingLogin.parse(JSON.parse(content)) }
  }
}

export function openDeviceLogins({ dataDir, redis, log, now }: DeviceLoginOptions): DeviceLogins {
  const records =
    redis === undefined
      ? openSqliteRecords(join(dataDir, 'tokens.db'), 'device_logins', { now, log })
      : new RedisRecords(redis, { prefix: 'fairlead:login:device:', now })
  return new DeviceLogins(records, now)
}

function createUserCode(): string {
  const half = () =>
    Array.from({ length: halfLength }, () => letters[randomInt(letters.length)]).join('')
  return `${half()}-${half()}`
}

/** A stolen copy of the store must not give tokens away. */
function toKey(deviceCode: string): string {
  return `device-${hash('sha256', deviceCode, 'base64url')}`
}

/** People leave the hyphen out and type small letters. */
function userKey(userCode: string): string {
  return `user-${userCode.toUpperCase().replace(/[^A-Z]/g, '')}`
}

/** Argon2id hashes of passwords, with their own parameters. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { SideThread, SideThreadError } from '@fairlead/base/concurrency/side-thread.ts'
import { tooManyLogins } from '../too-many-logins.ts'
import type { PasswordJob } from './password-worker.ts'

const deriveNow = promisify(argon2)

interface HashParameters {
  memory: number
  passes: number
  parallelism: number
}

/** OWASP Password Storage: 7 MiB and five passes, which count as much as 19 MiB and two. About 50 ms of one processor. */
export const usualCost: Readonly<HashParameters> = { memory: 7168, passes: 5, parallelism: 1 }
/** What new hashes cost. Tests with many logins lower it. */
export const hashCost: HashParameters = { ...usualCost }
/** A manipulated row must not make the gateway allocate gigabytes. */
const largest = { memory: 262_144, passes: 20, parallelism: 8 }
const hashBytes = 32

export const maxPasswordLength = 1024

/** `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>`, the usual text form. @throws {GatewayError} RATE_LIMITED */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await deriveInTurn(password, salt, hashCost)
  const { memory, passes, parallelism } = hashCost
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${toText(salt)}$${toText(hash)}`
}

/** The same for the same password and salt, at the cost of a hash. @throws {GatewayError} RATE_LIMITED */
export function derivePasswordKey(password: string, salt: Buffer): Promise<Buffer> {
  return deriveInTurn(password, salt, hashCost)
}

/**
 * Whether the password belongs to the hash. A missing or unreadable hash takes as long as a readable one.
 *
 * @throws {GatewayError} RATE_LIMITED when too many passwords wait to be checked
 */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const parsed = stored === undefined ? undefined : parseHash(stored)
  const { salt, hash, parameters } = parsed ?? {
    salt: Buffer.alloc(16),
    hash: Buffer.alloc(hashBytes),
    parameters: hashCost,
  }
  const derived = await deriveInTurn(password.slice(0, maxPasswordLength), salt, parameters)
  return (
    timingSafeEqual(derived, hash) && parsed !== undefined && password.length <= maxPasswordLength
  )
}

/** Whether a hash was made with weaker parameters than those of today. */
export function isOutdated(stored: string): boolean {
  const parameters = parseHash(stored)?.parameters
  return (
    parameters === undefined ||
    parameters.memory < hashCost.memory ||
    parameters.passes < hashCost.passes
  )
}

const hashForm =
  /^\$argon2id\$v=19\$m=(\d{1,9}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{43})$/

function parseHash(
  stored: string,
): { salt: Buffer; hash: Buffer; parameters: HashParameters } | undefined {
  const match = hashForm.exec(stored)
  if (match === null) return undefined
  const [memory, passes, parallelism] = match.slice(1, 4).map(Number) as [number, number, number]
  const fits =
    memory <= largest.memory && passes <= largest.passes && parallelism <= largest.parallelism
  if (!fits || passes < 1 || parallelism < 1 || memory < 8 * parallelism) return undefined
  return {
    salt: Buffer.from(match[4] as string, 'base64'),
    hash: Buffer.from(match[5] as string, 'base64'),
    parameters: { memory, passes, parallelism },
  }
}

function toText(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}

/**
 * One hash at a time, in a thread of low priority: in the pool of Node, hashes would occupy the threads that file access and name
 * resolution need, and the allocator would keep their memory once for each thread.
 */
const thread = new SideThread<PasswordJob, Uint8Array>({
  name: 'passwords',
  file: new URL(
    import.meta.url.endsWith('.ts') ? './password-worker.ts' : './password-worker.js',
    import.meta.url,
  ),
  maxOldGenerationSizeMb: 32,
  maxJobMs: 60_000,
  maxWaiting: 200,
})
/** Less is not worth a thread. */
const minAsideMemory = 1024

async function deriveInTurn(
  password: string,
  salt: Buffer,
  { memory, passes, parallelism }: HashParameters,
): Promise<Buffer> {
  const message = Buffer.from(password.normalize('NFC'))
  const parameters = { parallelism, tagLength: hashBytes, memory, passes }
  if (memory < minAsideMemory) return deriveNow('argon2id', { message, nonce: salt, ...parameters })
  try {
    return Buffer.from(
      await thread.run({
        message: new Uint8Array(message),
        nonce: new Uint8Array(salt),
        ...parameters,
      }),
    )
  } catch (cause) {
    if (!(cause instanceof SideThreadError)) throw cause
    throw tooManyLogins(cause)
  }
}

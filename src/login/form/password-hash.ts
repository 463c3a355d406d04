/** Argon2id hashes of passwords, with their own parameters. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { GatewayError } from '../../errors.ts'

const derive = promisify(argon2)

interface Parameters {
  memory: number
  passes: number
  parallelism: number
}

/** OWASP Password Storage: 19 MiB, two passes. About 60 ms of one processor. */
export const usualCost: Readonly<Parameters> = { memory: 19_456, passes: 2, parallelism: 1 }
/** What new hashes cost. Tests with many logins lower it. */
export const hashCost: Parameters = { ...usualCost }
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
export function deriveKey(password: string, salt: Buffer): Promise<Buffer> {
  return deriveInTurn(password, salt, hashCost)
}

/**
 * Whether the password belongs to the hash. A missing or unreadable hash takes as long as a readable one.
 *
 * @throws {GatewayError} RATE_LIMITED when too many passwords wait to be checked
 */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const parsed = stored === undefined ? undefined : parseHash(stored)
  const { salt, hash, parameters } = parsed ?? { salt: Buffer.alloc(16), hash: Buffer.alloc(hashBytes), parameters: hashCost }
  const derived = await deriveInTurn(password.slice(0, maxPasswordLength), salt, parameters)
  return timingSafeEqual(derived, hash) && parsed !== undefined && password.length <= maxPasswordLength
}

/** Whether a hash was made with weaker parameters than those of today. */
export function isOutdated(stored: string): boolean {
  const parameters = parseHash(stored)?.parameters
  return parameters === undefined || parameters.memory < hashCost.memory || parameters.passes < hashCost.passes
}

const hashForm = /^\$argon2id\$v=19\$m=(\d{1,9}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{43})$/

function parseHash(stored: string): { salt: Buffer; hash: Buffer; parameters: Parameters } | undefined {
  const match = hashForm.exec(stored)
  if (match === null) return undefined
  const [memory, passes, parallelism] = match.slice(1, 4).map(Number) as [number, number, number]
  const fits = memory <= largest.memory && passes <= largest.passes && parallelism <= largest.parallelism
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

/** Hashing occupies threads that file access and name resolution need too, and memory: two at a time, the rest in turn. */
const maxRunning = 2
const maxWaiting = 200
let running = 0
const waiting: (() => void)[] = []

async function deriveInTurn(password: string, salt: Buffer, { memory, passes, parallelism }: Parameters): Promise<Buffer> {
  if (running >= maxRunning) {
    if (waiting.length >= maxWaiting) {
      throw new GatewayError('RATE_LIMITED', 'Too many logins at once. Try again in a moment.', {
        headers: { 'retry-after': '5' },
      })
    }
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else {
    running++
  }
  try {
    const message = Buffer.from(password.normalize('NFC'))
    return await derive('argon2id', { message, nonce: salt, parallelism, tagLength: hashBytes, memory, passes })
  } finally {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}

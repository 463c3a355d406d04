/** Interface of the shared Redis or Valkey: commands, scripts, scan. */
import { hash } from 'node:crypto'

export interface Redis {
  /**
   * Sends one command and waits for its answer, as long as configured and no longer.
   *
   * @param command In lower case, as in `get`
   * @throws {Error} when Redis cannot be asked, or refuses the command
   */
  send(command: string, ...args: (string | number)[]): Promise<unknown>
  /** Runs a script on one key, atomically. @throws as `send` */
  run(script: RedisScript, key: string, ...args: (string | number)[]): Promise<unknown>
  /** Keys that match a glob pattern, in portions; of all nodes of a cluster. Keys that come and go meanwhile may be missing. */
  scan(pattern: string): AsyncIterable<string[]>
  /** Whether it answered the last time it was asked. */
  isReachable(): boolean
  /** Whether it has ever answered. */
  wasReached(): boolean
  close(): Promise<void>
}

/** Told about every command, and about every connection that replaces a lost one. */
export interface RedisObserver {
  answered(command: { command: string; ok: boolean; durationMs: number }): void
  reconnected(): void
}

/** Lua, and the SHA-1 by which servers remember it. */
export interface RedisScript {
  readonly source: string
  readonly sha1: string
}

export function createRedisScript(source: string): RedisScript {
  return { source, sha1: hash('sha1', source, 'hex') }
}

/** What is stored under the key has another type: it was not written by this gateway. */
export function isWrongType(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('WRONGTYPE')
}

/** For `catch`: what others keep under a key counts as nothing. */
export function undefinedIfForeign(error: unknown): undefined {
  if (!isWrongType(error)) throw error
  return undefined
}

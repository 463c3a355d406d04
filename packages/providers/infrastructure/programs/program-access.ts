/** What a provider offers of the programs of its instances: their output line by line, and programs beside them. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { ExecConnection, ExecRequest } from '@fairlead/base/net/exec-frames.ts'
import type { Instance, Job, ServerGroup } from '../model.ts'

export interface LogLine {
  /** Milliseconds since the epoch. */
  readonly atMs: number
  /** Where it stands in the output of its instance. */
  readonly position: string
  /** Where a follower goes on after it. */
  readonly next: string
  readonly text: string
  /** It was longer than `maxLineBytes`. */
  readonly isCut?: true
}

export interface LogWish {
  readonly sinceMs?: number
  /** So many of the last lines; undefined: all that are kept. */
  readonly tail?: number
  /** Output of the run before the latest. */
  readonly previous?: boolean
  /** A follower goes on where this ends: a line without its end is left to it. */
  readonly isFollowed?: boolean
}

export interface LogPart {
  readonly lines: readonly LogLine[]
  /** Where a follower goes on. */
  readonly next: string
}

export const maxLineBytes = 64 * 1024

type Place = Pick<Instance | Job, 'account' | 'id'> & {
  readonly region: string
  /** Where the provider names it otherwise than by its id. */
  readonly humanName?: string
}

export interface ProgramAccess {
  /** What is there; secrets are masked. Nothing where the instance has written nothing. */
  lines(instance: Place, wish: LogWish): Promise<LogPart>
  /** What is written after a position, until the instance is gone. @throws {Error} when the connection breaks off */
  follow(instance: Place, next: string, signal: AbortSignal): AsyncIterable<LogLine>
  /** @throws {Error} for people */
  exec(instance: Place, request: ExecRequest): Promise<ExecConnection>
  /** What is masked in the output of its programs. */
  masksOf(instance: Place): Promise<readonly string[]>
  /** The operation that runs a command once as the instances of a server group run. */
  toRun(
    group: ServerGroup,
    order: RunOrder,
  ): Promise<{ readonly name: string; readonly description: JsonObject }>
}

export interface RunOrder {
  readonly command: readonly string[]
  readonly timeoutSeconds: number | undefined
  /** Its client runs the command in it by `exec`: until then, it waits. */
  readonly isAttached: boolean
}

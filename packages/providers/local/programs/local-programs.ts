/** Programs of this machine's instances: their output by the agent, and programs beside them. */
import type { Agent, OutputTime, OutputWish, TimedPart } from '@fairlead/base/net/agent-protocol.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { maskLines } from '../../infrastructure/programs/mask-lines.ts'
import {
  type LogLine,
  type LogPart,
  type LogWish,
  maxLineBytes,
  type ProgramAccess,
} from '../../infrastructure/programs/program-access.ts'
import type { Desired, LocalInstance, LocalJob } from '../desired.ts'
import type { ProgramSecrets } from '../program-secrets.ts'

const partBytes = 1024 * 1024
/** So much is looked through for the last lines: a line may be long. */
const tailBytes = 16 * 1024 * 1024
/** Keeps a job alive that waits for its client. */
const waitingCommand = ['sh', '-c', 'trap exit TERM HUP; while :; do sleep 3600 & wait $!; done']

interface LocalProgramParts {
  readonly agent: Agent
  readonly desired: Desired
  readonly secrets: ProgramSecrets
}

export function createLocalPrograms({ agent, desired, secrets }: LocalProgramParts): ProgramAccess {
  const ownerOf = (id: string): LocalInstance | LocalJob => {
    const owner = desired.get('instances', id) ?? desired.get('jobs', id)
    if (owner === undefined) throw new PortError(404, `There is no instance ${id} any more.`)
    return owner
  }
  const linesOf = (id: string) => new LogLines(secrets.masksOf(ownerOf(id)))
  return {
    async lines({ id }, wish): Promise<LogPart> {
      const lines = linesOf(id)
      const maxBytes = wish.tail === undefined ? partBytes : tailBytes
      const first = await agent.timedPart(id, toOutputWish(wish), maxBytes)
      if (first === undefined) return { lines: [], next: '0' }
      const found = [...lines.feed(first)]
      const { endOffset } = first
      for (let next = first.nextOffset; next < endOffset; ) {
        const part = await agent.timedPart(
          id,
          { offset: next },
          Math.min(partBytes, endOffset - next),
        )
        if (part === undefined || part.nextOffset <= next) break
        found.push(...lines.feed(part))
        next = part.nextOffset
      }
      if (wish.isFollowed !== true) found.push(...lines.end())
      return { lines: found, next: String(lines.offset) }
    },
    async *follow({ id }, next, signal) {
      const lines = linesOf(id)
      for await (const part of agent.followOutput(id, Number(next), signal)) yield* lines.feed(part)
      yield* lines.end()
    },
    exec: ({ id }, request) => agent.exec(id, request),
    masksOf: async ({ id }) => secrets.masksOf(ownerOf(id)),
    async toRun({ account, region, name }, { command, timeoutSeconds, isAttached }) {
      return {
        name: 'runJob',
        description: {
          cloudProvider: 'local',
          credentials: account,
          region,
          likeServerGroup: name,
          command: isAttached ? waitingCommand : [...command],
          ...(timeoutSeconds !== undefined && { runtimeLimitSecs: timeoutSeconds }),
          ...(isAttached && { labels: { [attachedLabel]: 'true' } }),
        },
      }
    },
  }
}

/** Labels jobs that are there for a client. */
export const attachedLabel = 'fairlead.attached'

function toOutputWish({ sinceMs, tail, previous }: LogWish): OutputWish {
  if (previous === true) return { previous: true }
  if (sinceMs !== undefined) return { sinceMs }
  return tail === undefined ? { all: true } : { tail }
}

/** Lines of an instance's output, from parts that end anywhere. */
class LogLines {
  readonly #masks: readonly string[]
  /** Begun, without its end. */
  #rest = ''
  #restOffset = 0
  /** The line that goes on was cut: what follows belongs to it. */
  #isSkipping = false
  #times: readonly OutputTime[] = []

  constructor(masks: readonly string[]) {
    this.#masks = masks
  }

  /** Where the line begins that has not ended. */
  get offset(): number {
    return this.#restOffset
  }

  feed({ output, offset, lostBytes, times }: TimedPart): LogLine[] {
    const lost = lostBytes > 0 ? this.end() : []
    if (this.#rest === '') this.#restOffset = offset
    this.#times = [...this.#times.slice(-1), ...times]
    const pieces = (this.#rest + output).split('\n')
    this.#rest = pieces.pop() ?? ''
    const lines = pieces.flatMap((text) => this.#take(text, true))
    if (Buffer.byteLength(this.#rest) > maxLineBytes) {
      lines.push(...this.#take(this.#rest, false))
      this.#rest = ''
    }
    return [...lost, ...maskLines(lines, this.#masks)]
  }

  /** The line without an end. */
  end(): LogLine[] {
    const lines = this.#rest === '' ? [] : this.#take(this.#rest, false)
    this.#rest = ''
    this.#isSkipping = false
    return maskLines(lines, this.#masks)
  }

  #take(text: string, isWhole: boolean): LogLine[] {
    const offset = this.#restOffset
    const bytes = Buffer.byteLength(text)
    this.#restOffset += bytes + (isWhole ? 1 : 0)
    const isSkipped = this.#isSkipping
    const isCut = bytes > maxLineBytes
    this.#isSkipping = !isWhole && (isCut || isSkipped)
    if (isSkipped) return []
    const shown = text.endsWith('\r') ? text.slice(0, -1) : text
    return [
      {
        atMs: this.#timeAt(offset),
        position: String(offset),
        next: String(this.#restOffset),
        text: isCut ? Buffer.from(shown).subarray(0, maxLineBytes).toString() : shown,
        ...(isCut && { isCut }),
      },
    ]
  }

  #timeAt(offset: number): number {
    return (
      this.#times.findLast((time) => time.offset <= offset)?.atMs ??
      this.#times[0]?.atMs ??
      Date.now()
    )
  }
}

/** Lines of an instance's output, from parts that end anywhere. */
import type { OutputTime, TimedPart } from '@fairlead/base/net/agent-protocol.ts'
import { maskLines } from '../../infrastructure/programs/mask-lines.ts'
import { type LogLine, maxLineBytes } from '../../infrastructure/programs/program-access.ts'

export class LogLines {
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

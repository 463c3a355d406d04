/** Output of an instance, followed from its end: the newest lines first, then what is new, by offset, and on demand what came before. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { byteLength, type Found, toTextOfBytes } from '../model/log-lines.ts'
import { objectsOf, textOf } from '../model/read.ts'
import { type ApiError, asApiError } from './api-error.ts'
import { client, unwrap } from './client.ts'
import { loginEnded } from './login-state.ts'

export interface Output {
  /** Undefined until the first answer. */
  readonly text: string | undefined
  /** Bytes of the whole output before the text. */
  readonly startByte: number
  /** Number of the first line of the text, as far as the service counts. */
  readonly firstLine: number
  /** There may be earlier output that the page has room for. */
  readonly hasEarlier: boolean
  /** The page has no room for all that follows the line that was asked for. */
  readonly hasLater?: boolean
  readonly error: ApiError | undefined
}

interface Place {
  readonly account: string
  readonly region: string
  readonly id: string
  readonly provider: string | undefined
  /** One of several logs. */
  readonly container?: string
  /** Of the run before the present one. */
  readonly isPrevious?: boolean
}

const firstLines = 2000
/** Read before a wanted line. */
const beforeBytes = 65_536
const pollMs = 2000
const longestPollMs = 60_000
/** The service answers with so much at most. */
const partBytes = 1_048_576
/** When there is more, the page keeps only the last lines. */
const maxCharacters = 4_000_000
const keptCharacters = 3_000_000

const nothingYet: Output = { text: undefined, startByte: 0, firstLine: 1, hasEarlier: false, error: undefined }

interface OutputReader {
  readonly output: Signal<Output>
  /** Reads what came before the text. */
  readonly readEarlier: () => void
  /** Reads on from shortly before a line instead; undefined: from the last lines. */
  readonly readAt: (byte: number | undefined) => void
  /** Lines of all output; undefined where the service does not search. */
  readonly find: (text: string) => Promise<Found | undefined>
}

/** @param line First byte of a line that shall be among the text */
export function useOutput(place: Place, line: number | undefined): OutputReader {
  const output = useSignal(nothingYet)
  const [wanted, readAt] = useState(line)
  const followed = useRef<FollowedOutput | undefined>(undefined)
  const key = JSON.stringify(place)
  const shown = useRef(key)
  useEffect(() => {
    // What was read of the same output stays until a line far away has come.
    if (shown.current !== key) output.value = nothingYet
    shown.current = key
    const current = new FollowedOutput(output, place, wanted)
    followed.current = current
    void current.follow()
    return () => current.close()
  }, [key, wanted])
  return { output, readEarlier: () => followed.current?.readEarlier(), readAt, find: (text) => findIn(place, text) }
}

async function findIn(place: Place, text: string): Promise<Found | undefined> {
  const { matches, hasMoreMatches } = await ask(place, { find: text })
  return matches && { bytes: matches.map(({ offset }) => offset), isCut: hasMoreMatches === true }
}

type Part = { readonly tail: number } | { readonly offset: number } | { readonly find: string }

function ask({ account, region, id, provider, container, isPrevious }: Place, part: Part) {
  const path = { account, region, instanceId: id }
  const query = { provider, ...part, ...(container !== undefined && { container }), ...(isPrevious && { previous: 'true' }) }
  return unwrap(client.GET('/instances/{account}/{region}/{instanceId}/console', { params: { path, query } }))
}

/** Reads the output of one program as long as it is shown. */
class FollowedOutput {
  readonly #output: Signal<Output>
  readonly #place: Place
  readonly #wanted: number | undefined
  #hasEnded = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #nextOffset: number | undefined
  #failures = 0
  #isReadingEarlier = false
  /** A place whose line is known, beyond the text until now. */
  #end: { readonly byte: number; readonly line: number } | undefined

  constructor(output: Signal<Output>, place: Place, wanted: number | undefined) {
    this.#output = output
    this.#place = place
    this.#wanted = wanted
  }

  async follow(): Promise<void> {
    let hasMore = false
    if (document.visibilityState === 'visible' && !loginEnded.peek()) {
      try {
        hasMore = await this.#read()
        this.#failures = 0
      } catch (error) {
        this.#failures++
        this.#fail(error)
      }
    }
    const pauseMs = hasMore ? 0 : Math.min(longestPollMs, pollMs * 2 ** this.#failures)
    if (this.#output.peek().hasLater !== true && !this.#hasEnded) this.#timer = setTimeout(() => void this.follow(), pauseMs)
  }

  readEarlier(): void {
    if (this.#isReadingEarlier || !this.#output.peek().hasEarlier) return
    this.#isReadingEarlier = true
    this.#readBefore()
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#isReadingEarlier = false
      })
  }

  close(): void {
    this.#hasEnded = true
    clearTimeout(this.#timer)
  }

  #fail(error: unknown): void {
    if (!this.#hasEnded) this.#output.value = { ...this.#output.peek(), error: asApiError(error) }
  }

  /** @returns whether more is to be read at once @throws {ApiError} */
  async #read(): Promise<boolean> {
    const wanted = this.#wanted
    const goesOn = this.#nextOffset !== undefined
    const first = wanted === undefined ? { tail: firstLines } : { offset: Math.max(0, wanted - beforeBytes) }
    // Lines are counted at the end of the output alone.
    const counted = goesOn || wanted === undefined ? undefined : ask(this.#place, { tail: 0 }).catch(() => undefined)
    const answer = await ask(this.#place, this.#nextOffset === undefined ? first : { offset: this.#nextOffset })
    const atEnd = await counted
    if (atEnd !== undefined) this.#end = { byte: atEnd.offset ?? 0, line: atEnd.line ?? 0 }
    if (this.#hasEnded) return false
    const { offset = 0, nextOffset: next, endOffset = 0, line = 1 } = answer
    const part = toText(answer.output, this.#place.container)
    const text = goesOn || wanted === undefined || offset === 0 ? part : withoutCutLine(part)
    const before = this.#output.peek()
    // A service that does not know offsets answers with everything each time.
    this.#nextOffset = next
    const start = goesOn ? before.startByte : next === undefined ? 0 : startAfter(offset, part, text)
    const whole = goesOn ? (before.text ?? '') + text : text
    const hasLater = wanted !== undefined && next !== undefined && endOffset > next && !hasRoom(whole)
    const cut = hasLater ? 0 : cutOf(whole)
    const shown = whole.slice(cut)
    const startByte = start + byteLength(whole.slice(0, cut))
    const counts = goesOn ? before.firstLine : line
    const firstLine = this.#firstLine(shown, startByte) ?? counts + linesIn(whole.slice(0, cut))
    const hasEarlier = next !== undefined && startByte > 0 && hasRoom(shown) && (!goesOn || before.hasEarlier)
    if (shown !== before.text || before.error !== undefined) {
      this.#output.value = { text: shown, startByte, firstLine, hasEarlier, hasLater, error: undefined }
    }
    return next !== undefined && endOffset > next && text !== ''
  }

  /** Once the text reaches the place whose number is known. */
  #firstLine(text: string, startByte: number): number | undefined {
    const known = this.#end
    if (known === undefined || known.line === 0 || startByte + byteLength(text) < known.byte) return undefined
    this.#end = undefined
    return known.line - linesIn(toTextOfBytes(text, known.byte - startByte))
  }

  /** @throws {ApiError} */
  async #readBefore(): Promise<void> {
    const end = this.#output.peek().startByte
    const wantedOffset = Math.max(0, end - partBytes)
    const { output: part, offset = 0, nextOffset: next = 0 } = await ask(this.#place, { offset: wantedOffset })
    // What is kept may be cut meanwhile.
    const { text: shown, firstLine, startByte } = this.#output.peek()
    if (this.#hasEnded || shown === undefined || startByte !== end) return
    if (offset >= end || next < end) {
      this.#output.value = { ...this.#output.peek(), hasEarlier: false }
      return
    }
    const before = toTextOfBytes(toText(part, this.#place.container), end - offset)
    const text = offset > 0 && offset === wantedOffset ? withoutCutLine(before) || before : before
    const start = startAfter(offset, before, text)
    const whole = text + shown
    const hasEarlier = start > 0 && offset === wantedOffset && hasRoom(whole)
    this.#output.value = {
      text: whole,
      startByte: start,
      firstLine: Math.max(1, firstLine - linesIn(text)),
      hasEarlier,
      error: undefined,
    }
  }
}

function linesIn(text: string): number {
  return text.split('\n').length - 1
}

function hasRoom(text: string): boolean {
  return text.length + partBytes <= maxCharacters
}

/** Offset of a text at the end of a part. */
function startAfter(offset: number, part: string, text: string): number {
  return offset + byteLength(part.slice(0, part.length - text.length))
}

/** Characters to drop, up to the end of a line where there is one. */
function cutOf(text: string): number {
  if (text.length <= maxCharacters) return 0
  const least = text.length - keptCharacters
  const lineEnd = text.indexOf('\n', least)
  return lineEnd === -1 ? least : lineEnd + 1
}

/** A part that begins anywhere begins within a line. */
function withoutCutLine(text: string): string {
  return text.slice(text.indexOf('\n') + 1)
}

/** One text, or a list of logs with their names. */
export function toText(output: unknown, container: string | undefined): string {
  if (typeof output === 'string') return output
  const all = objectsOf(output)
  const wanted = all.filter(({ name }) => name === container)
  const logs = wanted.length > 0 ? wanted : all
  if (logs.length === 1) return textOf(logs[0]?.['output']) ?? ''
  return logs.map((log) => `== ${textOf(log['name']) ?? ''} ==\n${textOf(log['output']) ?? ''}`).join('\n')
}

/** Output of an instance, followed from its end: the newest lines first, then what is new, by offset. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { byteLength } from '../model/log-blocks.ts'
import { objectsOf, textOf } from '../model/read.ts'
import { type ApiError, asApiError } from './api-error.ts'
import { client, unwrap } from './client.ts'
import { loginEnded } from './login-state.ts'

export interface Output {
  /** Undefined until the first answer. */
  readonly text: string | undefined
  /** Characters before the text that are no longer kept. */
  readonly dropped: number
  /** Bytes of the whole output before the text. */
  readonly startByte: number
  readonly error: ApiError | undefined
}

interface Place {
  readonly account: string
  readonly region: string
  readonly id: string
  readonly provider: string | undefined
}

const firstLines = 2000
/** Read before a wanted line. */
const beforeBytes = 65_536
const pollMs = 2000
const longestPollMs = 60_000
/** When there is more, the page keeps only the last lines. */
const maxCharacters = 4_000_000
const keptCharacters = 3_000_000

const nothingYet: Output = { text: undefined, dropped: 0, startByte: 0, error: undefined }

/** @param line First byte of a line that shall be among the text */
export function useOutput({ account, region, id, provider }: Place, line: number | undefined): Signal<Output> {
  const output = useSignal(nothingYet)
  const [wanted] = useState(line)
  useEffect(() => {
    output.value = nothingYet
    let ended = false
    let timer: ReturnType<typeof setTimeout> | undefined
    let nextOffset: number | undefined
    let failures = 0
    const path = { account, region, instanceId: id }
    const read = async () => {
      const first = wanted === undefined ? { tail: firstLines } : { offset: Math.max(0, wanted - beforeBytes) }
      const part = nextOffset === undefined ? first : { offset: nextOffset }
      const answer = await unwrap(
        client.GET('/instances/{account}/{region}/{instanceId}/console', { params: { path, query: { provider, ...part } } }),
      )
      if (ended) return false
      const { offset = 0, nextOffset: next, endOffset = 0 } = answer
      const goesOn = nextOffset !== undefined
      const text = goesOn || wanted === undefined || offset === 0 ? toText(answer.output) : withoutCutLine(toText(answer.output))
      const { text: shown, dropped: droppedBefore, startByte: startBefore, error } = output.peek()
      // A service that does not know offsets answers with everything each time.
      nextOffset = next
      const start = goesOn ? startBefore : next === undefined ? 0 : next - byteLength(text)
      const whole = goesOn ? (shown ?? '') + text : text
      const cut = cutOf(whole)
      const current = {
        text: whole.slice(cut),
        dropped: (goesOn ? droppedBefore : 0) + cut,
        startByte: start + byteLength(whole.slice(0, cut)),
        error: undefined,
      }
      if (current.text !== shown || error !== undefined) output.value = current
      return next !== undefined && endOffset > next && text !== ''
    }
    const follow = async () => {
      let hasMore = false
      if (document.visibilityState === 'visible' && !loginEnded.peek()) {
        await read().then(
          (more) => {
            failures = 0
            hasMore = more
          },
          (error: unknown) => {
            failures++
            if (!ended) output.value = { ...output.peek(), error: asApiError(error) }
          },
        )
      }
      if (!ended) timer = setTimeout(() => void follow(), hasMore ? 0 : Math.min(longestPollMs, pollMs * 2 ** failures))
    }
    void follow()
    return () => {
      ended = true
      clearTimeout(timer)
    }
  }, [account, region, id, provider])
  return output
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
function toText(output: unknown): string {
  if (typeof output === 'string') return output
  const logs = objectsOf(output)
  if (logs.length === 1) return textOf(logs[0]?.['output']) ?? ''
  return logs.map((log) => `== ${textOf(log['name']) ?? ''} ==\n${textOf(log['output']) ?? ''}`).join('\n')
}

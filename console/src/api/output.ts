/** Output of an instance, followed from its end: the newest lines first, then what is new, by offset. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { objectsOf, textOf } from '../model/read.ts'
import { type ApiError, asApiError } from './api-error.ts'
import { client, unwrap } from './client.ts'
import { loginEnded } from './login-state.ts'

export interface Output {
  /** Undefined until the first answer. */
  readonly text: string | undefined
  /** Characters before the text that are no longer kept. */
  readonly dropped: number
  readonly error: ApiError | undefined
}

interface Place {
  readonly account: string
  readonly region: string
  readonly id: string
  readonly provider: string | undefined
}

const firstLines = 2000
const pollMs = 2000
const longestPollMs = 60_000
/** When there is more, the page keeps only the last lines. */
const maxCharacters = 4_000_000
const keptCharacters = 3_000_000

const nothingYet: Output = { text: undefined, dropped: 0, error: undefined }

export function useOutput({ account, region, id, provider }: Place): Signal<Output> {
  const output = useSignal(nothingYet)
  useEffect(() => {
    output.value = nothingYet
    let ended = false
    let timer: ReturnType<typeof setTimeout> | undefined
    let nextOffset: number | undefined
    let failures = 0
    const path = { account, region, instanceId: id }
    const read = async () => {
      const part = nextOffset === undefined ? { tail: firstLines } : { offset: nextOffset }
      const answer = await unwrap(
        client.GET('/instances/{account}/{region}/{instanceId}/console', { params: { path, query: { provider, ...part } } }),
      )
      if (ended) return
      const { nextOffset: next } = answer as { nextOffset?: unknown }
      const text = toText(answer.output)
      const { text: shown, dropped: droppedBefore, error } = output.peek()
      const goesOn = nextOffset !== undefined
      // A service that does not know offsets answers with everything each time.
      nextOffset = typeof next === 'number' ? next : undefined
      const whole = goesOn ? (shown ?? '') + text : text
      const cut = cutOf(whole)
      const current = { text: whole.slice(cut), dropped: (goesOn ? droppedBefore : 0) + cut, error: undefined }
      if (current.text !== shown || error !== undefined) output.value = current
    }
    const follow = async () => {
      if (document.visibilityState === 'visible' && !loginEnded.peek()) {
        await read().then(
          () => {
            failures = 0
          },
          (error: unknown) => {
            failures++
            if (!ended) output.value = { ...output.peek(), error: asApiError(error) }
          },
        )
      }
      if (!ended) timer = setTimeout(() => void follow(), Math.min(longestPollMs, pollMs * 2 ** failures))
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

/** One text, or a list of logs with their names. */
function toText(output: unknown): string {
  if (typeof output === 'string') return output
  const logs = objectsOf(output)
  if (logs.length === 1) return textOf(logs[0]?.['output']) ?? ''
  return logs.map((log) => `== ${textOf(log['name']) ?? ''} ==\n${textOf(log['output']) ?? ''}`).join('\n')
}

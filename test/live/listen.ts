/** A client of event streams. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { waitFor, waitUntil } from '../support/wait-until.ts'

export interface StreamEvent {
  readonly name: string
  readonly id: string | undefined
  readonly data: Record<string, unknown>
}

export interface Stream {
  readonly headers: Headers
  /** All events so far. */
  readonly events: readonly StreamEvent[]
  /** Waits for an event that fits, from the beginning of the stream. */
  find(fits: (event: StreamEvent) => boolean, what?: string): Promise<StreamEvent>
  /** Waits until the server has ended the stream. */
  ended(): Promise<void>
  /** Everything that was received. */
  text(): string
  close(): void
}

/** @throws when the stream does not begin with status 200 */
export async function listen(
  t: TestContext,
  url: string,
  headers: Record<string, string> = {},
): Promise<Stream> {
  const controller = new AbortController()
  t.after(() => controller.abort())
  const answer = await fetch(url, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: controller.signal,
  })
  if (answer.status !== 200) assert.fail(`${url} answered ${answer.status}: ${await answer.text()}`)
  const events: StreamEvent[] = []
  let text = ''
  let hasEnded = false
  const read = async () => {
    const decoder = new TextDecoder()
    let parsed = 0
    for await (const chunk of answer.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true })
      for (let end = text.indexOf('\n\n', parsed); end !== -1; end = text.indexOf('\n\n', parsed)) {
        const event = parseEvent(text.slice(parsed, end))
        if (event !== undefined) events.push(event)
        parsed = end + 2
      }
    }
  }
  void read()
    .catch(() => {})
    .finally(() => {
      hasEnded = true
    })
  return {
    headers: answer.headers,
    events,
    find: (fits, what = 'an event') =>
      waitFor(
        () => events.find(fits),
        () => `${what}; came: ${text}`,
      ),
    ended: () =>
      waitUntil(
        () => hasEnded,
        () => `the end of the stream; came: ${text}`,
      ),
    text: () => text,
    close: () => controller.abort(),
  }
}

/** Undefined for a block without an event, such as a heartbeat. */
function parseEvent(block: string): StreamEvent | undefined {
  const fields = new Map(
    block
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  const name = fields.get('event')
  if (name === undefined) return undefined
  return {
    name,
    id: fields.get('id'),
    data: JSON.parse(fields.get('data') ?? '{}') as Record<string, unknown>,
  }
}

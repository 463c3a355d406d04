/** Search of output: of all of it where the service can, and otherwise of what the page has. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { toPlain } from '../model/ansi.ts'
import type { Found, LogText } from '../model/log-lines.ts'
import { IconButton } from './button.tsx'

interface Search {
  readonly query: string
  /** Undefined while the service searches. */
  readonly found: Found | undefined
  /** The line that is in view: its first byte, and its number among the hits. */
  readonly current: number | undefined
  readonly number: number
  find(query: string): void
  /** To the next hit, or the one before. */
  step(by: 1 | -1): void
}

const pauseMs = 250

export function useSearch(
  log: LogText,
  ask: ((query: string) => Promise<Found | undefined>) | undefined,
  goTo: (byte: number) => void,
): Search {
  const [{ query, at }, setState] = useState({ query: '', at: 0 })
  const [answer, setAnswer] = useState<{ readonly query: string; readonly found: Found | undefined }>()
  useEffect(() => {
    if (query === '' || ask === undefined) return
    let isCurrent = true
    const timer = setTimeout(async () => {
      const found = await ask(query).catch(() => undefined)
      if (isCurrent) setAnswer({ query, found })
    }, pauseMs)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [query, ask === undefined])
  const isAsked = ask !== undefined && query !== '' && answer?.query !== query
  const own = useMemo(() => findIn(log, query), [log, query])
  const found = isAsked ? undefined : (ask !== undefined && answer?.query === query && answer.found) || own
  const total = found?.bytes.length ?? 0
  const current = total === 0 ? undefined : found?.bytes[at % total]
  useEffect(() => {
    if (current !== undefined) goTo(current)
  }, [query, at, current === undefined])
  return {
    query,
    found,
    current,
    number: total === 0 ? 0 : (at % total) + 1,
    find: (wanted) => setState({ query: wanted, at: 0 }),
    step: (by) => total > 0 && setState({ query, at: ((at % total) + by + total) % total }),
  }
}

function findIn({ lines }: LogText, query: string): Found {
  const wanted = query.toLowerCase()
  const bytes = lines.flatMap(({ text, byte }) => (query !== '' && toPlain(text).toLowerCase().includes(wanted) ? byte : []))
  return { bytes, isCut: false }
}

export function LogSearch({ search: { query, found, number, find, step } }: { search: Search }) {
  const total = found?.bytes.length ?? 0
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    step(event.shiftKey ? -1 : 1)
  }
  return (
    <>
      <input
        class="grow"
        type="search"
        aria-label="Find"
        placeholder="Find in all output"
        value={query}
        onInput={(event) => find(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      <span class="muted number" role="status">
        {query !== '' &&
          (found === undefined
            ? 'searching …'
            : (total === 0 ? 'no hit' : `${number.toLocaleString()} of ${total.toLocaleString()}`) +
              (found.isCut ? ' and more' : ''))}
      </span>
      {total > 1 && (
        <>
          <IconButton icon="up" label="Previous hit (N)" title="Previous hit (N)" onClick={() => step(-1)} />
          <IconButton icon="down" label="Next hit (n)" title="Next hit (n)" onClick={() => step(1)} />
        </>
      )}
    </>
  )
}

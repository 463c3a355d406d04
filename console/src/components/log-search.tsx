/** Search of output: of all of it where the service can, and otherwise of what the page has. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { toPlain } from '../model/ansi.ts'
import type { Found, LogText } from '../model/log-lines.ts'
import { IconButton } from './button.tsx'

const pauseMs = 250

/** @param ask Searches all output @param goTo Brings a hit into view */
export function useSearch(
  { lines }: LogText,
  ask: ((query: string) => Promise<Found | undefined>) | undefined,
  goTo: (byte: number) => void,
) {
  const [{ query, at }, setState] = useState({ query: '', at: 0 })
  const [answer, setAnswer] = useState<{ readonly query: string; readonly found: Found | undefined }>()
  useEffect(() => {
    if (query === '' || ask === undefined) return
    const timer = setTimeout(async () => setAnswer({ query, found: await ask(query).catch(() => undefined) }), pauseMs)
    return () => clearTimeout(timer)
  }, [query, ask === undefined])
  const own = useMemo(() => {
    const wanted = query.toLowerCase()
    return query === '' ? [] : lines.flatMap(({ text, byte }) => (toPlain(text).toLowerCase().includes(wanted) ? byte : []))
  }, [lines, query])
  const isSearching = ask !== undefined && query !== '' && answer?.query !== query
  const { bytes, isCut } = (ask !== undefined && answer?.query === query && answer.found) || { bytes: own, isCut: false }
  const total = isSearching ? 0 : bytes.length
  const current = total === 0 ? undefined : bytes[at % total]
  useEffect(() => {
    if (current !== undefined) goTo(current)
  }, [query, at, current === undefined])
  return {
    ...{ query, isSearching, isCut, total, current },
    isOfAll: ask !== undefined,
    /** Of the current hit, from 1. */
    number: total === 0 ? 0 : (at % total) + 1,
    find: (wanted: string) => setState({ query: wanted, at: 0 }),
    /** To the next hit, or the one before. */
    step: (by: 1 | -1) => total > 0 && setState({ query, at: ((at % total) + by + total) % total }),
  }
}

export function LogSearch({ search }: { search: ReturnType<typeof useSearch> }) {
  const { query, isSearching, isCut, total, number, isOfAll, find, step } = search
  const hits = total === 0 ? 'no hit' : `${number.toLocaleString()} of ${total.toLocaleString()}`
  return (
    <>
      <input
        class="grow"
        type="search"
        aria-label="Find"
        placeholder={isOfAll ? 'Find in all output' : 'Find in the loaded output'}
        value={query}
        onInput={(event) => find(event.currentTarget.value)}
        onKeyDown={({ key, shiftKey }) => key === 'Enter' && step(shiftKey ? -1 : 1)}
      />
      <span class="muted number" role="status">
        {query !== '' && (isSearching ? 'searching …' : hits + (isCut ? ' and more' : ''))}
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

/** Search of output: of all of it where the service can, and otherwise of what the page has. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { findInOutput } from '../api/output.ts'
import { toPlain } from '../model/ansi.ts'
import type { LogText } from '../model/log-lines.ts'
import { IconButton } from './button.tsx'

const pauseMs = 250

/** Searches all output; undefined where the service does not. */
export type Find = (query: string) => ReturnType<typeof findInOutput>

/** @param goTo Brings a hit into view */
export function useSearch({ lines }: LogText, ask: Find | undefined, goTo: (byte: number) => void) {
  const [{ query, at }, setState] = useState({ query: '', at: 0 })
  const [answer, setAnswer] = useState<{
    readonly query: string
    readonly found: Awaited<ReturnType<Find>>
  }>()
  useEffect(() => {
    if (query === '' || ask === undefined) return
    const timer = setTimeout(
      async () => setAnswer({ query, found: await ask(query).catch(() => undefined) }),
      pauseMs,
    )
    return () => clearTimeout(timer)
  }, [query, ask === undefined])
  const own = useMemo(() => {
    const wanted = query.toLowerCase()
    return query === ''
      ? []
      : lines.flatMap(({ text, byte }) =>
          toPlain(text).toLowerCase().includes(wanted) ? byte : [],
        )
  }, [lines, query])
  const isAnswered = query === '' || ask === undefined || answer?.query === query
  const { bytes, isCut } = (answer?.query === query && answer.found) || {
    bytes: isAnswered ? own : [],
    isCut: false,
  }
  const number = bytes.length === 0 ? 0 : (at % bytes.length) + 1
  const current = bytes[number - 1]
  useEffect(() => {
    if (current !== undefined) goTo(current)
  }, [query, at, current === undefined])
  const hits = `${number.toLocaleString()} of ${bytes.length.toLocaleString()}`
  return {
    query,
    current,
    note: !isAnswered ? 'searching …' : number === 0 ? 'no hit' : isCut ? `${hits} and more` : hits,
    hasMore: bytes.length > 1,
    find: (wanted: string) => setState({ query: wanted, at: 0 }),
    /** To the next hit, or the one before. */
    step: (by: 1 | -1) =>
      setState({ query, at: number === 0 ? 0 : (number - 1 + by + bytes.length) % bytes.length }),
  }
}

export function LogSearch({
  search,
  isOfAll,
}: {
  search: ReturnType<typeof useSearch>
  isOfAll: boolean
}) {
  const { query, note, hasMore, find, step } = search
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
        {query !== '' && note}
      </span>
      {hasMore && (
        <>
          <IconButton icon="up" label="Previous hit (N)" onClick={() => step(-1)} />
          <IconButton icon="down" label="Next hit (n)" onClick={() => step(1)} />
        </>
      )}
    </>
  )
}

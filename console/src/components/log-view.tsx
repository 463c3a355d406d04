/** Output of a program: search and switches above numbered lines, whose end stays in view while it is written. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useQueryChange } from '../address.ts'
import { toPlain, toSpans } from '../model/ansi.ts'
import { downloadText } from '../model/download.ts'
import {
  groupsFrom,
  type LogGroup,
  type LogLine,
  type LogText,
  lineAtByte,
  splitByHits,
  toLogText,
} from '../model/log-lines.ts'
import { formatDuration } from '../model/time.ts'
import { plural } from '../words.ts'
import { IconButton } from './button.tsx'
import { Check } from './form-fields.tsx'
import { type Find, LogSearch, useSearch } from './log-search.tsx'

const atEndPx = 24
/** A piece has about so many lines; where it begins in the output never changes. */
const bytesEach = 4096
const lineHeight = 1.45

interface LogViewProps {
  readonly text: string
  readonly name: string
  /** Nothing more will be written. */
  readonly isEnded?: boolean
  /** The place of the text in all output, and the way to the rest. */
  readonly startByte?: number
  readonly firstLine?: number
  /** Number of the line in view at first, unless the address names one. */
  readonly openAt?: number
  readonly hasEarlier?: boolean
  readonly readEarlier?: () => void
  /** Reads on from a line that is not in the text. */
  readonly readAt?: (byte: number) => void
  /** Searches all output; without it, the text is searched. */
  readonly find?: Find
}

/** The element that scrolls. */
type Box = { readonly current: HTMLElement | null }

export function LogView(props: LogViewProps) {
  const { text, name, isEnded = false, startByte = 0, hasEarlier = false, find } = props
  const box = useRef<HTMLPreElement>(null)
  const [wraps, setWraps] = useState(true)
  const [hasTimes, setHasTimes] = useState(false)
  const { log, shown, look, search, follows, setFollows, onScroll } = useLog(box, props)
  const switches = [
    !isEnded && { children: 'Follow', checked: follows, onChange: setFollows },
    { children: 'Wrap lines', checked: wraps, onChange: setWraps },
    log.lines.some(({ time }) => time !== '') && {
      children: 'Times',
      checked: hasTimes,
      onChange: setHasTimes,
    },
  ]
  const keys = {
    f: () => setFollows(!follows),
    w: () => setWraps(!wraps),
    n: () => search.step(1),
    N: () => search.step(-1),
    l: () => look.hit !== undefined && look.choose(look.hit),
  }
  const download = () => downloadText(`${name}.log`, 'text/plain;charset=utf-8', text)
  const attributes = {
    'aria-label': `${name}, ${plural(log.lines.length, 'line')}`,
    class: `${wraps ? 'wraps' : ''} ${hasTimes ? 'has-times' : ''}`,
    style: { '--digits': `${String(log.lines.at(-1)?.number ?? 0).length}ch` },
    onScroll,
    onKeyDown: (event: KeyboardEvent) => pressKey(event, keys),
  }
  return (
    <div class="log">
      <div class="log-tools row">
        {switches.map((one) => one && <Check key={one.children} {...one} />)}
        <LogSearch search={search} isOfAll={find !== undefined} />
        <IconButton icon="download" label="Download" onClick={download} />
      </div>
      {startByte > 0 && !hasEarlier && (
        <p class="muted">The beginning of the output is no longer on this page.</p>
      )}
      {/* What is added would be read aloud without an end. */}
      <pre ref={box} role="log" aria-live="off" tabIndex={0} {...attributes}>
        <div>
          {text === '' ? (
            <span class="muted">No output yet.</span>
          ) : (
            <LogBlocks lines={shown} look={look} />
          )}
        </div>
      </pre>
    </div>
  )
}

function pressKey(event: KeyboardEvent, keys: Readonly<Record<string, () => void>>) {
  const press = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key]
  if (press === undefined) return
  event.preventDefault()
  event.stopPropagation()
  press()
}

type Look = ReturnType<typeof useLog>['look']

/** What is shown of an output, and what is in view of it. */
function useLog(box: Box, props: LogViewProps) {
  const { text, startByte, firstLine, openAt, find, readAt } = props
  const last = useRef<LogText>(undefined)
  const log = useMemo(
    () => toLogText(text, startByte, firstLine, last.current),
    [text, startByte, firstLine],
  )
  last.current = log
  const { query } = useLocation()
  const change = useQueryChange()
  const opened = useMemo(
    () => log.lines.find(({ number }) => number === openAt)?.byte,
    [log, openAt],
  )
  const named = /^\d{1,15}$/.test(query['line'] ?? '') ? Number(query['line']) : opened
  const chosen = named === undefined ? undefined : lineAtByte(log, named)?.byte
  const { shown, isFolded, setFolded } = useFolds(log)
  const { follows, setFollows, onScroll } = useFollowing(box, chosen === undefined, props)
  const [wanted, setWanted] = useState(named)
  // A wanted line comes into view as soon as it is drawn.
  useLayoutEffect(() => {
    const line = wanted === undefined ? undefined : lineAtByte(log, wanted)
    if (line === undefined) return
    setFolded(groupsFrom(line.within).filter(isFolded), false)
    const drawn = box.current?.querySelector(`[data-byte="${line.byte}"]`)
    if (drawn == null) return
    drawn.scrollIntoView({ block: 'center' })
    setWanted(undefined)
  })
  const search = useSearch(log, find, (byte) => {
    setFollows(false)
    setWanted(byte)
    if (lineAtByte(log, byte) === undefined) readAt?.(byte)
  })
  const choose = (byte: number) => change({ line: byte === chosen ? undefined : String(byte) })
  const fold = (group: LogGroup) => setFolded([group], !isFolded(group))
  // `hit` and `chosen` are the first bytes of the line with the hit in view, and of the one that the address names.
  const look = { query: search.query, hit: search.current, chosen, choose, isFolded, fold }
  return { log, shown, look, search, follows, setFollows, onScroll }
}

/** Groups as they are at first, and as the reader has folded and opened them. */
function useFolds(log: LogText) {
  const [changed, setChanged] = useState<ReadonlyMap<number, boolean>>(new Map())
  const isFolded = (group: LogGroup) => changed.get(group.from) ?? group.isFolded
  const shown = useMemo(
    () => log.lines.filter(({ within }) => !groupsFrom(within).some(isFolded)),
    [log, changed],
  )
  const setFolded = (groups: readonly LogGroup[], isFold: boolean) =>
    groups.length > 0 &&
    setChanged(new Map([...changed, ...groups.map(({ from }) => [from, isFold] as const)]))
  return { shown, isFolded, setFolded }
}

/** Whether the end stays in view: until the reader goes up, and again at the end. Near the top, earlier output is read. */
function useFollowing(
  box: Box,
  atFirst: boolean,
  { startByte = 0, hasEarlier, readEarlier }: LogViewProps,
) {
  const [follows, setFollows] = useState(atFirst)
  const lastTop = useRef(0)
  // Whatever makes the text higher.
  useLayoutEffect(() => {
    const { current } = box
    if (!follows || current === null) return
    const laidOut = new ResizeObserver(() => {
      current.scrollTop = current.scrollHeight
    })
    for (const element of [current, ...current.children]) laidOut.observe(element)
    return () => laidOut.disconnect()
  }, [follows])
  usePlace(box, startByte, !follows)
  const onScroll = () => {
    if (box.current === null) return
    const { scrollTop, scrollHeight, clientHeight } = box.current
    // The end may be out of view because more was written; only the reader goes up.
    if (scrollHeight - scrollTop - clientHeight < atEndPx) setFollows(true)
    else if (scrollTop < lastTop.current) setFollows(false)
    lastTop.current = scrollTop
    if (scrollTop < clientHeight && hasEarlier) readEarlier?.()
  }
  return { follows, setFollows, onScroll }
}

/** Keeps what the reader sees in its place when lines come before it. Browsers do that themselves, but not at the very top. */
function usePlace(box: Box, startByte: number, isWanted: boolean) {
  const before = useRef(startByte)
  const top = box.current?.scrollTop ?? 0
  useLayoutEffect(() => {
    const { current } = box
    const former = current?.querySelector(`[data-byte="${before.current}"]`)
    before.current = startByte
    if (!isWanted || current?.firstElementChild == null || former == null) return
    current.scrollTop =
      top +
      former.getBoundingClientRect().top -
      current.firstElementChild.getBoundingClientRect().top
  }, [startByte])
}

/** In pieces: lines near the view with numbers, colours and marks; others are text that the browser finds. */
function LogBlocks({ lines, look }: { lines: readonly LogLine[]; look: Look }) {
  const blocks = useMemo(
    () => [...Map.groupBy(lines, ({ byte }) => Math.floor(byte / bytesEach))],
    [lines],
  )
  return blocks.map(([key, members], at) => (
    <Block key={key} lines={members} isLast={at === blocks.length - 1} look={look} />
  ))
}

/** The browser lays it out when it comes near the view, and finds and copies its text all the same. */
function Block({
  lines,
  isLast,
  look,
}: {
  lines: readonly LogLine[]
  isLast: boolean
  look: Look
}) {
  const box = useRef<HTMLDivElement>(null)
  const [isNear, setNear] = useState(isLast)
  useEffect(() => {
    if (box.current === null) return
    const view = { root: box.current.closest('pre'), rootMargin: '400px' }
    const seen = new IntersectionObserver(
      (changes) => setNear(changes.at(-1)?.isIntersecting === true),
      view,
    )
    seen.observe(box.current)
    return () => seen.disconnect()
  }, [])
  const isRich = isNear || lines.some(({ byte }) => byte === look.hit || byte === look.chosen)
  const plain = useMemo(
    () => (isRich ? '' : lines.map(({ text }) => `${toPlain(text)}\n`).join('')),
    [isRich, lines.length, lines[0], lines.at(-1)],
  )
  return (
    <div
      class="log-block"
      ref={box}
      style={{ containIntrinsicBlockSize: `auto ${lines.length * lineHeight}em` }}
    >
      {isRich ? lines.map((line) => <Line key={line.byte} line={line} look={look} />) : plain}
    </div>
  )
}

function Line({
  line: { number, byte, text, time, opens, within },
  look,
}: {
  line: LogLine
  look: Look
}) {
  const lengthMs =
    opens?.startMs === undefined || opens.endMs === undefined
      ? undefined
      : opens.endMs - opens.startMs
  const mark = (hit: string, key: number) => (
    <mark key={key} class={byte === look.hit ? 'is-current' : undefined}>
      {hit}
    </mark>
  )
  const marked = toSpans(text).map((span, at) => (
    <span key={at} style={span.style}>
      {splitByHits(span.text, look.query).map((part, index) =>
        index % 2 === 0 ? part : mark(part, index),
      )}
    </span>
  ))
  return (
    <div
      class={`log-line ${within ? 'is-within' : ''} ${byte === look.hit ? 'is-hit' : ''}`}
      data-byte={byte}
      aria-current={byte === look.chosen || undefined}
    >
      <button
        type="button"
        class="log-number"
        tabIndex={-1}
        data-number={number}
        aria-label={`Link to line ${number}`}
        onClick={() => look.choose(byte)}
      />
      {time !== '' && <time class="log-time">{time.slice(11, 23).replace(/Z$/, '')} </time>}
      {opens === undefined ? (
        marked
      ) : (
        <button
          type="button"
          class="log-fold"
          aria-expanded={!look.isFolded(opens)}
          onClick={() => look.fold(opens)}
        >
          {marked}
          {lengthMs !== undefined && <span class="muted"> {formatDuration(lengthMs)}</span>}
        </button>
      )}
      {'\n'}
    </div>
  )
}

/** Output of a program: search and switches above numbered lines, whose end stays in view while it is written. */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { downloadText } from '../model/download.ts'
import { type Found, groupsFrom, type LogGroup, type LogLine, type LogText, lineAtByte, toLogText } from '../model/log-lines.ts'
import { plural } from '../words.ts'
import { IconButton } from './button.tsx'
import { useQueryChange } from './filter-field.tsx'
import { Check } from './form-fields.tsx'
import { LogBlocks } from './log-blocks.tsx'
import { LogSearch, useSearch } from './log-search.tsx'

const atEndPx = 24

/** The place of the text in all output, and the way to the rest. */
interface LogPart {
  readonly startByte: number
  readonly firstLine: number
  readonly hasEarlier: boolean
  readonly readEarlier: () => void
  /** Reads on from a line that is not in the text. */
  readonly readAt: (byte: number) => void
  /** Searches all output; without it, the text is searched. */
  readonly find: ((query: string) => Promise<Found | undefined>) | undefined
}

const whole: LogPart = { startByte: 0, firstLine: 1, hasEarlier: false, readEarlier() {}, readAt() {}, find: undefined }

interface LogViewProps {
  readonly text: string
  readonly name: string
  /** Nothing more will be written. */
  readonly isEnded?: boolean
  readonly part?: LogPart
}

/** The element that scrolls. */
type Box = { readonly current: HTMLElement | null }

export function LogView({ text, name, isEnded = false, part = whole }: LogViewProps) {
  const box = useRef<HTMLPreElement>(null)
  const [wraps, setWraps] = useState(true)
  const [hasTimes, setHasTimes] = useState(false)
  const { log, shown, look, search, follows, setFollows, onScroll } = useLog(box, text, part)
  const switches = [
    { label: 'Follow', isOn: follows, set: setFollows, isOffered: !isEnded },
    { label: 'Wrap lines', isOn: wraps, set: setWraps, isOffered: true },
    { label: 'Times', isOn: hasTimes, set: setHasTimes, isOffered: log.lines.some(({ time }) => time !== '') },
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
        {switches.map((one) => one.isOffered && <Switch key={one.label} {...one} />)}
        <LogSearch search={search} />
        <IconButton icon="download" label="Download" title="Download" onClick={download} />
      </div>
      {part.startByte > 0 && !part.hasEarlier && <p class="muted">The beginning of the output is no longer on this page.</p>}
      {/* What is added would be read aloud without an end. */}
      <pre ref={box} role="log" aria-live="off" tabIndex={0} {...attributes}>
        <div>{text === '' ? <span class="muted">No output yet.</span> : <LogBlocks lines={shown} look={look} />}</div>
      </pre>
    </div>
  )
}

function Switch({ label, isOn, set }: { label: string; isOn: boolean; set: (isOn: boolean) => void }) {
  return (
    <Check checked={isOn} onChange={set}>
      {label}
    </Check>
  )
}

function pressKey(event: KeyboardEvent, keys: Readonly<Record<string, () => void>>): void {
  const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key]
  if (act === undefined) return
  event.preventDefault()
  event.stopPropagation()
  act()
}

/** What is shown of an output, and what is in view of it. */
function useLog(box: Box, text: string, part: LogPart) {
  const { startByte, firstLine, find, readAt } = part
  const last = useRef<LogText>(undefined)
  const log = useMemo(() => toLogText(text, startByte, firstLine, last.current), [text, startByte, firstLine])
  last.current = log
  const { query } = useLocation()
  const change = useQueryChange()
  const named = /^\d{1,15}$/.test(query['line'] ?? '') ? Number(query['line']) : undefined
  const chosen = named === undefined ? undefined : lineAtByte(log, named)?.byte
  const { shown, isFolded, fold, unfold } = useFolds(log)
  const { follows, setFollows, onScroll } = useFollowing(box, chosen === undefined, part)
  const [wanted, setWanted] = useState(named)
  // A wanted line comes into view as soon as it is drawn.
  useLayoutEffect(() => {
    const line = wanted === undefined ? undefined : lineAtByte(log, wanted)
    if (line === undefined) return
    unfold(line)
    const drawn = box.current?.querySelector(`[data-byte="${line.byte}"]`)
    if (drawn == null) return
    drawn.scrollIntoView({ block: 'center' })
    setWanted(undefined)
  })
  const search = useSearch(log, find, (byte) => {
    setFollows(false)
    setWanted(byte)
    if (lineAtByte(log, byte) === undefined) readAt(byte)
  })
  const choose = (byte: number) => change({ line: byte === chosen ? undefined : String(byte) })
  const look = { query: search.query, hit: search.current, chosen, choose, isFolded, fold }
  return { log, shown, look, search, follows, setFollows, onScroll }
}

function useFolds(log: LogText) {
  const [changed, setChanged] = useState<ReadonlyMap<number, boolean>>(new Map())
  const isFolded = ({ from, isFolded: atFirst }: LogGroup) => changed.get(from) ?? atFirst
  return {
    isFolded,
    shown: useMemo(() => log.lines.filter(({ within }) => !groupsFrom(within).some(isFolded)), [log, changed]),
    fold: (group: LogGroup) => setChanged(new Map(changed).set(group.from, !isFolded(group))),
    /** Opens the groups around a line. */
    unfold({ within }: LogLine) {
      const folded = groupsFrom(within).filter(isFolded)
      if (folded.length > 0) setChanged(new Map([...changed, ...folded.map(({ from }) => [from, false] as const)]))
    },
  }
}

/** Whether the end stays in view: until the reader goes up, and again at the end. Near the top, earlier output is read. */
function useFollowing(box: Box, atFirst: boolean, part: LogPart) {
  const [follows, setFollows] = useState(atFirst)
  const lastTop = useRef(0)
  useEnd(box, follows)
  usePlace(box, part.startByte, !follows)
  const onScroll = () => {
    const { current } = box
    if (current === null) return
    const { scrollTop, scrollHeight, clientHeight } = current
    // The end may be out of view because more was written; only the reader goes up.
    if (scrollHeight - scrollTop - clientHeight < atEndPx) setFollows(true)
    else if (scrollTop < lastTop.current) setFollows(false)
    lastTop.current = scrollTop
    if (scrollTop < clientHeight && part.hasEarlier) part.readEarlier()
  }
  return { follows, setFollows, onScroll }
}

/** Keeps the end in view, whatever makes the text higher. */
function useEnd(box: Box, follows: boolean): void {
  useLayoutEffect(() => {
    const { current } = box
    if (!follows || current === null) return
    const laidOut = new ResizeObserver(() => {
      current.scrollTop = current.scrollHeight
    })
    for (const element of [current, ...current.children]) laidOut.observe(element)
    return () => laidOut.disconnect()
  }, [follows])
}

/** Keeps what the reader sees in its place when lines come before it. Browsers do that themselves, but not at the very top. */
function usePlace(box: Box, startByte: number, isWanted: boolean): void {
  const before = useRef(startByte)
  const top = box.current?.scrollTop ?? 0
  useLayoutEffect(() => {
    const { current } = box
    const former = current?.querySelector(`[data-byte="${before.current}"]`)
    before.current = startByte
    if (!isWanted || current?.firstElementChild == null || former == null) return
    current.scrollTop = top + former.getBoundingClientRect().top - current.firstElementChild.getBoundingClientRect().top
  }, [startByte])
}

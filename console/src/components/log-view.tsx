/** Output of a program: numbered lines with their colours, groups that fold, search of all of it, and an address for each line. */
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { toPlain, toSpans } from '../model/ansi.ts'
import { downloadText } from '../model/download.ts'
import {
  type Found,
  isHidden,
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
import { Check } from './check.tsx'
import { useQueryChange } from './filter-field.tsx'
import { kept, useGradually } from './kept.tsx'
import { LogSearch, useSearch } from './log-search.tsx'

const atEndPx = 24
/** A piece has about so many lines; where it begins in the output never changes. */
const bytesEach = 4096
/** Pieces that are drawn before the browser paints: more than a screen full of lines. */
const blocksAtOnce = 16
/** Pieces so far beyond the view have numbers, colours and marks; others are text that the browser finds. */
const nearPx = '400px'
const lineHeight = 1.45

interface LogViewProps {
  readonly text: string
  readonly name: string
  /** Nothing more will be written. */
  readonly isEnded?: boolean
  /** Bytes of the whole output before the text, and the number of its first line. */
  readonly startByte?: number
  readonly firstLine?: number
  readonly earlier?: Earlier
  /** Searches all output; without it, the text is searched. */
  readonly find?: ((query: string) => Promise<Found | undefined>) | undefined
  /** To a line that is not in the text. */
  readonly onJump?: (byte: number) => void
}

/** Output before the text. */
interface Earlier {
  /** Undefined when it is gone, or the page has no room. */
  readonly read: (() => void) | undefined
}

/** The element that scrolls. */
type Box = { readonly current: HTMLElement | null }

export function LogView(props: LogViewProps) {
  const { text, name, isEnded = false, startByte = 0, firstLine = 1, earlier, find, onJump } = props
  const [look, setLook] = useState({ wraps: true, times: false })
  const box = useRef<HTMLPreElement>(null)
  const log = useLogText(text, startByte, firstLine)
  const chosen = useChosenLine(log)
  const folding = useFolds(log)
  const blocks = useBlocks(folding.shown)
  const count = useGradually(blocks.length, blocksAtOnce)
  const drawn = blocks.slice(blocks.length - count)
  const { follows, setFollows, onScroll } = useFollowing(box, chosen.line === undefined, () => {
    if (count === blocks.length) earlier?.read?.()
  })
  const goTo = (byte: number) => {
    const line = lineAtByte(log, byte)
    if (line === undefined) {
      chosen.show(byte)
      return onJump?.(byte)
    }
    folding.show(line)
    setFollows(false)
    chosen.show(line.byte)
  }
  const search = useSearch(log, find, goTo)
  const near = useNear(box, drawn.length)
  usePlace(box, drawn[0]?.lines[0]?.byte, !follows)
  useScrollTo(box, chosen.wanted, log)
  const acts: Readonly<Record<string, () => void>> = {
    f: () => setFollows(!follows),
    w: () => setLook({ ...look, wraps: !look.wraps }),
    t: () => setLook({ ...look, times: !look.times }),
    n: () => search.step(1),
    N: () => search.step(-1),
    l: () => search.current !== undefined && chosen.choose(search.current),
  }
  const onKey = (event: KeyboardEvent) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : acts[event.key]
    if (act === undefined) return
    event.preventDefault()
    event.stopPropagation()
    act()
  }
  const onClick = ({ target }: MouseEvent) => {
    const line = (target as Element).closest<HTMLElement>('.log-line')
    const byte = Number(line?.dataset['byte'])
    if ((target as Element).closest('.log-number') !== null) chosen.choose(byte)
    else if ((target as Element).closest('.log-fold') !== null) folding.toggle(byte)
  }
  return (
    <div class="log">
      <div class="log-tools row">
        {!isEnded && (
          <Check checked={follows} onChange={setFollows}>
            Follow
          </Check>
        )}
        <Check checked={look.wraps} onChange={(wraps) => setLook({ ...look, wraps })}>
          Wrap lines
        </Check>
        {log.lines.some(({ time }) => time !== '') && (
          <Check checked={look.times} onChange={(times) => setLook({ ...look, times })}>
            Times
          </Check>
        )}
        {folding.hasGroups && (
          <Check checked={folding.areOpen} onChange={folding.openAll}>
            Unfold groups
          </Check>
        )}
        <LogSearch search={search} />
        <IconButton
          icon="download"
          label="Download"
          title="Download"
          onClick={() => downloadText(`${name}.log`, 'text/plain;charset=utf-8', text)}
        />
      </div>
      {earlier !== undefined && earlier.read === undefined && (
        <p class="muted">The beginning of the output is no longer on this page.</p>
      )}
      <pre
        ref={box}
        role="log"
        // What is added would be read aloud without an end.
        aria-live="off"
        class={`${look.wraps ? 'wraps' : ''} ${look.times ? 'has-times' : ''}`}
        tabIndex={0}
        aria-label={`${name}, ${plural(log.lines.length, 'line')}`}
        style={{ '--digits': `${String(log.lines.at(-1)?.number ?? 0).length}ch` }}
        onScroll={onScroll}
        onKeyDown={onKey}
        onClick={onClick}
      >
        <div>
          {text === '' && <span class="muted">No output yet.</span>}
          {drawn.map((block, at) => (
            <Block
              key={block.key}
              block={block}
              isRich={near.has(String(block.key)) || at >= drawn.length - 2 || block.has(chosen.line, search.current)}
              query={search.query}
              hit={block.has(search.current) ? search.current : undefined}
              chosen={block.has(chosen.line) ? chosen.line : undefined}
              folded={block.lines.flatMap(({ opens }) => (opens !== undefined && folding.isFolded(opens) ? opens.from : []))}
            />
          ))}
        </div>
      </pre>
    </div>
  )
}

function useLogText(text: string, startByte: number, firstLine: number): LogText {
  const last = useRef<LogText | undefined>(undefined)
  return useMemo(() => {
    last.current = toLogText(text, startByte, firstLine, last.current)
    return last.current
  }, [text, startByte, firstLine])
}

/** The line that the address names. */
function useChosenLine(log: LogText) {
  const { query } = useLocation()
  const change = useQueryChange()
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const named = query['line']
  const byte = named !== undefined && /^\d{1,15}$/.test(named) ? Number(named) : undefined
  const line = byte === undefined ? undefined : lineAtByte(log, byte)?.byte
  const wanted = useRef(byte)
  const choose = (chosen: number) => change({ line: chosen === line ? undefined : String(chosen) })
  const show = (shown: number) => {
    wanted.current = shown
    redraw(undefined as never)
  }
  return { line, choose, wanted, show }
}

/** A wanted line comes into view as soon as it is drawn. */
function useScrollTo(box: Box, wanted: { current: number | undefined }, log: LogText): void {
  useLayoutEffect(() => {
    const byte = wanted.current === undefined ? undefined : lineAtByte(log, wanted.current)?.byte
    const line = byte === undefined ? undefined : box.current?.querySelector(`.log-line[data-byte="${byte}"]`)
    if (line == null) return
    wanted.current = undefined
    line.scrollIntoView({ block: 'center' })
  })
}

function useFolds(log: LogText) {
  const [changed, setChanged] = useState<ReadonlyMap<number, boolean>>(new Map())
  const isFolded = ({ from, isFolded: atFirst }: LogGroup) => changed.get(from) ?? atFirst
  const groups = useMemo(() => log.lines.flatMap(({ opens }) => opens ?? []), [log])
  const folded = groups.filter(isFolded)
  const shown = useMemo(
    () => (folded.length === 0 ? log.lines : log.lines.filter((line) => !isHidden(line, isFolded))),
    [log, folded.map(({ from }) => from).join()],
  )
  return {
    shown,
    isFolded,
    hasGroups: groups.length > 0,
    areOpen: folded.length === 0,
    openAll: (isOpen: boolean) => setChanged(new Map(groups.map(({ from }) => [from, !isOpen]))),
    toggle(byte: number) {
      const group = log.lines.find((line) => line.byte === byte)?.opens
      if (group !== undefined) setChanged((before) => new Map(before).set(group.from, !isFolded(group)))
    },
    /** Opens the groups around a line. */
    show({ within }: LogLine) {
      const around: LogGroup[] = []
      for (let group = within; group !== undefined; group = group.outer) around.push(group)
      if (around.some(isFolded)) setChanged((before) => new Map([...before, ...around.map(({ from }) => [from, false] as const)]))
    },
  }
}

interface Block {
  readonly key: number
  readonly lines: readonly LogLine[]
  /** Whether one of its lines begins with one of these bytes. */
  has(...bytes: readonly (number | undefined)[]): boolean
}

/** Pieces stay the same while output is written after them. */
function useBlocks(lines: readonly LogLine[]): readonly Block[] {
  const last = useRef<ReadonlyMap<number, Block>>(new Map())
  return useMemo(() => {
    const pieces = Map.groupBy(lines, ({ byte }) => Math.floor(byte / bytesEach))
    const blocks = [...pieces].map(([key, members]): Block => {
      const former = last.current.get(key)
      const isSame = former?.lines.length === members.length && members.every((line, at) => line === former.lines[at])
      return isSame ? former : { key, lines: members, has: (...bytes) => members.some(({ byte }) => bytes.includes(byte)) }
    })
    last.current = new Map(blocks.map((block) => [block.key, block]))
    return blocks
  }, [lines])
}

/** Whether the end stays in view: until the reader goes up, and again at the end. */
function useFollowing(box: Box, atFirst: boolean, onTop: () => void) {
  const [follows, setFollows] = useState(atFirst)
  const lastTop = useRef(0)
  useEnd(box, follows)
  const onScroll = () => {
    const { current } = box
    if (current === null) return
    const { scrollTop, scrollHeight, clientHeight } = current
    const wentUp = scrollTop < lastTop.current
    lastTop.current = scrollTop
    // The end may be out of view because more was written; only the reader goes up.
    if (scrollHeight - scrollTop - clientHeight < atEndPx) setFollows(true)
    else if (wentUp) setFollows(false)
    // Earlier output that is put before the text can hide that the reader went up to the very top.
    if ((wentUp || scrollTop === 0) && scrollTop < clientHeight) onTop()
  }
  return { follows, setFollows, onScroll }
}

/** Keeps the end in view, whatever makes the text higher. */
function useEnd(box: Box, follows: boolean): void {
  useLayoutEffect(() => {
    const { current } = box
    if (!follows || current?.firstElementChild == null) return
    const laidOut = new ResizeObserver(() => {
      current.scrollTop = current.scrollHeight
    })
    laidOut.observe(current.firstElementChild)
    laidOut.observe(current)
    return () => laidOut.disconnect()
  }, [follows])
}

/** Keeps what the reader sees in its place when lines come before it. Browsers do that themselves, but not at the very top. */
function usePlace(box: Box, first: number | undefined, isWanted: boolean): void {
  const before = useRef(first)
  const top = before.current === first ? undefined : box.current?.scrollTop
  useLayoutEffect(() => {
    const { current } = box
    const former = current?.querySelector(`.log-line[data-byte="${before.current}"]`)
    before.current = first
    if (!isWanted || current === null || former == null || top === undefined) return
    const added = former.getBoundingClientRect().top - (current.firstElementChild ?? former).getBoundingClientRect().top
    current.scrollTop = top + added
  }, [first])
}

/** Pieces near the view: to draw every line of a long output would take the browser seconds. */
function useNear(box: Box, count: number): ReadonlySet<string> {
  const [near, setNear] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => {
    const { current } = box
    if (current === null) return
    const seen = new IntersectionObserver(
      (changes) =>
        setNear((before) => {
          const after = new Set(before)
          for (const { target, isIntersecting } of changes) {
            const key = (target as HTMLElement).dataset['from'] ?? ''
            if (isIntersecting) after.add(key)
            else after.delete(key)
          }
          return after
        }),
      { root: current, rootMargin: nearPx },
    )
    for (const block of current.querySelectorAll('.log-block')) seen.observe(block)
    return () => seen.disconnect()
  }, [count])
  return near
}

interface BlockProps {
  readonly block: Block
  readonly isRich: boolean
  readonly query: string
  /** First bytes of the hit that is in view, and of the line that the address names. */
  readonly hit: number | undefined
  readonly chosen: number | undefined
  /** First lines of groups that are folded. */
  readonly folded: readonly number[]
}

/** The browser lays it out when it comes near the view, and finds and copies its text all the same. */
const Block = kept(({ block: { key, lines }, isRich, query, hit, chosen, folded }: BlockProps) => (
  <div class="log-block" data-from={key} style={{ containIntrinsicBlockSize: `auto ${lines.length * lineHeight}em` }}>
    {isRich
      ? lines.map((line) => (
          <Line
            key={line.byte}
            line={line}
            query={query}
            isHit={line.byte === hit}
            isChosen={line.byte === chosen}
            isFolded={folded.includes(line.number)}
          />
        ))
      : lines.map(({ text }) => `${toPlain(text)}\n`).join('')}
  </div>
))

interface LineProps {
  readonly line: LogLine
  readonly query: string
  readonly isHit: boolean
  readonly isChosen: boolean
  readonly isFolded: boolean
}

function Line({ line: { number, byte, text, time, opens, within }, query, isHit, isChosen, isFolded }: LineProps) {
  const lengthMs = opens?.startMs === undefined || opens.endMs === undefined ? undefined : opens.endMs - opens.startMs
  const marked = <Text text={text} query={query} isHit={isHit} />
  return (
    <div class={`log-line ${within ? 'is-within' : ''}`} data-byte={byte} aria-current={isChosen || undefined}>
      <button type="button" class="log-number" tabIndex={-1} data-number={number} aria-label={`Link to line ${number}`} />
      {time !== '' && <time class="log-time">{time.slice(11, 23).replace(/Z$/, '')} </time>}
      {opens === undefined ? (
        marked
      ) : (
        <button type="button" class="log-fold" aria-expanded={!isFolded}>
          {marked}
          {lengthMs !== undefined && <span class="muted"> {formatDuration(lengthMs)}</span>}
        </button>
      )}
      {'\n'}
    </div>
  )
}

function Text({ text, query, isHit }: { text: string; query: string; isHit: boolean }) {
  return (
    <>
      {toSpans(text).map(({ text: part, style }, at) => {
        const marked = splitByHits(part, query).map((piece, place) =>
          place % 2 === 0 ? (
            piece
          ) : (
            <mark key={place} class={isHit ? 'is-current' : undefined}>
              {piece}
            </mark>
          ),
        )
        return style === undefined ? (
          marked
        ) : (
          <span key={at} style={style}>
            {marked}
          </span>
        )
      })}
    </>
  )
}

/** Output of a program: follows the end while the reader is there, can be searched, wrapped and downloaded. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { downloadText } from '../model/download.ts'
import { byteOfLine, type LogBlock, type LogText, lineAtByte, splitByHits, toLogText, toPlain } from '../model/log-blocks.ts'
import { words } from '../words.ts'
import { IconButton } from './button.tsx'
import { Check } from './check.tsx'
import { kept, useGradually } from './kept.tsx'

const atEndPx = 24
/** Pieces that are drawn before the browser paints: more than a screen full of lines. */
const blocksAtOnce = 5
/** Hits so far beyond the view are marked. */
const nearPx = '400px'
const lineHeight = 1.45

interface LogViewProps {
  readonly text: string
  readonly name: string
  /** Nothing more will be written. */
  readonly isEnded?: boolean
  /** Place of the text in the output, in characters; it falls when earlier output is put before the text. */
  readonly from?: number
  readonly earlier?: Earlier
  readonly lines?: LineChoice
}

/** Output before the text. */
interface Earlier {
  /** Undefined when it is gone, or the page has no room. */
  readonly read: (() => void) | undefined
}

/** A line that has an address: the first of its bytes, which stays the same while older output is dropped. */
interface LineChoice {
  /** Bytes of the whole output before the text. */
  readonly startByte: number
  readonly byte: number | undefined
  onChoose(byte: number): void
}

export function LogView({ text, name, isEnded = false, from = 0, earlier, lines: choice }: LogViewProps) {
  const [wraps, setWraps] = useState(true)
  const box = useRef<HTMLPreElement>(null)
  const { blocks } = useLogText(text, from)
  const count = useGradually(blocks.length, blocksAtOnce)
  const drawn = blocks.slice(blocks.length - count)
  const { follows, setFollows, onScroll } = useFollowing(box, choice?.byte === undefined, () => {
    if (count === blocks.length) earlier?.read?.()
  })
  const search = useSearch(blocks, box)
  usePlace(box, drawn[0]?.from, !follows)
  const { chosen, choose, onClick } = useChosenLine(blocks, drawn, box, choice, follows)
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const letters: Readonly<Record<string, () => void>> = {
      f: () => setFollows(!follows),
      w: () => setWraps(!wraps),
      n: () => search.step(1),
      N: () => search.step(-1),
      l: () => choose(box.current?.querySelector('mark.is-current')?.firstChild, 0),
    }
    const act = letters[event.key]
    if (act === undefined) return
    event.preventDefault()
    event.stopPropagation()
    act()
  }
  const lines = blocks.reduce((sum, block) => sum + block.lines, 0)
  return (
    <div class="log">
      <div class="log-tools row">
        {!isEnded && (
          <Check checked={follows} onChange={setFollows}>
            {words.follow}
          </Check>
        )}
        <Check checked={wraps} onChange={setWraps}>
          {words.wrap}
        </Check>
        <SearchField search={search} />
        <IconButton
          icon="download"
          label={words.download}
          title={words.download}
          onClick={() => downloadText(`${name}.log`, 'text/plain;charset=utf-8', text)}
        />
      </div>
      {earlier !== undefined && earlier.read === undefined && <p class="muted">{words.droppedOutput}</p>}
      <pre
        ref={box}
        role="log"
        // What is added would be read aloud without an end.
        aria-live="off"
        class={wraps ? 'wraps' : ''}
        tabIndex={0}
        aria-label={words.outputOf(name, lines)}
        onScroll={onScroll}
        onKeyDown={onKey}
        onClick={onClick}
      >
        <div>
          {text === '' && <span class="muted">{words.noOutput}</span>}
          {drawn.map((block) => {
            const query = search.marksIn(block) ? search.query : ''
            const current = search.current?.block === block ? search.current.at : undefined
            const line = chosen?.block === block ? chosen.at : undefined
            return <Block key={block.from} block={block} query={query} current={current} line={line} />
          })}
        </div>
      </pre>
    </div>
  )
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

/** The line that the address names, and the choice of another one by a click. */
function useChosenLine(
  blocks: readonly LogBlock[],
  drawn: readonly LogBlock[],
  box: Box,
  choice: LineChoice | undefined,
  follows: boolean,
) {
  const byte = choice?.byte
  const chosen = choice && byte !== undefined ? lineAtByte(blocks, choice.startByte, byte) : undefined
  const isDrawn = chosen !== undefined && drawn.includes(chosen.block)
  useLayoutEffect(() => {
    if (isDrawn && !follows) box.current?.querySelector('.log-line')?.scrollIntoView({ block: 'center' })
  }, [isDrawn])
  const choose = (node: Node | null | undefined, offset: number) => {
    const element = node?.parentElement?.closest<HTMLElement>('.log-block')
    const block = blocks.find(({ from }) => String(from) === element?.dataset['from'])
    if (choice === undefined || node == null || element == null || block === undefined) return
    const before = document.createRange()
    before.setStart(element, 0)
    before.setEnd(node, offset)
    choice.onChoose(byteOfLine(blocks, choice.startByte, { block, at: before.toString().split('\n').length - 1 }))
  }
  const onClick = ({ clientX, clientY }: MouseEvent) => {
    // Who selects text chooses no line.
    if (choice === undefined || getSelection()?.isCollapsed === false) return
    const place = document.caretPositionFromPoint?.(clientX, clientY)
    choose(place?.offsetNode, place?.offset ?? 0)
  }
  return { chosen, choose, onClick }
}

/** The element that scrolls. */
type Box = { readonly current: HTMLElement | null }

function useLogText(text: string, from: number): LogText {
  const last = useRef<LogText | undefined>(undefined)
  return useMemo(() => {
    last.current = toLogText(text, from, last.current)
    return last.current
  }, [text, from])
}

/** Keeps what the reader sees in its place when pieces come before it. Browsers do that themselves, but not at the very top. */
function usePlace(box: Box, first: number | undefined, isWanted: boolean): void {
  const before = useRef(first)
  const top = before.current === first ? undefined : box.current?.scrollTop
  useLayoutEffect(() => {
    const { current } = box
    const former = current?.querySelector(`.log-block[data-from="${before.current}"]`)
    before.current = first
    if (!isWanted || current === null || former == null || top === undefined) return
    const added = former.getBoundingClientRect().top - (current.firstElementChild ?? former).getBoundingClientRect().top
    current.scrollTop = top + added
  }, [first])
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

interface Search {
  readonly query: string
  readonly total: number
  /** The hit that is in view: its number, counted from 1, its piece, and its place in it. */
  readonly current: { readonly number: number; readonly block: LogBlock; readonly at: number } | undefined
  find(query: string): void
  /** To the next hit, or the one before. */
  step(by: 1 | -1): void
  marksIn(block: LogBlock): boolean
}

function useSearch(blocks: readonly LogBlock[], box: Box): Search {
  const [{ query, at }, setState] = useState({ query: '', at: 0 })
  const near = useNear(box, query !== '', blocks)
  // Output that follows is searched alone.
  const counts = useMemo(() => new WeakMap<LogBlock, number>(), [query])
  const hits = useMemo(() => {
    if (query === '') return []
    return blocks.map((block) => {
      const count = counts.get(block) ?? (splitByHits(toPlain(block.text), query).length - 1) / 2
      counts.set(block, count)
      return { block, count }
    })
  }, [blocks, query])
  const total = hits.reduce((sum, { count }) => sum + count, 0)
  const number = total === 0 ? 0 : at % total
  let before = 0
  const found = hits.find(({ count }) => {
    if (number < before + count) return true
    before += count
    return false
  })
  const current = found && { number: number + 1, block: found.block, at: number - before }
  useLayoutEffect(() => {
    if (current !== undefined) box.current?.querySelector('mark.is-current')?.scrollIntoView({ block: 'center' })
  }, [query, at])
  return {
    query,
    total,
    current,
    find: (wanted) => setState({ query: wanted, at: 0 }),
    step: (by) => total > 0 && setState({ query, at: (number + by + total) % total }),
    marksIn: (block) => block === current?.block || near.has(String(block.from)),
  }
}

/** Pieces near the view. To mark every hit of a long output would take the browser seconds. */
function useNear(box: Box, isWanted: boolean, blocks: readonly LogBlock[]): ReadonlySet<string> {
  const [near, setNear] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => {
    const { current } = box
    if (!isWanted || current === null) return
    const seen = new IntersectionObserver(
      (changes) =>
        setNear((before) => {
          const after = new Set(before)
          for (const { target, isIntersecting } of changes) {
            const from = (target as HTMLElement).dataset['from'] ?? ''
            if (isIntersecting) after.add(from)
            else after.delete(from)
          }
          return after
        }),
      { root: current, rootMargin: nearPx },
    )
    for (const block of current.querySelectorAll('.log-block')) seen.observe(block)
    return () => seen.disconnect()
  }, [isWanted, blocks.length])
  return near
}

function SearchField({ search: { query, total, current, find, step } }: { search: Search }) {
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
        aria-label={words.find}
        placeholder={words.find}
        value={query}
        onInput={(event) => find(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      <span class="muted number" role="status">
        {query !== '' && words.hitOf(current?.number ?? 0, total)}
      </span>
      {total > 1 && (
        <>
          <IconButton icon="up" label={words.previousHit} title={words.previousHit} onClick={() => step(-1)} />
          <IconButton icon="down" label={words.nextHit} title={words.nextHit} onClick={() => step(1)} />
        </>
      )}
    </>
  )
}

interface BlockProps {
  readonly block: LogBlock
  /** Empty where hits are not marked. */
  readonly query: string
  /** The hit in it that is in view. */
  readonly current: number | undefined
  /** The number of the line in it that is marked. */
  readonly line: number | undefined
}

/** The browser lays it out when it comes near the view, and finds and copies its text all the same. */
const Block = kept(({ block: { from, text, lines }, query, current, line }: BlockProps) => {
  const plain = toPlain(text)
  return (
    <div class="log-block" data-from={from} style={{ containIntrinsicBlockSize: `auto ${lines * lineHeight}em` }}>
      {line === undefined ? (
        <Hits text={plain} query={query} current={current} />
      ) : (
        <WithLine text={plain} line={line} query={query} current={current} />
      )}
    </div>
  )
})

interface HitsProps {
  readonly text: string
  readonly query: string
  readonly current: number | undefined
}

function Hits({ text, query, current }: HitsProps) {
  if (query === '') return <>{text}</>
  return (
    <>
      {splitByHits(text, query).map((part, at) =>
        at % 2 === 0 ? (
          part
        ) : (
          <mark key={at} class={(at - 1) / 2 === current ? 'is-current' : undefined}>
            {part}
          </mark>
        ),
      )}
    </>
  )
}

/** No hit goes beyond a line, so those before the marked one can be counted apart. */
function WithLine({ text, line, query, current }: HitsProps & { readonly line: number }) {
  const all = text.split('\n')
  const [before, marked = '', after] = [all.slice(0, line), all[line], all.slice(line + 1)]
  const head = before.map((one) => `${one}\n`).join('')
  const countIn = (part: string) => (query === '' ? 0 : (splitByHits(part, query).length - 1) / 2)
  const beforeMarked = countIn(head)
  const beforeRest = beforeMarked + countIn(marked)
  const from = (count: number) => (current === undefined ? undefined : current - count)
  return (
    <>
      <Hits text={head} query={query} current={current} />
      <span class="log-line" aria-current="true">
        <Hits text={marked} query={query} current={from(beforeMarked)} />
      </span>
      {after.length > 0 && <Hits text={`\n${after.join('\n')}`} query={query} current={from(beforeRest)} />}
    </>
  )
}

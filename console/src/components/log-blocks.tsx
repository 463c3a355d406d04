/** Lines of output, in pieces: those near the view with numbers, colours and marks; others are text that the browser finds. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { toPlain, toSpans } from '../model/ansi.ts'
import { type LogGroup, type LogLine, splitByHits } from '../model/log-lines.ts'
import { formatDuration } from '../model/time.ts'

/** A piece has about so many lines; where it begins in the output never changes. */
const bytesEach = 4096
const lineHeight = 1.45

interface Look {
  readonly query: string
  /** First bytes of the hit that is in view, and of the line that the address names. */
  readonly hit: number | undefined
  readonly chosen: number | undefined
  readonly choose: (byte: number) => void
  readonly isFolded: (group: LogGroup) => boolean
  readonly fold: (group: LogGroup) => void
}

export function LogBlocks({ lines, look }: { lines: readonly LogLine[]; look: Look }) {
  const blocks = useMemo(() => [...Map.groupBy(lines, ({ byte }) => Math.floor(byte / bytesEach))], [lines])
  return blocks.map(([key, members], at) => <Block key={key} lines={members} isLast={at === blocks.length - 1} look={look} />)
}

/** The browser lays it out when it comes near the view, and finds and copies its text all the same. */
function Block({ lines, isLast, look }: { lines: readonly LogLine[]; isLast: boolean; look: Look }) {
  const box = useRef<HTMLDivElement>(null)
  const [isNear, setNear] = useState(isLast)
  useEffect(() => {
    if (box.current === null) return
    const view = { root: box.current.closest('pre'), rootMargin: '400px' }
    const seen = new IntersectionObserver((changes) => setNear(changes.at(-1)?.isIntersecting === true), view)
    seen.observe(box.current)
    return () => seen.disconnect()
  }, [])
  const isRich = isNear || lines.some(({ byte }) => byte === look.hit || byte === look.chosen)
  const plain = useMemo(
    () => (isRich ? '' : lines.map(({ text }) => `${toPlain(text)}\n`).join('')),
    [isRich, lines.length, lines[0], lines.at(-1)],
  )
  return (
    <div class="log-block" ref={box} style={{ containIntrinsicBlockSize: `auto ${lines.length * lineHeight}em` }}>
      {isRich ? lines.map((line) => <Line key={line.byte} line={line} look={look} />) : plain}
    </div>
  )
}

function Line({ line: { number, byte, text, time, opens, within }, look }: { line: LogLine; look: Look }) {
  const lengthMs = opens?.startMs === undefined || opens.endMs === undefined ? undefined : opens.endMs - opens.startMs
  const mark = (hit: string, key: number) => (
    <mark key={key} class={byte === look.hit ? 'is-current' : undefined}>
      {hit}
    </mark>
  )
  const marked = toSpans(text).map((span, at) => (
    <span key={at} style={span.style}>
      {splitByHits(span.text, look.query).map((part, index) => (index % 2 === 0 ? part : mark(part, index)))}
    </span>
  ))
  return (
    <div class={`log-line ${within ? 'is-within' : ''}`} data-byte={byte} aria-current={byte === look.chosen || undefined}>
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
        <button type="button" class="log-fold" aria-expanded={!look.isFolded(opens)} onClick={() => look.fold(opens)}>
          {marked}
          {lengthMs !== undefined && <span class="muted"> {formatDuration(lengthMs)}</span>}
        </button>
      )}
      {'\n'}
    </div>
  )
}

/** Output of a program: follows the end while the reader is there, can be searched, wrapped and downloaded. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { downloadText } from '../model/download.ts'
import { plural, words } from '../words.ts'
import { Icon } from './icon.tsx'

/** As many lines are in the page, where the browser finds them; earlier ones are in the download. */
const maxLines = 20_000
/** Lines in one element: one for each line would take the browser seconds. */
const blockLines = 200
const atEndPx = 24

export function LogView({ text, name, isEnded = false }: { text: string; name: string; isEnded?: boolean }) {
  const [follows, setFollows] = useState(true)
  const [wraps, setWraps] = useState(true)
  const [query, setQuery] = useState('')
  const box = useRef<HTMLPreElement>(null)
  const lines = useMemo(() => text.replace(/\n$/, '').split('\n'), [text])
  // Blocks begin at the same lines while output is added, so that only the last one changes.
  const first = Math.ceil(Math.max(0, lines.length - maxLines) / blockLines) * blockLines
  const shown = lines.slice(first)
  const blocks = Array.from({ length: Math.ceil(shown.length / blockLines) }, (_, at) => at * blockLines)
  const hits = query === '' ? 0 : shown.filter((line) => line.toLowerCase().includes(query.toLowerCase())).length

  useLayoutEffect(() => {
    if (follows && box.current !== null) box.current.scrollTop = box.current.scrollHeight
  }, [text, follows])
  useEffect(() => {
    if (query === '') return
    box.current?.querySelector('mark')?.scrollIntoView({ block: 'center' })
  }, [query])

  const onScroll = () => {
    const { current } = box
    if (current === null) return
    const isAtEnd = current.scrollHeight - current.scrollTop - current.clientHeight < atEndPx
    if (follows !== isAtEnd) setFollows(isAtEnd)
  }
  return (
    <div class="log">
      <div class="log-tools row">
        {!isEnded && (
          <label class="check">
            <input type="checkbox" checked={follows} onChange={(event) => setFollows(event.currentTarget.checked)} />{' '}
            {words.follow}
          </label>
        )}
        <label class="check">
          <input type="checkbox" checked={wraps} onChange={(event) => setWraps(event.currentTarget.checked)} /> {words.wrap}
        </label>
        <input
          class="grow"
          type="search"
          aria-label={words.find}
          placeholder={words.find}
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
        {query !== '' && <span class="muted number">{words.hits(hits)}</span>}
        <button
          type="button"
          class="icon-button"
          aria-label={words.download}
          title={words.download}
          onClick={() => downloadText(`${name}.log`, 'text/plain;charset=utf-8', text)}
        >
          <Icon name="download" />
        </button>
      </div>
      {lines.length > maxLines && <p class="muted">{words.lastLines(shown.length, lines.length)}</p>}
      <pre
        ref={box}
        role="log"
        class={wraps ? 'wraps' : ''}
        tabIndex={0}
        aria-label={`${name}, ${plural(shown.length, 'line')}`}
        onScroll={onScroll}
      >
        {text === '' ? (
          <span class="muted">{words.noOutput}</span>
        ) : (
          blocks.map((at) => (
            <Block key={first + at} text={shown.slice(at, at + blockLines).join('\n')} query={query.toLowerCase()} />
          ))
        )}
      </pre>
    </div>
  )
}

/** @param query In lower case. */
function Block({ text, query }: { text: string; query: string }) {
  return useMemo(() => {
    const plain = text.split('\n').map(toPlain)
    const hits = query === '' ? [] : plain.map((line) => line.toLowerCase().indexOf(query))
    const isHit = hits.some((at) => at !== -1)
    return (
      <div>{isHit ? plain.map((line, index) => markHit(line, hits[index] ?? -1, query.length)) : `${plain.join('\n')}\n`}</div>
    )
  }, [text, query])
}

function markHit(line: string, at: number, length: number) {
  if (at === -1) return `${line}\n`
  return (
    <>
      {line.slice(0, at)}
      <mark>{line.slice(at, at + length)}</mark>
      {`${line.slice(at + length)}\n`}
    </>
  )
}

const styling = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g')
const controls = /(?!\t)\p{Cc}/gu

/** Colours of terminals are left out; other control characters become visible. */
function toPlain(line: string): string {
  return line
    .replace(/\r$/, '')
    .replace(styling, '')
    .replace(controls, (character) => String.fromCodePoint(0x2400 + (character.codePointAt(0) ?? 0)))
}

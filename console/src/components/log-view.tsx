/** Output of a program: follows the end while the reader is there, can be searched, wrapped and downloaded. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { plural, words } from '../words.ts'
import { Icon } from './icon.tsx'

/** As many lines are in the page, where the browser finds them; earlier ones are in the download. */
const maxLines = 20_000
const atEndPx = 24

export function LogView({ text, name, isEnded = false }: { text: string; name: string; isEnded?: boolean }) {
  const [follows, setFollows] = useState(true)
  const [wraps, setWraps] = useState(true)
  const [query, setQuery] = useState('')
  const box = useRef<HTMLPreElement>(null)
  const lines = useMemo(() => text.replace(/\n$/, '').split('\n'), [text])
  const shown = lines.slice(-maxLines)
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
        <a
          class="icon-button"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(text.slice(-1_000_000))}`}
          download={`${name}.log`}
          aria-label={words.download}
          title={words.download}
        >
          <Icon name="download" />
        </a>
      </div>
      {lines.length > maxLines && <p class="muted">{words.lastLines(maxLines, lines.length)}</p>}
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
          shown.map((line, index) => <Line key={index} text={line} query={query} />)
        )}
      </pre>
    </div>
  )
}

function Line({ text, query }: { text: string; query: string }) {
  const plain = toPlain(text)
  const at = query === '' ? -1 : plain.toLowerCase().indexOf(query.toLowerCase())
  if (at === -1) return <span class="log-line">{`${plain}\n`}</span>
  return (
    <span class="log-line">
      {plain.slice(0, at)}
      <mark>{plain.slice(at, at + query.length)}</mark>
      {`${plain.slice(at + query.length)}\n`}
    </span>
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

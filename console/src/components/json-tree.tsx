/** A JSON value as a tree that can be folded, and searched by the browser or a filter. */
import { useState } from 'preact/hooks'
import { showHidden } from '../model/names.ts'
import { plural, showing } from '../words.ts'
import { CopyButton } from './button.tsx'

/** Longer texts are folded. */
const longText = 2000
const openEntries = 30
const openDepth = 2
/** Entries of one value that are drawn at first, and more of them at each request. */
const step = 200

/** With a filter: what has the text in a name or a value, and the way to it. */
export function SearchedTree({ value, name }: { value: unknown; name: string }) {
  const [text, setText] = useState('')
  const query = text.trim().toLowerCase()
  const shown = query === '' ? value : matching(value, query)
  const label = `Filter ${name}`
  const onInput = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => setText(currentTarget.value)
  return (
    <>
      <input type="search" class="tree-filter" aria-label={label} placeholder={label} value={text} onInput={onInput} />
      {shown === undefined ? (
        <p class="quiet">Nothing has “{text}” in its name or value.</p>
      ) : (
        <JsonTree key={query} value={shown} name={name} depth={query === '' ? 0 : Number.NEGATIVE_INFINITY} />
      )}
    </>
  )
}

function matching(value: unknown, query: string): unknown {
  if (typeof value !== 'object' || value === null) return String(value).toLowerCase().includes(query) ? value : undefined
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const kept = key.toLowerCase().includes(query) ? item : matching(item, query)
    return kept === undefined ? [] : [[key, kept] as const]
  })
  // A list keeps the places of what it holds.
  return entries.length === 0 ? undefined : Object.assign(Array.isArray(value) ? [] : {}, Object.fromEntries(entries))
}

export function JsonTree({ value, name, depth = 0 }: { value: unknown; name: string; depth?: number }) {
  return (
    <div class="json">
      <Node value={value} path={name} depth={depth} />
    </div>
  )
}

interface NodeProps {
  readonly value: unknown
  readonly path: string
  readonly depth: number
}

function Node({ value, path, depth }: NodeProps) {
  const isText = typeof value === 'string'
  const [max, setMax] = useState(isText ? longText : step)
  const more = (text: string, next: number) => (
    <button type="button" class="link" onClick={() => setMax(next)}>
      {text}
    </button>
  )
  if (isText) {
    return (
      <span class="json-string">
        {showHidden(value.slice(0, max))}
        {value.length > max && more('… Show all of it', Number.POSITIVE_INFINITY)}
      </span>
    )
  }
  if (typeof value !== 'object' || value === null)
    return <span class={`json-${value === null ? 'null' : typeof value}`}>{String(value)}</span>
  const entries = Object.entries(value)
  const isList = Array.isArray(value)
  if (entries.length === 0) return <span class="muted">{isList ? '[ ]' : '{ }'}</span>
  return (
    <ul>
      {entries.slice(0, max).map(([key, item]) => (
        <li key={key}>
          <Entry name={key} value={item} path={isList ? `${path}[${key}]` : `${path}.${key}`} depth={depth} />
        </li>
      ))}
      {entries.length > max && <li>{more(`${showing(max, entries.length)} Show more`, max + step)}</li>}
    </ul>
  )
}

function Entry({ name, value, path, depth }: NodeProps & { readonly name: string }) {
  const count = typeof value === 'object' && value !== null ? Object.keys(value).length : 0
  const isOpen = depth < openDepth && count <= openEntries
  // What is folded and large is drawn once it is opened; the browser finds text in the rest.
  const [isDrawn, setDrawn] = useState(count <= openEntries)
  const key = <span class="json-key">{showHidden(name)}</span>
  if (count === 0) {
    return (
      <>
        {key} <Node value={value} path={path} depth={0} /> <CopyButton text={String(value)} label={`Copy ${path}`} />
      </>
    )
  }
  return (
    <details open={isOpen} onToggle={(event) => event.currentTarget.open && setDrawn(true)}>
      <summary>
        {key} <span class="muted">{plural(count, 'value')}</span>
      </summary>
      {isDrawn && <Node value={value} path={path} depth={depth + 1} />}
    </details>
  )
}

/** A JSON value as a tree that can be folded and searched by the browser. */
import { useState } from 'preact/hooks'
import { showHidden } from '../model/names.ts'
import { words } from '../words.ts'
import { CopyButton } from './copy-button.tsx'

/** Longer texts are folded. */
const longText = 2000
const openEntries = 30
const openDepth = 2

export function JsonTree({ value, name }: { value: unknown; name: string }) {
  return (
    <div class="json">
      <Node value={value} path={name} depth={0} />
    </div>
  )
}

function Node({ value, path, depth }: { value: unknown; path: string; depth: number }) {
  if (typeof value !== 'object' || value === null) return <Leaf value={value} />
  const entries = Object.entries(value)
  if (entries.length === 0) return <span class="muted">{Array.isArray(value) ? '[ ]' : '{ }'}</span>
  const isList = Array.isArray(value)
  return (
    <ul>
      {entries.map(([key, item]) => (
        <Entry key={key} name={key} value={item} path={isList ? `${path}[${key}]` : `${path}.${key}`} depth={depth} />
      ))}
    </ul>
  )
}

function Entry({ name, value, path, depth }: { name: string; value: unknown; path: string; depth: number }) {
  const isBranch = typeof value === 'object' && value !== null && Object.keys(value).length > 0
  if (!isBranch) {
    return (
      <li>
        <span class="json-key">{showHidden(name)}</span> <Leaf value={value} />{' '}
        <CopyButton text={String(value)} label={words.copyPath(path)} />
      </li>
    )
  }
  const count = Object.keys(value).length
  return (
    <li>
      <details open={depth < openDepth && count <= openEntries}>
        <summary>
          <span class="json-key">{showHidden(name)}</span> <span class="muted">{words.collapsed(count)}</span>
        </summary>
        <Node value={value} path={path} depth={depth + 1} />
      </details>
    </li>
  )
}

function Leaf({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false)
  if (typeof value !== 'string') return <span class={`json-${value === null ? 'null' : typeof value}`}>{String(value)}</span>
  const isLong = value.length > longText && !whole
  return (
    <span class="json-string">
      {showHidden(isLong ? value.slice(0, longText) : value)}
      {isLong && (
        <button type="button" class="link" onClick={() => setWhole(true)}>
          … {words.showLong}
        </button>
      )}
    </span>
  )
}

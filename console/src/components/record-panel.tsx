/** A panel about one thing: its facts, what else there is to say, and its whole record behind a fold. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { JsonTree } from './json-tree.tsx'
import { Panel } from './screen.tsx'
import { type Fact, KeyValue, Name } from './text.tsx'

interface RecordPanelProps {
  readonly name: string
  /** The name unless given. */
  readonly title?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly facts: readonly Fact[]
  readonly record: unknown
  readonly children?: ComponentChildren
}

export function RecordPanel({ name, title = <Name text={name} max={80} />, actions, facts, record, children }: RecordPanelProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <Panel title={title} actions={actions}>
      <div class="answer">
        <KeyValue facts={facts} />
        {children}
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Raw record</summary>
          {isOpen && <JsonTree value={record} name={name} />}
        </details>
      </div>
    </Panel>
  )
}

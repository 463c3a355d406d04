/** A panel about one thing: its facts, what else there is to say, and its whole record behind a fold. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { loadCodeEditor } from '../editor/lazy.tsx'
import { Lazy, Panel } from './screen.tsx'
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

export function RecordPanel({
  name,
  title = <Name text={name} />,
  actions,
  facts,
  record,
  children,
}: RecordPanelProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <Panel title={title} actions={actions}>
      <div class="answer">
        <KeyValue facts={facts} />
        {children}
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>Raw record</summary>
          {isOpen && <RecordText value={record} name={name} />}
        </details>
      </div>
    </Panel>
  )
}

/** JSON of the API, in the editor for text: searched, folded and copied as there. */
export function RecordText({ value, name }: { value: unknown; name: string }) {
  const text = `${JSON.stringify(value, undefined, 2)}\n`
  return <Lazy load={loadCodeEditor} props={{ text, label: `Record of ${name}` }} />
}

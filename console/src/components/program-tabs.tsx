/** The views of a program that runs somewhere, an instance or a job: its details, its output, and the whole record. */
import type { ComponentChildren } from 'preact'
import { useOutput } from '../api/output.ts'
import { describeError } from '../words.ts'
import { Button } from './button.tsx'
import { useQueryChange } from './filter-field.tsx'
import { JsonTree } from './json-tree.tsx'
import { LogView } from './log-view.tsx'
import { Panel } from './panel.tsx'
import { ErrorState, Loading } from './states.tsx'
import { Tabs } from './tabs.tsx'

const tabs = [
  { id: 'details', label: 'Details' },
  { id: 'console', label: 'Console output' },
  { id: 'raw', label: 'Raw record' },
] as const

interface Place {
  readonly account: string
  readonly region: string
  readonly id: string
  readonly provider: string | undefined
  /** One of several logs. */
  readonly container?: string
  /** Of the run before the present one. */
  readonly isPrevious?: boolean
}

interface ProgramTabsProps {
  readonly name: string
  /** The query of the address. */
  readonly query: Readonly<Record<string, string>>
  readonly place: Place
  readonly record: unknown
  readonly children: ComponentChildren
}

/** The whole record as the API has it. */
export function RawRecord({ value, name }: { value: unknown; name: string }) {
  return (
    <Panel title="Raw record">
      <JsonTree value={value} name={name} />
    </Panel>
  )
}

export function ProgramTabs({ name, query, place, record, children }: ProgramTabsProps) {
  const change = useQueryChange()
  const selected = tabs.find(({ id }) => id === query['tab'])?.id ?? 'details'
  return (
    <Tabs
      label={name}
      tabs={tabs}
      selected={selected}
      onSelect={(tab) => change({ tab: tab === 'details' ? undefined : tab, line: undefined })}
    >
      {selected === 'details' && children}
      {selected === 'console' && <ProgramOutput {...place} line={query['line']} />}
      {selected === 'raw' && <RawRecord value={record} name={name} />}
    </Tabs>
  )
}

interface OutputProps extends Place {
  /** The first byte of the line that is marked, as the address has it. */
  readonly line: string | undefined
}

/** What the program has written. */
export function ProgramOutput({ line, ...place }: OutputProps) {
  const byte = line !== undefined && /^\d+$/.test(line) ? Number(line) : undefined
  const { output, readEarlier, readAt, find } = useOutput(place, byte)
  const { text, startByte, firstLine, hasEarlier, hasLater, error } = output.value
  if (text === undefined)
    return error === undefined ? <Loading rows={8} /> : <ErrorState error={error} onRetry={() => location.reload()} />
  return (
    <>
      {error !== undefined && <p class="stale">{describeError(error).title}</p>}
      {byte !== undefined && byte < startByte && <p class="muted">The line of this address is no longer kept.</p>}
      {hasLater && (
        <p class="muted row">
          What was written later is not on this page.
          <Button small onClick={() => readAt(undefined)}>
            Go to the end
          </Button>
        </p>
      )}
      <LogView
        text={text}
        name={place.id}
        startByte={startByte}
        firstLine={firstLine}
        find={find}
        onJump={readAt}
        {...(startByte > 0 && { earlier: { read: hasEarlier ? readEarlier : undefined } })}
      />
    </>
  )
}

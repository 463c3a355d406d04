/** The views of a program that runs somewhere, an instance or a job: its details, its output, and the whole record. */
import type { ComponentChildren } from 'preact'
import { findInOutput, type OutputPlace, useOutput } from '../api/output.ts'
import { describeError } from '../words.ts'
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

interface ProgramTabsProps {
  readonly name: string
  /** The query of the address. */
  readonly query: Readonly<Record<string, string>>
  readonly place: OutputPlace
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
      {selected === 'console' && <ProgramOutput key={place.id} {...place} line={query['line']} />}
      {selected === 'raw' && <RawRecord value={record} name={name} />}
    </Tabs>
  )
}

interface OutputProps extends OutputPlace {
  /** The first byte of the line that is marked, as the address has it. */
  readonly line: string | undefined
}

/** What the program has written. */
export function ProgramOutput({ line, ...place }: OutputProps) {
  const byte = line !== undefined && /^\d+$/.test(line) ? Number(line) : undefined
  const { output, error, ...reader } = useOutput(place, byte)
  if (output === undefined)
    return error === undefined ? <Loading rows={8} /> : <ErrorState error={error} onRetry={() => location.reload()} />
  const { text, nextByte, ...part } = output
  const find = nextByte === undefined ? undefined : (query: string) => findInOutput(place, query)
  return (
    <>
      {error !== undefined && <p class="stale">{describeError(error).title}</p>}
      {byte !== undefined && byte < part.startByte && <p class="muted">The line of this address is no longer kept.</p>}
      <LogView text={text} name={place.id} part={{ ...part, ...reader, find }} />
    </>
  )
}

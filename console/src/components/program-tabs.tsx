/** The views of a program that runs somewhere, an instance or a job: its details, its output, and the whole record. */
import type { ComponentChildren } from 'preact'
import { words } from '../words.ts'
import { useQueryChange } from './filter-field.tsx'
import { JsonTree } from './json-tree.tsx'
import { Panel } from './panel.tsx'
import { ProgramOutput } from './program-output.tsx'
import { Tabs } from './tabs.tsx'

const tabs = [
  { id: 'details', label: words.details },
  { id: 'console', label: words.console },
  { id: 'raw', label: words.rawRecord },
] as const

interface ProgramTabsProps {
  readonly name: string
  /** Of the address. */
  readonly query: Readonly<Record<string, string>>
  readonly place: {
    readonly account: string
    readonly region: string
    readonly id: string
    readonly provider: string | undefined
  }
  readonly record: unknown
  readonly children: ComponentChildren
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
      {selected === 'raw' && (
        <Panel title={words.rawRecord}>
          <JsonTree value={record} name={name} />
        </Panel>
      )}
    </Tabs>
  )
}

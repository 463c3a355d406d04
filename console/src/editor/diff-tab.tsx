/** What is stored against the draft. */
import { Panel } from '../components/panel.tsx'
import { DefinitionDiff } from './definition-diff.tsx'
import type { TabProps } from './draft.ts'
import { words } from './text-words.ts'

export function DiffTab({ draft }: TabProps) {
  const stored = draft.stored.value
  return (
    <Panel title={words.diffTitle}>
      {stored === undefined && <p class="muted">{words.newPipeline}</p>}
      <DefinitionDiff before={stored?.definition ?? {}} after={draft.definition.value} />
    </Panel>
  )
}

/** What is stored against the draft. */
import { Panel } from '../components/panel.tsx'
import { DefinitionDiff } from './definition-diff.tsx'
import type { TabProps } from './draft.ts'
import { textWords } from './text-words.ts'

export function DiffTab({ draft }: TabProps) {
  const stored = draft.stored.value
  return (
    <Panel title={textWords.diffTitle}>
      {stored === undefined && <p class="muted">{textWords.newPipeline}</p>}
      <DefinitionDiff before={stored?.definition ?? {}} after={draft.definition.value} />
    </Panel>
  )
}

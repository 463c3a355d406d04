/** Graph of the stages, and the form of the selected one. */
import type { TabProps } from './draft.ts'
import { titleOfStage, toNodes } from './stages.ts'

export function GraphTab({ draft }: TabProps) {
  return (
    <ol>
      {toNodes(draft.definition.value).map(({ key, stage }) => (
        <li key={key}>{titleOfStage(stage)}</li>
      ))}
    </ol>
  )
}

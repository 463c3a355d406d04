/** Text of the draft. */
import type { TabProps } from './draft.ts'

export function TextTab({ draft }: TabProps) {
  return <pre>{JSON.stringify(draft.definition.value, null, 2)}</pre>
}

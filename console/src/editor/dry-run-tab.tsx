/** Dry run of the draft. */
import type { TabProps } from './draft.ts'

export function DryRunTab({ draft }: TabProps) {
  return <pre>{JSON.stringify(draft.definition.value, null, 2)}</pre>
}

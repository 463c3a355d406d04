/** Two versions of a definition side by side: in the difference view, before a save, in history and conflicts. */
import type { Json } from '../model/read.ts'

interface DefinitionDiffProps {
  readonly before: Json
  readonly after: Json
}

export function DefinitionDiff({ before, after }: DefinitionDiffProps) {
  return (
    <>
      <pre>{JSON.stringify(before, null, 2)}</pre>
      <pre>{JSON.stringify(after, null, 2)}</pre>
    </>
  )
}

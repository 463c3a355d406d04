/** What a task knows, for people. */
import { objectOf, textOf } from './read.ts'

/** Tasks that save a pipeline have its definition encoded: its name says more. */
export function readableVariables(variables: readonly { readonly key: string; readonly value?: unknown }[]) {
  return Object.fromEntries(
    variables.map(({ key, value }) => [key, key === 'pipeline' ? (savedPipeline(value) ?? value) : value]),
  )
}

function savedPipeline(encoded: unknown): string | undefined {
  if (typeof encoded !== 'string') return undefined
  try {
    const bytes = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0))
    const { name, application } = objectOf(JSON.parse(new TextDecoder().decode(bytes)))
    const [title, place] = [textOf(name), textOf(application)]
    return title && `The definition of ${title}${place === undefined ? '' : ` in ${place}`}`
  } catch {
    return undefined
  }
}

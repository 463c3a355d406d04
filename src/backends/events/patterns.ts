/** Tests texts of strangers against patterns of pipeline authors, within bounded time. */
import { createContext, Script } from 'node:vm'

/** A pattern that has not decided by then counts as not matching, so that no text can hold up the service. */
const maxMs = 100

const sandbox: { pattern: string; flags: string; text: string } = Object.assign(Object.create(null), {
  pattern: '',
  flags: '',
  text: '',
})
createContext(sandbox)
const evaluate = new Script('new RegExp(pattern, flags).test(text)')

/** Whether the pattern matches the whole text. An invalid pattern matches nothing. */
export function matchesWhole(pattern: string, text: string): boolean {
  if (isPlain(pattern)) return pattern === text
  const { body, flags } = toSource(pattern)
  return test(`^(?:${body})$`, flags, text)
}

/** Whether the pattern matches anywhere in the text. An invalid pattern matches nothing. */
export function occursIn(pattern: string, text: string): boolean {
  if (isPlain(pattern)) return text.includes(pattern)
  const { body, flags } = toSource(pattern)
  return test(body, flags, text)
}

/** Without characters of meaning a pattern is the text itself, as most are. */
function isPlain(pattern: string): boolean {
  return !/[\\^$.|?*+()[\]{}]/.test(pattern)
}

/** Patterns were written for Java, whose flags for the whole pattern stand at its start: `(?i)main`. */
function toSource(pattern: string): { body: string; flags: string } {
  const [prefix, flags] = /^\(\?([ims]+)\)/.exec(pattern) ?? []
  return prefix === undefined ? { body: pattern, flags: '' } : { body: pattern.slice(prefix.length), flags: flags as string }
}

function test(pattern: string, flags: string, text: string): boolean {
  Object.assign(sandbox, { pattern, flags, text })
  try {
    return evaluate.runInContext(sandbox, { timeout: maxMs }) === true
  } catch {
    return false
  }
}

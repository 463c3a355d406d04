/** Command lines for `sh -c "exec ..."`. */
import { shellWord } from '@fairlead/base/names/shell-word.ts'

const assignments = /^(?:[A-Za-z_]\w*=(?:"(?:[^"$`\\]|\$(?!\())*"|'[^']*'|[^\s"'`\\;&|<>()]*)\s+)+/

/** The line so that `exec` can take it; undefined where it is several commands. */
export function inShell(line: string): string | undefined {
  const text = line.trim().replace(/^exec\s+/, '')
  const plain = text.replaceAll(/'[^']*'|"[^"`]*"/g, '').replaceAll(/(?:>>?|<)(?:&\d)?/g, '')
  if (/[;&|`\n]|\$\(/.test(plain)) return undefined
  return assignments.test(text) ? `env ${text}` : text
}

/** The line, or a shell that runs its several commands. */
export function toExecutable(line: string): string {
  return inShell(line) ?? `sh -c ${shellWord(line.trim())}`
}

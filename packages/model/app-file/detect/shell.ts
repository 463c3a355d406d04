/** Command lines for `sh -c "exec ..."`. */
import { shellWord } from '@fairlead/base/names/shell-word.ts'

const assignments = /^(?:[A-Za-z_]\w*=(?:"(?:[^"$`\\]|\$(?!\())*"|'[^']*'|[^\s"'`\\;&|<>()]*)\s+)+/

/** The line so that `exec` can take it; undefined where it is several commands. */
export function inShell(line: string): string | undefined {
  const text = line.trim()
  if (/[;&|<>`\n]|\$\(/.test(text.replaceAll(/'[^']*'|"[^"`]*"/g, ''))) return undefined
  return assignments.test(text) ? `env ${text}` : text
}

/** The line, or a shell that runs its several commands. */
export function toExecutable(line: string): string {
  return inShell(line) ?? `sh -c ${shellWord(line.trim())}`
}

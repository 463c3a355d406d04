/** Command lines for `sh -c "exec ..."`. */

const assignments = /^(?:[A-Za-z_]\w*=(?:"[^"$`\\]*"|'[^']*'|[^\s"'$`\\;&|<>()]*)\s+)+/

/** The line so that `exec` can take it; undefined where it is several commands. */
export function inShell(line: string): string | undefined {
  const text = line.trim()
  if (/[;&|<>`\n]|\$\(/.test(text.replaceAll(/'[^']*'|"[^"`]*"/g, ''))) return undefined
  return assignments.test(text) ? `env ${text}` : text
}

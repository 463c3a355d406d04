/** Words of commands that messages show, safe to paste into a shell. */
export function shellWord(text: string): string {
  return /^(?!~)[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

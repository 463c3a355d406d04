/** The names between commas, without blanks around them and without empty ones. */
export function commaList(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

/** Names that users have given, made safe to read: nothing in them can hide, reorder or pretend. */

/** Controls, and characters that change the direction of what follows them; those that join emoji are no danger. */
const hidden = /(?!\u200d)[\p{Cc}\p{Cf}\u2028\u2029]/gu

export function showHidden(text: string): string {
  // Ends of lines are no attack, and frequent in messages.
  return text
    .trimEnd()
    .replace(/\r?\n/g, ' ↵ ')
    .replace(hidden, (character) => `\u2423${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
}

/** Beginning and end, which tell names apart. */
export function cutMiddle(text: string, max = 80): string {
  const characters = [...text]
  if (characters.length <= max) return text
  const end = Math.floor(max / 3)
  return `${characters.slice(0, max - end - 1).join('')}…${characters.slice(-end).join('')}`
}

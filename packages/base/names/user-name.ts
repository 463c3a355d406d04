/** User names: which of them Fairlead accepts, and the key under which it compares them. */

/** Longer names are no names of people, and every call to a service carries the name. */
const maxLength = 512

/** Names under which services serve requests without a user: Fairlead and Fiat, the Java framework, and Fiat's own record. */
const reserved = new Set(['anonymous', 'anonymoususer', '__unrestricted_user__'])

/** Control, format, unassigned and private characters, separators of lines, and letters that leave no ink. */
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u

/**
 * Why a name cannot be that of a user, to follow the words "the user name"; undefined when it can. Names are refused rather
 * than corrected: a provider that keeps `zoe` and `zoe` with a no-break space apart has two users.
 */
export function findNameObjection(name: string): string | undefined {
  if (name === '') return 'is empty'
  if (name.length > maxLength) return `has more than ${maxLength} characters`
  const character = findCharacterObjection(name)
  if (character !== undefined) return character
  if (name.startsWith(' ') || name.endsWith(' ')) return 'begins or ends with a blank'
  if (/ {2}|[^\S ]/.test(name))
    return 'holds several blanks in a row, or one that is no plain space'
  if (name === '.' || name === '..') return 'consists of dots'
  return reserved.has(toUserKey(name)) ? 'is reserved for requests without a user' : undefined
}

/**
 * The same for all spellings of one user. Fiat does not tell upper from lower case in user ids, so neither does anything
 * here that keeps something by user: roles, sessions, tokens, limits.
 */
export function toUserKey(name: string): string {
  return isKey.test(name) ? name : name.normalize('NFKC').toLowerCase()
}

const isKey = /^[a-z0-9._@-]+$/

/** Why a name is not told apart from another by its characters: some are invisible, or stand for others. */
export function findCharacterObjection(name: string): string | undefined {
  const hidden = unseen.exec(name)?.[0]
  if (hidden !== undefined) return `holds the character ${describe(hidden)}, which is invisible`
  return findIncompatible(name)
}

/** Names whose normal form NFKC is another: `ｂob`, the Kelvin sign, a letter with its accent apart. */
function findIncompatible(name: string): string | undefined {
  const normal = name.normalize('NFKC')
  if (normal === name) return undefined
  const character = [...name].find((one) => one.normalize('NFKC') !== one)
  return character === undefined
    ? 'is not in the normal form NFC of Unicode'
    : `holds the character ${describe(character)}, which Unicode takes for ${[...character.normalize('NFKC')].map(describe).join(' ')}`
}

function describe(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** Character classes of Java's regular expressions, as tests of a code point. */

export type CharacterTest = (code: number) => boolean

export function complement(test: CharacterTest): CharacterTest {
  return (code) => !test(code)
}

export function oneOf(tests: readonly CharacterTest[]): CharacterTest {
  const [only, ...others] = tests
  return only !== undefined && others.length === 0
    ? only
    : (code) => tests.some((test) => test(code))
}

/** Whether the test holds for the character in upper or lower case. */
export function withoutCase(test: CharacterTest, beyondAscii: boolean): CharacterTest {
  return (code) => {
    if (test(code)) return true
    if (code < 128) return isLetter(code) && test(code ^ 32)
    if (!beyondAscii) return false
    const character = String.fromCodePoint(code)
    return [character.toLowerCase(), character.toUpperCase()].some((other) =>
      test(other.codePointAt(0) ?? 0),
    )
  }
}

const between =
  (low: number, high: number): CharacterTest =>
  (code) =>
    code >= low && code <= high

const isDigit = between(48, 57)
const isUpper = between(65, 90)
const isLower = between(97, 122)
const isLetter: CharacterTest = (code) => isUpper(code & ~32) && code < 128
const isSpace: CharacterTest = (code) => code === 32 || (code >= 9 && code <= 13)
const isBlank: CharacterTest = (code) => code === 32 || code === 9
const isHex: CharacterTest = (code) => isDigit(code) || between(65, 70)(code & ~32)

/** ASCII only, as in Java. */
const isWordCharacter: CharacterTest = (code) => isLetter(code) || isDigit(code) || code === 95

const isUnicodeLetterOrDigit = oneOfSet('\\p{L}\\p{Nd}')

/** Where words end: unlike `\w`, this knows all scripts. */
export const isBoundedByWords: CharacterTest = (code) =>
  code < 128 ? isWordCharacter(code) : isUnicodeLetterOrDigit(code)

/** Ends a comment in a pattern. */
export const isLineEnd: CharacterTest = (code) => code === 10 || code === 13

export const isUnicodeLineEnd: CharacterTest = (code) =>
  code === 10 || code === 13 || code === 0x85 || code === 0x2028 || code === 0x2029

const horizontal = oneOfSet(' \\t\\xa0\\u1680\\u180e\\u2000-\\u200a\\u202f\\u205f\\u3000')
const vertical: CharacterTest = (code) => between(10, 13)(code) || isUnicodeLineEnd(code)

const shorthands: Readonly<Record<string, CharacterTest>> = {
  d: isDigit,
  s: isSpace,
  w: isWordCharacter,
  h: horizontal,
  v: vertical,
}
/** Meaning of shorthands with the flag `U`. */
const unicodeShorthands: Readonly<Record<string, CharacterTest>> = {
  d: oneOfSet('\\p{Nd}'),
  s: oneOfSet('\\p{White_Space}'),
  w: oneOfSet('\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}'),
}

/** `d` for `\d`, `D` for `\D`, …; undefined for letters that stand for no class. */
export function shorthandClass(letter: string, isUnicode: boolean): CharacterTest | undefined {
  const lower = letter.toLowerCase()
  const own =
    isUnicode && Object.hasOwn(unicodeShorthands, lower) ? unicodeShorthands[lower] : undefined
  const test = own ?? (Object.hasOwn(shorthands, lower) ? shorthands[lower] : undefined)
  return test === undefined || letter === lower ? test : complement(test)
}

/** POSIX classes, ASCII only. */
const posix: Readonly<Record<string, CharacterTest>> = {
  Lower: isLower,
  Upper: isUpper,
  ASCII: between(0, 127),
  Alpha: isLetter,
  Digit: isDigit,
  Alnum: (code) => isLetter(code) || isDigit(code),
  Punct: (code) => between(33, 126)(code) && !isLetter(code) && !isDigit(code),
  Graph: between(33, 126),
  Print: between(32, 126),
  Blank: isBlank,
  Cntrl: (code) => code < 32 || code === 127,
  XDigit: isHex,
  Space: isSpace,
}

/** What Unicode calls otherwise, and POSIX classes with the flag `U`. */
const otherNames: Readonly<Record<string, string>> = {
  Lower: 'Lowercase',
  Upper: 'Uppercase',
  Alpha: 'Alphabetic',
  Digit: 'Nd',
  Punct: 'P',
  Space: 'White_Space',
  javaLowerCase: 'Lowercase',
  javaUpperCase: 'Uppercase',
  javaAlphabetic: 'Alphabetic',
  javaLetter: 'L',
  javaDigit: 'Nd',
  javaTitleCase: 'Lt',
  javaIdeographic: 'Ideographic',
  javaMirrored: 'Bidi_Mirrored',
  javaDefined: 'Assigned',
  javaSpaceChar: 'Z',
  javaISOControl: 'Cc',
  all: 'Any',
  LETTER: 'L',
  DIGIT: 'Nd',
  PUNCTUATION: 'P',
  CONTROL: 'Cc',
  LOWERCASE: 'Lowercase',
  UPPERCASE: 'Uppercase',
  ALPHABETIC: 'Alphabetic',
  WHITE_SPACE: 'White_Space',
}

const isCased = oneOfSet('\\p{Lu}\\p{Ll}\\p{Lt}')

/**
 * `Lower`, `L`, `IsLatin`, `script=Latin`, `javaLowerCase`, …; undefined for what is not known, blocks among them.
 *
 * @param ignoresCase Classes of letters in one case have those of every case.
 * @param isUnicode POSIX classes know all scripts.
 */
export function namedClass(
  name: string,
  ignoresCase: boolean,
  isUnicode: boolean,
): CharacterTest | undefined {
  if (name === 'L1') return between(0, 255)
  if (ignoresCase && /^(?:Is|java)?(?:L[ult]|(?:Lower|Upper|Title)(?:case)?)$/i.test(name)) {
    return !isUnicode && Object.hasOwn(posix, name) ? isLetter : isCased
  }
  if (!isUnicode && Object.hasOwn(posix, name)) return posix[name]
  const property =
    /^(?:general_category|gc)=(.+)$/i.exec(name)?.[1] ?? /^Is(.+)$/.exec(name)?.[1] ?? name
  const script = /^(?:script|sc)=(.+)$/i.exec(name)?.[1]
  if (script !== undefined) return unicodeTest(`Script=${capitalized(script)}`)
  const known = [property, property.toUpperCase()].find((each) => Object.hasOwn(otherNames, each))
  return (
    unicodeTest(known === undefined ? property : (otherNames[known] as string)) ??
    (property === name ? undefined : unicodeTest(`Script=${capitalized(property)}`))
  )
}

function unicodeTest(property: string): CharacterTest | undefined {
  if (!/^[\w=]+$/.test(property)) return undefined
  try {
    return oneOfSet(`\\p{${property}}`)
  } catch {
    return undefined
  }
}

/** @param set What stands in the brackets of a regular expression of JavaScript */
function oneOfSet(set: string): CharacterTest {
  const pattern = new RegExp(`^[${set}]$`, 'u')
  return (code) => pattern.test(String.fromCodePoint(code))
}

function capitalized(name: string): string {
  return name.toLowerCase().replace(/(?:^|_)\w/g, (start) => start.toUpperCase())
}

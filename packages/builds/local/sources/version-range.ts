/** Whether a version lies within a range, as `engines` of npm, `requires-python` and files such as `.nvmrc` write ranges. */

/** @param range Such as `>=20 <23`, `^3.11`, `22.x`, `3.12`, `>=3.9,<4`; one that is not understood accepts everything */
export function isVersionWithin(version: string, range: string): boolean {
  const given = numbersOf(version)
  return range.split('||').some((part) => fitsAll(given, part))
}

type Numbers = readonly number[]

function fitsAll(given: Numbers, part: string): boolean {
  const hyphen = /^\s*v?([\d.]+)\s+-\s+v?([\d.]+)\s*$/.exec(part)
  if (hyphen !== null)
    return (
      compare(given, numbersOf(hyphen[1] ?? '')) >= 0 &&
      (compare(given, numbersOf(hyphen[2] ?? '')) <= 0 ||
        isPrefix(numbersOf(hyphen[2] ?? ''), given))
    )
  const comparators = part
    .split(/\s+/)
    .join(' ')
    .matchAll(/(>=|<=|===?|!=|~=|>|<|~>?|\^|=)? ?v?(\d+(?:\.(?:\d+|[xX*]))*)/g)
  return [...comparators].every(([, operator = '', text = '']) => fits(given, operator, text))
}

function fits(given: Numbers, operator: string, text: string): boolean {
  const wanted = numbersOf(text)
  const order = compare(given, wanted)
  switch (operator) {
    case '>=':
      return order >= 0
    case '>':
      return order > 0 && !isPrefix(wanted, given)
    case '<=':
      return order <= 0 || isPrefix(wanted, given)
    case '<':
      return order < 0
    case '!=':
      return !isPrefix(wanted, given)
    case '^': {
      const fixed = wanted.findIndex((number) => number !== 0)
      return order >= 0 && isPrefix(wanted.slice(0, Math.max(fixed, 0) + 1), given)
    }
    case '~':
    case '~>':
      return order >= 0 && isPrefix(wanted.slice(0, 2), given)
    case '~=':
      return order >= 0 && isPrefix(wanted.slice(0, -1), given)
    default:
      return isPrefix(wanted, given)
  }
}

/** Up to the first part that is no number. */
function numbersOf(text: string): Numbers {
  const parts = text.split('.')
  const end = parts.findIndex((part) => !/^\d+$/.test(part))
  return (end === -1 ? parts : parts.slice(0, end)).map(Number)
}

/** What one of them lacks counts as 0. */
function compare(one: Numbers, other: Numbers): number {
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    const difference = (one[at] ?? 0) - (other[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function isPrefix(prefix: Numbers, given: Numbers): boolean {
  return prefix.every((number, at) => given[at] === number)
}

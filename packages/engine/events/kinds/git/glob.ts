/** Patterns of paths: `*` and `?` within a name, `**` for any folders, and a folder with `/` at its end. */

/** In time proportional to the product of both lengths at most. */
export function matchesPath(glob: string, path: string): boolean {
  const names = namesOf(glob.endsWith('/') ? `${glob}**` : glob)
  return matchesStars(names, namesOf(path), (name) => name === '**', matchesName)
}

function namesOf(path: string): readonly string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

function matchesName(glob: string, name: string): boolean {
  return matchesStars(
    [...glob],
    [...name],
    (character) => character === '*',
    (one, other) => one === '?' || one === other,
  )
}

/** A star takes as few parts as possible, and one more whenever the rest does not match: the last star alone need be tried again. */
function matchesStars(
  pattern: readonly string[],
  parts: readonly string[],
  isStar: (part: string) => boolean,
  fits: (wanted: string, part: string) => boolean,
): boolean {
  let [at, position, star, taken] = [0, 0, -1, 0]
  for (let part = parts[position]; part !== undefined; part = parts[position]) {
    const wanted = pattern[at]
    if (wanted !== undefined && isStar(wanted)) {
      star = at++
      taken = position
    } else if (wanted !== undefined && fits(wanted, part)) {
      at++
      position++
    } else if (star >= 0) {
      at = star + 1
      position = ++taken
    } else return false
  }
  return pattern.slice(at).every(isStar)
}

/** Fills in `${key:default}`: keys of the configuration, environment variables, defaults, each possibly nested. */

/** Why a text cannot be filled in; the message is for the operator and quotes names, no values. */
export class PlaceholderError extends Error {
  override readonly name = 'PlaceholderError'
}

/** The raw text of a name and the name by which cycles are recognised; undefined when nothing defines it. */
export type LookUp = (name: string) => { id: string; text: string } | undefined

const maxLength = 65_536
const maxDepth = 100

export class Placeholders {
  readonly #lookUp: LookUp
  readonly #known = new Map<string, string>()

  constructor(lookUp: LookUp) {
    this.#lookUp = lookUp
  }

  /** @throws {PlaceholderError} for names that nothing defines, cycles, and what has no end. */
  fill(text: string): string {
    return this.#fill(text, [])
  }

  /** Like `fill`; placeholders that nothing defines stay, for those who fill in the rest. */
  fillTemplate(text: string): string {
    return this.#fill(text, [], true)
  }

  #fill(text: string, within: readonly string[], isTemplate = false): string {
    if (within.length > maxDepth)
      throw new PlaceholderError(`refers through more than ${maxDepth} other keys`)
    let result = ''
    let at = 0
    while (at < text.length) {
      const start = text.indexOf('${', at)
      if (start === -1) break
      if (text[start - 1] === '\\' && start - 1 >= at) {
        result += `${text.slice(at, start - 1)}\${`
        at = start + 2
        continue
      }
      const end = endOf(text, start + 2)
      if (end === undefined)
        throw new PlaceholderError(
          `has "\${" without "}"; write "\\\${" where the characters themselves are meant`,
        )
      result += text.slice(at, start) + this.#expand(text.slice(start + 2, end), within, isTemplate)
      at = end + 1
      if (result.length > maxLength)
        throw new PlaceholderError(`becomes longer than ${maxLength} characters`)
    }
    return result + text.slice(at)
  }

  #expand(inner: string, within: readonly string[], isTemplate: boolean): string {
    const colon = separatorOf(inner)
    const written = (colon === undefined ? inner : inner.slice(0, colon)).trim()
    const name = this.#fill(written, [...within, '${'])
    const found = this.#lookUp(name)
    if (found !== undefined) return this.#value(found.id, found.text, within)
    if (colon !== undefined) return this.#fill(inner.slice(colon + 1), [...within, '${'])
    if (isTemplate) return `\${${inner}}`
    throw new PlaceholderError(
      `refers to \${${written}}, which nothing defines; define it, or give a default as in \${${written}:…}`,
    )
  }

  #value(id: string, text: string, within: readonly string[]): string {
    const known = this.#known.get(id)
    if (known !== undefined) return known
    if (within.includes(id)) {
      const cycle = [...within.slice(within.indexOf(id)), id].filter((step) => step !== '${')
      throw new PlaceholderError(`refers to itself: ${cycle.join(' → ')}`)
    }
    const value = this.#fill(text, [...within, id])
    this.#known.set(id, value)
    return value
  }
}

/** The position of the brace that closes a placeholder; braces inside are counted. */
function endOf(text: string, from: number): number | undefined {
  let depth = 1
  for (let at = from; at < text.length; at++) {
    if (text[at] === '{') depth++
    else if (text[at] === '}' && --depth === 0) return at
  }
  return undefined
}

/** The first colon that is not part of a nested placeholder. */
function separatorOf(inner: string): number | undefined {
  let depth = 0
  for (let at = 0; at < inner.length; at++) {
    if (inner[at] === '{') depth++
    else if (inner[at] === '}') depth--
    else if (inner[at] === ':' && depth === 0) return at
  }
  return undefined
}

/** Active profiles, and the documents that apply to them. */

/** Active unless the configuration orders it otherwise, as in every Spinnaker service: `gate-local.yml` holds changes. */
const always = 'local'

/** The active profiles in their order, later ones win; `local` comes last unless it is named. */
export function orderProfiles(named: readonly string[], groups: ReadonlyMap<string, readonly string[]> = new Map()): string[] {
  const expanded = named.flatMap((name) => [name, ...(groups.get(name) ?? [])])
  return [...new Set([...expanded, ...(expanded.includes(always) ? [] : [always])])]
}

/**
 * Whether an expression such as `prod & !(eu | us)` holds; names separated by commas hold when one of them does.
 *
 * @throws {Error} when the expression is malformed.
 */
export function matchesProfiles(expression: string, active: readonly string[]): boolean {
  return expression.split(',').some((part) => evaluate(part, active))
}

function evaluate(expression: string, active: readonly string[]): boolean {
  const tokens = expression.match(/[()!&|]|[^()!&|\s]+/g) ?? []
  let at = 0
  const any = (): boolean => {
    let value = all()
    while (tokens[at] === '|') {
      at++
      value = all() || value
    }
    return value
  }
  const all = (): boolean => {
    let value = one()
    while (tokens[at] === '&') {
      at++
      value = one() && value
    }
    return value
  }
  const one = (): boolean => {
    const token = tokens[at++]
    if (token === '!') return !one()
    if (token === '(') {
      const value = any()
      if (tokens[at++] !== ')') throw new Error('a parenthesis is not closed')
      return value
    }
    if (token === undefined || /^[)&|]$/.test(token)) throw new Error('a profile name is missing')
    return active.includes(token)
  }
  const value = any()
  if (at < tokens.length) throw new Error(`"${tokens[at]}" is not expected`)
  return value
}

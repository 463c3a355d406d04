/** The order of promotion of environments. */

const usualOrder = [/dev|local|sandbox/i, /test|qa/i, /stag|pre|uat/i, /prod|live/i]

/** Whether two names say the same of an environment, such as prod and production. */
export function meansSame(one: string, other: string): boolean {
  return usualOrder.some((pattern) => pattern.test(one) && pattern.test(other))
}

/** @param ways Environments in the order in which versions reach them; of those that no way orders, the names say it */
export function inOrder(
  names: readonly string[],
  ways: readonly (readonly string[])[],
): readonly string[] {
  const leads = (one: string, other: string) =>
    ways.some((way) => way.includes(one) && way.indexOf(one) < way.indexOf(other))
  const rank = (name: string) => {
    const at = usualOrder.findIndex((pattern) => pattern.test(name))
    return at === -1 ? usualOrder.length - 1.5 : at
  }
  const sorted = names.toSorted((a, b) => rank(a) - rank(b) || a.localeCompare(b))
  const visited = new Set<string>()
  const visit = (name: string): readonly string[] => {
    if (visited.has(name)) return []
    visited.add(name)
    // Ways in both directions say nothing.
    const earlier = sorted.filter((one) => leads(one, name) && !leads(name, one))
    return [...earlier.flatMap(visit), name]
  }
  return sorted.flatMap(visit)
}

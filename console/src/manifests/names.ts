/** Full names of objects that have manifests: kind and name, such as `deployment web`. */

export function isFullName(name: string): boolean {
  return /^[^ ]+ [^ ]+$/.test(name)
}

/** In the spelling of the name; compare it with `isKind`. */
export function kindOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf(' ')))
}

export function bareName(name: string): string {
  return name.slice(name.indexOf(' ') + 1)
}

/** Kinds have no case. */
export function isKind(name: string, ...kinds: readonly string[]): boolean {
  const kind = kindOf(name).toLowerCase()
  return kinds.some((one) => one.toLowerCase() === kind)
}

/** Names without a kind, as records of jobs have them, get one. */
export function toFullName(kind: string, name: string): string {
  return isFullName(name) ? name : `${kind} ${name}`
}

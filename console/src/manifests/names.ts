/** Full names of objects that have manifests: kind and name, such as `deployment web`. */

export function isFullName(name: string): boolean {
  return /^[^ ]+ [^ ]+$/.test(name)
}

export function bareName(name: string): string {
  return name.slice(name.indexOf(' ') + 1)
}

/** Kinds have no case. */
export function isKind(name: string, ...kinds: readonly string[]): boolean {
  return kinds.some((kind) => name.toLowerCase().startsWith(`${kind.toLowerCase()} `))
}

/** Names without a kind, as records of jobs have them, get one. */
export function toFullName(kind: string, name: string): string {
  return isFullName(name) ? name : `${kind} ${name}`
}

/** Names of hosts as an application claims them: `shop.example`, `*.shop.example`, `shop.example/api`. */
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'

interface HostPlace {
  /** Lower case, IDNA as A-labels, without a dot at its end; `*.` in front matches one label. */
  readonly host: string
  /** Begins with a slash, and has none at its end unless it is `/`. */
  readonly path: string
}

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const maxHostLength = 253
/** Segments of unreserved characters, sub-delimiters and percent codes. */
const pathForm = /^(?:\/(?:[\w.~!$&'()*+,;=:@-]|%[\da-f]{2})+)*\/?$/i

/** @returns why the text is no host, to follow its name, such as "has a port", or its canonical form */
export function readHostPlace(text: string): HostPlace | string {
  if (text.includes('://')) return 'is an address, not the name of a host'
  const slash = text.indexOf('/')
  const host = readHost(slash === -1 ? text : text.slice(0, slash))
  if (typeof host !== 'object') return host
  const path = slash === -1 ? '/' : text.slice(slash)
  if (!pathForm.test(path) || path.split('/').some((segment) => /^\.{1,2}$/.test(segment)))
    return 'has a path that no request can have'
  return { host: host.name, path: path === '/' ? path : path.replace(/\/$/, '') }
}

/** The same without a path. */
export function readHost(text: string): { readonly name: string } | string {
  if (text === '') return 'is empty'
  if (/\s/.test(text)) return 'has a space'
  // IDNA reads a name up to these, as in an address, and decodes percent codes first.
  if (/[/?#\\%]/.test(text)) return 'has a path, a query, a fragment, a backslash or a percent code'
  const isWildcard = text.startsWith('*.')
  const given = (isWildcard ? text.slice(2) : text).replace(/\.$/, '')
  if (given.includes('*')) return 'has a star in another place than as its first label'
  if (isIP(given.replace(/^\[|\]$/g, '')) !== 0) return 'is an address of the network'
  if (/:\d*$/.test(given)) return 'has a port'
  const name = domainToASCII(given)
  const labels = name.split('.')
  if (isIP(name) !== 0) return 'is an address of the network'
  if (name.length > maxHostLength || !labels.every((each) => label.test(each)))
    return 'has characters or lengths that names of hosts cannot have'
  if (isWildcard && labels.length < 2) return 'stands for all names of a top-level domain'
  return { name: isWildcard ? `*.${name}` : name }
}

/** `*.b.c` of `a.b.c`. */
export function wildcardOf(host: string): string {
  return `*${host.slice(host.indexOf('.'))}`
}

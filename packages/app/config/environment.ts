/** Environment variables as configuration: `SERVICES_ORCA_BASEURL` is `services.orca.baseUrl`, `FIAT_ADMIN_ROLES_0_` a list element. */
import { editDistance, nearestName } from '@fairlead/base/names/edit-distance.ts'
import { isWithoutEffect, type KeyFindings, splitKey, toCanonical } from './canonical.ts'
import { findChild, isLeaf, type KnownKey, nearestKey, uniformName } from './known-keys.ts'
import type { SourcePosition } from './problems.ts'
import { notesOf } from './schema-shape.ts'
import { createMap, createScalar, type MapNode, mergeNodes, type Node } from './tree.ts'

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/** Variables that begin like this are meant for the gateway, so one that fits no key is worth a word. */
const ownPrefixes =
  /^(?:FAIRLEAD|SERVICES|SERVER|SECURITY|SPRING_SECURITY|ANONYMOUS|LDAP|SAML|X509|OKHTTPCLIENT|CORS|FIAT|AUDIT|LOGGING)_/

/** What Kubernetes and Docker set for each service of the namespace, such as `REDIS_PORT=tcp://10.0.0.7:6379`. */
const serviceLink =
  /_(?:(?:SERVICE_HOST|SERVICE_PORT|PORT|NAME)$|SERVICE_PORT_\w|PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w|$)|ENV_\w)/

/** Variables that commands read themselves. */
const ofCommands: ReadonlySet<string> = new Set(['FAIRLEAD_TOKEN', 'FAIRLEAD_URL'])

/** Scripts and images start Gate with these; each may set properties. */
const javaOptions: ReadonlySet<string> = new Set([
  'GATE_OPTS',
  'JAVA_OPTS',
  'JAVA_TOOL_OPTIONS',
  'JDK_JAVA_OPTIONS',
])

/** Letters in which a variable differs from the one that was meant. */
const mostTypos = 2

interface EnvironmentFindings extends KeyFindings {
  notices: string[]
}

/** All variables that name a setting, as one source. @param what What messages call one of them */
export function readEnvironment(
  env: EnvironmentVariables,
  known: KnownKey,
  findings: EnvironmentFindings,
  what: 'environment variable' | 'credential' = 'environment variable',
): MapNode {
  const byShortName = shortNamesOf(known)
  const unfit: string[] = []
  const ofJava = new Set<string>()
  let root: Node = createMap({ source: what })
  const names = Object.keys(env).sort()
  for (const name of names) {
    const text = env[name]
    if (text === undefined || name.startsWith('SPRING_APPLICATION_JSON')) continue
    if (javaOptions.has(name))
      for (const [, key = ''] of text.matchAll(/(?<!\S)-D([\w.-]+)/g))
        if (isTrust(key) || walk(splitKey(key), known, []) !== undefined)
          ofJava.add(
            `${isTrust(key) ? 'NODE_EXTRA_CA_CERTS' : toVariable(key)} for -D${key} of ${name}`,
          )
    const tokens = name.includes('.')
      ? splitKey(name)
      : name.split('_').filter((token) => token !== '')
    const path = byShortName.get(name) ?? walk(tokens, known, [])
    const linked = serviceLink.test(name) && /^(?:tcp|udp|sctp):\/\//.test(text)
    if (path !== undefined && !linked) {
      root = mergeNodes(root, nest(path, text, { source: `${what} ${name}` }))
      if (isWithoutEffect(placeOf(path, known))) findings.foreign.add(path.join('.'))
    } else if (!serviceLink.test(name) && !ofCommands.has(name)) {
      unfit.push(...describeUnfit(name, known))
    }
  }
  if (unfit.length > 0)
    findings.notices.push(`Ignored, as it fits no setting: ${what} ${unfit.join(', ')}.`)
  if (ofJava.size > 0)
    findings.notices.push(
      `Fairlead does not run on Java. Set environment variables instead: ${[...ofJava].join(', ')}.`,
    )
  return root as MapNode
}

const isTrust = (key: string) => key.startsWith('javax.net.ssl.trust')

/** `SPRING_APPLICATION_JSON`: a map in JSON that wins over single variables. */
export function readJsonVariable(
  env: EnvironmentVariables,
  known: KnownKey,
  findings: KeyFindings,
): MapNode | undefined {
  const text = env['SPRING_APPLICATION_JSON']
  if (text === undefined || text.trim() === '') return undefined
  const origin = { source: 'environment variable SPRING_APPLICATION_JSON' }
  try {
    const root = fromPlain(JSON.parse(text), origin)
    if (root.kind === 'map') return toCanonical(root, known, findings)
    findings.problems.push({ origin, message: 'must be a JSON object' })
  } catch {
    findings.problems.push({
      origin,
      message: 'is not valid JSON; write it like {"server": {"port": 8084}}',
    })
  }
  return undefined
}

/** A value of JavaScript as a source. Deeply nested values are refused by JSON.parse's caller as any other mistake. */
export function fromPlain(value: unknown, origin: SourcePosition): Node {
  if (Array.isArray(value))
    return { kind: 'list', items: value.map((item) => fromPlain(item, origin)), origin }
  if (typeof value === 'object' && value !== null) {
    const map = createMap(origin)
    for (const [key, child] of Object.entries(value)) {
      if (key !== '__proto__' && child !== undefined) map.entries.set(key, fromPlain(child, origin))
    }
    return map
  }
  if (typeof value === 'number' || typeof value === 'boolean')
    return { kind: 'scalar', text: String(value), value, origin }
  return value === null || value === undefined
    ? { kind: 'scalar', text: '', value: null, origin }
    : createScalar(String(value), origin)
}

function placeOf(path: readonly string[], known: KnownKey): KnownKey | undefined {
  return path.reduce<KnownKey | undefined>((at, segment) => at && findChild(at, segment), known)
}

function nest(path: readonly string[], text: string, origin: SourcePosition): Node {
  let node: Node = createScalar(text, origin)
  for (const segment of path.toReversed()) {
    const map = createMap(origin)
    map.entries.set(segment, node)
    node = map
  }
  return node
}

/** Follows the tokens down the known keys; one name may take several tokens: OK_HTTP_CLIENT, MAX_AGE. */
function walk(
  tokens: readonly string[],
  at: KnownKey,
  path: readonly string[],
): string[] | undefined {
  if (tokens.length === 0) return at.schema !== undefined ? [...path] : undefined
  for (let taken = tokens.length; taken > 0; taken--) {
    const child = at.children.get(uniformName(tokens.slice(0, taken).join('')))
    const found = child && walk(tokens.slice(taken), child, [...path, child.name])
    if (found !== undefined) return found
  }
  const first = tokens[0] as string
  if (at.item !== undefined && /^\d{1,6}$/.test(first))
    return walk(tokens.slice(1), at.item, [...path, first])
  if (at.entry === undefined)
    return at.open ? [...path, ...tokens.map((token) => token.toLowerCase())] : undefined
  if (isLeaf(at.entry)) return [...path, tokens.join('_').toLowerCase()]
  return walk(tokens.slice(1), at.entry, [...path, first.toLowerCase()])
}

const shortNames = new WeakMap<KnownKey, ReadonlyMap<string, string[]>>()

/** Variables that are named by their settings, such as FAIRLEAD_DATA_DIR, and the keys that they mean. */
function shortNamesOf(known: KnownKey): ReadonlyMap<string, string[]> {
  return shortNames.getOrInsertComputed(known, () => collectShortNames(known, new Map()))
}

function collectShortNames(known: KnownKey, names: Map<string, string[]>): Map<string, string[]> {
  const name = known.schema && notesOf(known.schema).env
  if (name !== undefined) names.set(name, known.path.split('.'))
  for (const child of known.children.values()) collectShortNames(child, names)
  return names
}

/**
 * A foreign variable cannot be told from a typing mistake with certainty, so none is an error. Beside our own prefixes, only what is
 * almost a setting is worth a word: other programs have a LOCAL_ or REDIS_ of their own.
 */
function describeUnfit(name: string, known: KnownKey): string[] {
  const isOwn = ownPrefixes.test(name)
  if (!isOwn && !isNearOwn(name, known)) return []
  const near = nearestVariable(name, known)
  if (near !== undefined && (isOwn || editDistance(near, name, mostTypos) <= mostTypos))
    return [`${name} (did you mean ${near}?)`]
  return name.startsWith('FAIRLEAD_') ? [name] : []
}

/** Whether it begins with the first name of a key, or nearly. */
function isNearOwn(name: string, known: KnownKey): boolean {
  const [first = '', ...rest] = name.split('_')
  return (
    rest.length > 0 &&
    first.length > 3 &&
    nearestName(known.children.keys(), first, 1) !== undefined
  )
}

function nearestVariable(name: string, known: KnownKey): string | undefined {
  const short = nearestName([...shortNamesOf(known).keys(), ...ofCommands], name, mostTypos)
  const near = short === undefined ? nearestKey(known, name.split('_')) : undefined
  return near === undefined ? short : toVariable(near.join('.'))
}

/** The environment form of a key: `services.orca.baseUrl` is SERVICES_ORCA_BASEURL. */
export function toVariable(path: string): string {
  return path
    .replaceAll(/[-_]/g, '')
    .replaceAll(/\[(\d+)\]/g, '_$1')
    .replaceAll('.', '_')
    .toUpperCase()
}

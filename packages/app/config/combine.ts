/** Puts files, environment and given settings together into one tree, and reports unknown keys. */

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { reasonUnreadable } from '@fairlead/base/storage/file-fault.ts'
import { z } from 'zod'
import { truthOf } from './bind.ts'
import {
  canonicalPath,
  createFindings,
  type KeyFindings,
  toCanonical,
  type UnknownKey,
} from './canonical.ts'
import {
  type EnvironmentVariables,
  fromPlain,
  readEnvironment,
  readJsonVariable,
  toVariable,
} from './environment.ts'
import { isGuarded } from './guarded-keys.ts'
import { findChild, type KnownKey, nearestKey } from './known-keys.ts'
import type { ConfigFolders } from './locations.ts'
import { type LookUp, PlaceholderError, Placeholders } from './placeholders.ts'
import { formatPath, formatProblems, type Problem, sortProblems } from './problems.ts'
import { notesOf } from './schema-shape.ts'
import { namesAt, readSources, type UnknownKeyPolicy } from './sources.ts'
import { createMap, findNode, type MapNode, mergeNodes, type Node } from './tree.ts'

export interface CombinedSources {
  root: Node
  placeholders: Placeholders
  problems: Problem[]
  notices: string[]
  sources: string[]
  profiles: string[]
  /** To be called when all placeholders are filled: a key that another one refers to is no mistake. */
  reportUnknown: (policy: UnknownKeyPolicy) => void
  /** Whether a key is in a block that is switched off, so that nothing reads it. */
  isUnused: (key: string) => boolean
}

export async function combineSources(
  known: KnownKey,
  places: ConfigFolders & { settings: Readonly<Record<string, unknown>> },
): Promise<CombinedSources> {
  const findings = { ...createFindings(), notices: [] as string[] }
  const { problems, notices } = findings
  const environment = readEnvironment(places.env, known, findings)
  const json = readJsonVariable(places.env, known, findings)
  const credentials = readEnvironment(
    loadCredentials(places.env, notices),
    known,
    findings,
    'credential',
  )
  const given = toCanonical(
    fromPlain(places.settings, { source: 'given settings' }) as MapNode,
    known,
    findings,
  )
  const surroundings = [credentials, environment, ...(json ? [json] : []), given]

  const ofEnvironment = new Placeholders((name) => lookUpEnvironment(name, places))
  const named = mergeAll(surroundings)
  const profilesNode = findNode(named, ['spring', 'profiles', 'active'])
  const chosen = namesAt(profilesNode, { placeholders: ofEnvironment, problems })
  const reading = { known, problems, notices, places, placeholders: ofEnvironment }
  const { files, documents, profiles } = await readSources(
    reading,
    chosen.length > 0 ? chosen : undefined,
  )
  const root = mergeAll([...documents.map((document) => document.root), ...surroundings])
  const referenced = new Set<string>()
  for (const { root } of documents) noteReferences(root, known, referenced)
  for (const document of documents) problems.push(...document.findings.problems)
  const placeholders = new Placeholders(lookUpIn(root, known, places, referenced))
  const isUnused = (path: readonly string[]) =>
    path.some((_, index) => index > 0 && isOff({ root, known, placeholders }, path.slice(0, index)))
  return {
    root,
    placeholders,
    // Authorities of `server.ssl` decide about certificates that a proxy passes on, too.
    isUnused: (key) => !key.startsWith('server.') && isUnused(key.split(/[.[]/)),
    problems,
    notices,
    sources: [
      ...files,
      ...(credentials.entries.size > 0 ? ['credentials of systemd'] : []),
      ...(environment.entries.size > 0 ? ['environment variables'] : []),
    ],
    profiles,
    reportUnknown: (policy) => {
      const found = [...documents, { shared: false, findings }]
      const unknown = findUnknown(found, known, referenced, notices)
      const refused = unknown.filter(
        (key) => policy === 'reject' || (policy === 'protect' && isProtected(key, isUnused)),
      )
      problems.push(...refused.map(({ problem }) => problem))
      const rest = unknown.filter((key) => !refused.includes(key)).map(({ problem }) => problem)
      notices.push(...sortProblems(rest).map((problem) => `Warning: ${formatProblems([problem])}`))
    },
  }
}

function mergeAll(layers: readonly Node[]): Node {
  return layers.reduce<Node>(
    (lower, upper) => mergeNodes(lower, upper),
    createMap({ source: 'configuration' }),
  )
}

/** Every name in a placeholder, also where it is not filled in because its value is covered or passed over. */
function noteReferences(node: Node, known: KnownKey, referenced: Set<string>): void {
  if (node.kind === 'scalar') {
    for (const [, name] of node.text.matchAll(/\$\{([^:${}]+)/g))
      referenced.add(canonicalPath((name as string).trim(), known).join('.'))
  } else {
    for (const child of node.kind === 'list' ? node.items : node.entries.values())
      noteReferences(child, known, referenced)
  }
}

function lookUpIn(
  root: Node,
  known: KnownKey,
  places: ConfigFolders,
  referenced: Set<string>,
): LookUp {
  return (name) => {
    const path = canonicalPath(name, known)
    const id = path.join('.')
    const node = findNode(root, path)
    const items = node?.kind === 'list' ? node.items : [node]
    const scalars = items.filter((item) => item?.kind === 'scalar')
    if (scalars.length < items.length) return lookUpEnvironment(name, places)
    referenced.add(id)
    return { id, text: scalars.map(({ text }) => text).join(',') }
  }
}

/** A variable by its own name or in the form that belongs to a key, and the few names that Java and Spring define. */
function lookUpEnvironment(name: string, { env, cwd, homeDir }: ConfigFolders): ReturnType<LookUp> {
  const spellings = [name, toVariable(name), name.toUpperCase().replaceAll(/[.-]/g, '_')]
  const text = spellings
    .map((one) => (Object.hasOwn(env, one) ? env[one] : undefined))
    .find((value) => value !== undefined)
  if (text !== undefined) return { id: `environment variable ${name}`, text }
  const fixed = new Map([
    ['user.home', homeDir],
    ['user.dir', cwd],
    ['spring.application.name', 'gate'],
  ]).get(name)
  return fixed === undefined ? undefined : { id: name, text: fixed }
}

interface Unknown {
  path: readonly string[]
  /** The key that was probably meant. */
  near: string[] | undefined
  shared: boolean
  problem: Problem
}

/**
 * Keys that begin with `x-` are the operator's own, as places for anchors. Below `services`, and anywhere in spinnaker.yml, which all
 * services read, a key that resembles none of ours is meant for one of the others.
 */
function findUnknown(
  found: readonly { shared: boolean; findings: KeyFindings }[],
  known: KnownKey,
  referenced: ReadonlySet<string>,
  notices: string[],
): Unknown[] {
  const unknown: Unknown[] = []
  const passedOver = new Set(found.flatMap(({ findings }) => [...findings.foreign]))
  for (const { shared, findings } of found) {
    for (const { path, depth, origin } of outermost(findings.unknown)) {
      const key = path.join('.')
      if (key.startsWith('x-')) continue
      if ([...referenced].some((used) => used === key || used.startsWith(`${key}.`))) continue
      const near = nearestKey(known, path)
      if (near === undefined && (shared || path[0] === 'services'))
        passedOver.add(formatPath(path.slice(0, depth + 1)))
      else {
        const advice =
          near === undefined ? 'remove it, or correct it' : `did you mean ${formatPath(near)}?`
        const message = `is not a known key; ${advice}`
        unknown.push({
          path,
          near,
          shared,
          problem: { origin, key: formatPath(path), message },
        })
      }
    }
  }
  if (passedOver.size > 0) {
    const named = [...passedOver].sort().map((path) => path + reasonOf(path, known))
    notices.push(`Ignored, as Fairlead does not use it: ${named.join(', ')}.`)
  }
  return unknown
}

/** What counts instead, where a key of Gate or of an installer is known. */
function reasonOf(path: string, known: KnownKey): string {
  const schema = schemaAt(path.split('.'), known)
  const { effect, description } = schema === undefined ? {} : notesOf(schema)
  return effect === 'none' && description ? ` (${description.replace(/\.$/, '')})` : ''
}

/** A block that is switched off decides nothing. In a file for all services, only a near word shows that the gateway is meant. */
function isProtected(
  { path, near, shared }: Unknown,
  isUnused: (path: readonly string[]) => boolean,
): boolean {
  if (isUnused(path) && near?.at(-1) !== 'enabled') return false
  if (shared && near?.length !== path.length) return false
  return isGuarded(path) || (near !== undefined && isGuarded(near))
}

/** Reads its flag, or that of installers for a login method, or the default. */
function isOff(
  {
    root,
    known,
    placeholders,
  }: Pick<CombinedSources, 'root' | 'placeholders'> & { known: KnownKey },
  block: readonly string[],
): boolean {
  const [flag, older] = [block, ['security', 'authn', String(block.at(-1))]].map((path) => {
    const node = findNode(root, [...path, 'enabled'])
    try {
      return node?.kind === 'scalar' ? truthOf(placeholders.fill(node.text)) : undefined
    } catch (error) {
      if (error instanceof PlaceholderError) return true
      throw error
    }
  })
  if (flag !== undefined || older) return flag === false && !older
  if (!isGuarded(block)) return false
  const schema = schemaAt([...block, 'enabled'], known)
  return (
    schema !== undefined &&
    notesOf(schema).effect !== 'none' &&
    z.safeParse(schema, undefined).data === false
  )
}

function schemaAt(path: readonly string[], known: KnownKey): KnownKey['schema'] {
  return path.reduce<KnownKey | undefined>((key, name) => key && findChild(key, name), known)
    ?.schema
}

/** One line for a whole unknown map. */
function outermost(keys: readonly UnknownKey[]): UnknownKey[] {
  const paths = new Set(keys.map((key) => key.path.join('.')))
  return keys.filter(
    (key) =>
      !key.path.some((_, index) => index > 0 && paths.has(key.path.slice(0, index).join('.'))),
  )
}

/** A file of keys: its path is the setting. */
const keyFile = { credential: 'secrets.key', setting: 'secrets.key-file' } as const

/** Contents by name, without a line break at the end; a name that fits no setting is left to references. */
function loadCredentials(
  { CREDENTIALS_DIRECTORY: directory }: EnvironmentVariables,
  notices: string[],
): EnvironmentVariables {
  const found: Record<string, string> = {}
  try {
    if (!directory || statSync(directory, { throwIfNoEntry: false }) === undefined) return found
    for (const name of readdirSync(directory)) {
      const path = join(directory, name)
      if (name === keyFile.credential) found[keyFile.setting] = path
      else if (statSync(path).isFile())
        found[name] = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
    }
  } catch (error) {
    // Where a unit runs in a container, systemd may have failed to give it any.
    notices.push(`Credentials in ${directory} are ignored: ${reasonUnreadable(error)}.`)
  }
  return found
}

/** Puts files, environment and given settings together into one tree, and reports unknown keys. */

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { editDistance } from '@fairlead/base/names/edit-distance.ts'
import { reasonUnreadable } from '@fairlead/base/storage/file-fault.ts'
import {
  canonicalPath,
  createFindings,
  type KeyFindings,
  toCanonical,
  type UnknownKey,
} from './canonical.ts'
import {
  type Environment,
  fromPlain,
  readEnvironment,
  readJsonVariable,
  toVariable,
} from './environment.ts'
import { type KnownKey, nearestKey, uniformName } from './known-keys.ts'
import type { ConfigFolders } from './locations.ts'
import { type LookUp, Placeholders } from './placeholders.ts'
import { formatPath, formatProblems, type Problem } from './problems.ts'
import { namesAt, readSources } from './sources.ts'
import { createMap, findNode, type MapNode, mergeNodes, type Node } from './tree.ts'

export interface CombinedSources {
  root: Node
  placeholders: Placeholders
  problems: Problem[]
  notices: string[]
  sources: string[]
  profiles: string[]
  /** To be called when all placeholders are filled: a key that another one refers to is no mistake. */
  reportUnknown: (tolerant: boolean) => void
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
  return {
    root,
    placeholders: new Placeholders(lookUpIn(root, known, places, referenced)),
    problems,
    notices,
    sources: [
      ...files,
      ...(credentials.entries.size > 0 ? ['credentials of systemd'] : []),
      ...(environment.entries.size > 0 ? ['environment variables'] : []),
    ],
    profiles,
    reportUnknown: (tolerant) => {
      const unknown = reportUnknown(
        [...documents, { shared: false, findings }],
        known,
        referenced,
        notices,
      )
      if (tolerant)
        notices.push(...unknown.map((problem) => `Warning: ${formatProblems([problem])}`))
      else problems.push(...unknown)
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

/** Keys that begin with `x-` are the operator's own, as places for anchors. */
function reportUnknown(
  found: readonly { shared: boolean; findings: KeyFindings }[],
  known: KnownKey,
  referenced: ReadonlySet<string>,
  notices: string[],
): Problem[] {
  const problems: Problem[] = []
  const passedOver = new Set(found.flatMap(({ findings }) => [...findings.foreign]))
  for (const { shared, findings } of found) {
    for (const key of outermost(findings.unknown)) {
      const path = key.path.join('.')
      if (path.startsWith('x-')) continue
      if ([...referenced].some((used) => used === path || used.startsWith(`${path}.`))) continue
      const other = nameOfOtherService(key, known, shared)
      if (other !== undefined) passedOver.add(other)
      else
        problems.push({
          origin: key.origin,
          key: formatPath(key.path),
          message: describeUnknown(key.path, known),
        })
    }
  }
  if (passedOver.size > 0)
    notices.push(`Ignored, as Fairlead does not use it: ${[...passedOver].sort().join(', ')}.`)
  return problems
}

/** One line for a whole unknown map. */
function outermost(keys: readonly UnknownKey[]): UnknownKey[] {
  const paths = new Set(keys.map((key) => key.path.join('.')))
  return keys.filter(
    (key) =>
      !key.path.some((_, index) => index > 0 && paths.has(key.path.slice(0, index).join('.'))),
  )
}

/**
 * Below `services`, and anywhere in spinnaker.yml, which all services read, a name that resembles none of ours is meant for one of the
 * others. @returns this part of the key
 */
function nameOfOtherService(
  { path }: UnknownKey,
  known: KnownKey,
  shared: boolean,
): string | undefined {
  const [first = '', second = ''] = path
  const services = first === 'services' ? known.children.get(first) : undefined
  if (services === undefined && !shared) return undefined
  const names = [...(services ?? known).children.keys()]
  const name = uniformName(services === undefined ? first : second)
  if (names.some((each) => editDistance(each, name) <= (each.length > 4 ? 2 : 1))) return undefined
  return services === undefined ? first : `${first}.${second}`
}

function describeUnknown(path: readonly string[], known: KnownKey): string {
  const near = nearestKey(known, path)
  return near === undefined
    ? 'is not a known key; remove it, or correct it'
    : `is not a known key; did you mean ${formatPath(near)}?`
}

/** A file of keys: its path is the setting. */
const keyFile = { credential: 'secrets.key', setting: 'secrets.key-file' } as const

/** Contents by name, without a line break at the end; a name that fits no setting is left to references. */
function loadCredentials(
  { CREDENTIALS_DIRECTORY: directory }: Environment,
  notices: string[],
): Environment {
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

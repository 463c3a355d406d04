/** Reads configuration files in order of precedence, for the active profiles. */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { commaList } from '@fairlead/base/names/comma-list.ts'
import { optionalText, texts, withoutEffect } from '@fairlead/base/settings/setting.ts'
import { reasonUnreadable } from '@fairlead/base/storage/file-fault.ts'
import { z } from 'zod'
import { createFindings, type KeyFindings, toCanonical } from './canonical.ts'
import type { EnvironmentVariables } from './environment.ts'
import type { KnownKey } from './known-keys.ts'
import {
  type ConfigFolders,
  filesAt,
  importedLocations,
  type Location,
  locationsOf,
  showName,
  unreadFiles,
} from './locations.ts'
import { PlaceholderError, type Placeholders } from './placeholders.ts'
import type { Problem } from './problems.ts'
import { readConfigTree, readProperties } from './read-properties.ts'
import { readYaml } from './read-yaml.ts'
import { findNode, type MapNode, type Node } from './tree.ts'

/** The keys that decide which files and documents count. */
export const SourceKeys = z.strictObject({
  'spring.profiles.active': z
    .array(z.string())
    .default(['local'])
    .describe('Profiles whose files and documents apply; `local` always does.'),
  'spring.profiles.include': texts.describe('Further active profiles.'),
  'spring.profiles.group': z
    .record(z.string(), z.array(z.string()))
    .default({})
    .describe('Profiles that a profile includes.'),
  'spring.config.activate.on-profile': texts.describe(
    'In a document of a file: the profiles to which it applies.',
  ),
  'spring.config.activate.on-cloud-platform': optionalText.describe(
    'In a document: `kubernetes`, if it applies to clusters only.',
  ),
  'config.unknown-keys': z
    .enum(['reject', 'protect', 'warn'])
    .default('protect')
    .meta({
      description:
        'Which unknown keys prevent the start, while the others are warnings: every one (`reject`, also by `--strict`), those that would ' +
        'decide who gets in or what is public (`protect`), or none (`warn`).',
      env: 'FAIRLEAD_UNKNOWN_KEYS',
    }),
  'spring.config.import': texts.describe(
    'Further directories and files of YAML or properties, such as `optional:file:/opt/spinnaker/config/*/`; `configtree:/run/secrets/` ' +
      'for a directory with one file for each setting.',
  ),
  'spring.application.name': withoutEffect('Is always `gate`.'),
})

export type UnknownKeyPolicy = z.infer<typeof SourceKeys>['config.unknown-keys']

interface SourceDocument {
  root: MapNode
  findings: KeyFindings
  /** The file is one of Spinnaker's that all its services read. */
  shared: boolean
}

export interface Sources {
  /** Paths for the operator: relative to the working or home directory where below it. */
  files: string[]
  /** Later files win. */
  documents: SourceDocument[]
  profiles: string[]
}

interface SourceReading {
  known: KnownKey
  problems: Problem[]
  notices: string[]
  places: ConfigFolders
  /** Knows the environment only: profiles are needed before the files are put together. */
  placeholders: Placeholders
}

/** @param named Profiles that the environment names; undefined leaves the choice to the files. */
export async function readSources(
  reading: SourceReading,
  named: readonly string[] | undefined,
): Promise<Sources> {
  const locations = locationsOf(reading.places, reading.problems, reading.notices)
  const cache = new Map<string, SourceDocument[]>()
  const read = async (file: string, isTree = false): Promise<SourceDocument[]> => {
    const documents = cache.get(file) ?? (await readFile(file, isTree, reading))
    cache.set(file, documents)
    return documents
  }
  for (const file of locations.flatMap((location) => filesAt(location, undefined))) await read(file)
  const profiles = chooseProfiles([...cache.values()].flat(), named, reading)

  const files: string[] = []
  const paths: string[] = []
  const all: SourceDocument[] = []
  const imported = new Set<string>()
  const readAt = async (location: Location): Promise<void> => {
    for (const file of [undefined, ...profiles].flatMap((profile) => filesAt(location, profile))) {
      const documents = (await read(file, location.isTree)).filter(({ root }) =>
        applies(root, profiles, reading),
      )
      paths.push(file)
      files.push(showName(file, reading.places))
      all.push(...documents)
      // An import wins over the file that names it, and yields to those that follow.
      for (const next of documents.flatMap(({ root }) => findImports(root, file, reading))) {
        if (imported.has(next.path)) continue
        imported.add(next.path)
        await readAt(next)
      }
    }
  }
  for (const location of locations) await readAt(location)
  for (const [reason, advice, unread] of unreadFiles(locations, paths)) {
    const shown = unread.map((file) => showName(file, reading.places)).join(', ')
    if (shown !== '') reading.notices.push(`Not read, as they ${reason}: ${shown}. ${advice}`)
  }
  return { files, documents: all, profiles }
}

async function readFile(
  file: string,
  isTree: boolean,
  { known, problems, places }: SourceReading,
): Promise<SourceDocument[]> {
  const source = showName(file, places)
  let read: Awaited<ReturnType<typeof readDocuments>>
  try {
    read = isTree ? readConfigTree(source, file) : await readDocuments(file, source)
  } catch (error) {
    problems.push({ origin: { source }, message: reasonUnreadable(error) })
    return []
  }
  problems.push(...read.problems)
  const shared = /^spinnaker(?:-.*)?\.ya?ml$/s.test(basename(file))
  return read.documents.flatMap((document) => {
    const message = describeOtherForm(document)
    if (message !== undefined) {
      problems.push({ origin: document.origin, message })
      return []
    }
    const findings = createFindings()
    return [{ root: toCanonical(document, known, findings), findings, shared }]
  })
}

/** What contains settings in another form, and where they are to be found; undefined for settings. */
function describeOtherForm({ entries }: MapNode): string | undefined {
  if (entries.has('deploymentConfigurations'))
    return 'is the configuration of Halyard, not of a service; name the files that Halyard generates of it, gate.yml and spinnaker.yml'
  const kind = entries.get('kind')
  if (!entries.has('apiVersion') || kind?.kind !== 'scalar') return undefined
  const place =
    kind.text === 'SpinnakerService'
      ? 'the profiles of spec.spinnakerConfig: gate into gate-local.yml, spinnaker into spinnaker-local.yml'
      : 'the settings in it into gate.yml or spinnaker.yml'
  return `is a manifest of Kubernetes (${kind.text}), not settings; copy ${place}`
}

/** @throws what reading the file throws */
async function readDocuments(
  file: string,
  source: string,
): Promise<{ documents: MapNode[]; problems: Problem[] }> {
  const bytes = readFileSync(file)
  if (file.endsWith('.properties')) return readProperties(source, bytes)
  // In the bundle, a CommonJS package that is imported late has its default export only.
  const { default: yaml } = await import('yaml')
  return readYaml(yaml, source, bytes)
}

/** Names in the environment override those in files; `include` and groups of documents for all profiles are added. */
function chooseProfiles(
  documents: readonly SourceDocument[],
  named: readonly string[] | undefined,
  reading: SourceReading,
): string[] {
  let active: readonly string[] = []
  const included: string[] = []
  const groups = new Map<string, readonly string[]>()
  for (const { root } of documents) {
    if (conditionOf(root) !== undefined) continue
    const chosen = namesAt(findNode(root, ['spring', 'profiles', 'active']), reading)
    if (chosen.length > 0) active = chosen
    included.push(...namesAt(findNode(root, ['spring', 'profiles', 'include']), reading))
    const group = findNode(root, ['spring', 'profiles', 'group'])
    if (group?.kind === 'map')
      for (const [name, node] of group.entries) groups.set(name, namesAt(node, reading))
  }
  return orderProfiles([...included, ...(named ?? active)], groups)
}

/** Profile names in a text or a list. */
export function namesAt(
  node: Node | undefined,
  { placeholders, problems }: Pick<SourceReading, 'placeholders' | 'problems'>,
): string[] {
  if (node === undefined || node.kind === 'map') return []
  if (node.kind === 'list')
    return node.items.flatMap((item) => namesAt(item, { placeholders, problems }))
  try {
    return commaList(placeholders.fill(node.text))
  } catch (error) {
    if (!(error instanceof PlaceholderError)) throw error
    problems.push({
      origin: node.origin,
      key: 'spring.profiles',
      message: `${error.message} (only environment variables count here)`,
    })
    return []
  }
}

/** The node with the condition of a document for some profiles, in the current or the older spelling. */
function conditionOf(root: MapNode): Node | undefined {
  const current = findNode(root, ['spring', 'config', 'activate', 'on-profile'])
  if (current !== undefined) return current
  const older = findNode(root, ['spring', 'profiles'])
  return older?.kind === 'map' ? undefined : older
}

function applies(root: MapNode, profiles: readonly string[], reading: SourceReading): boolean {
  const platform = findNode(root, ['spring', 'config', 'activate', 'on-cloud-platform'])
  if (platform?.kind === 'scalar' && !isPlatform(platform.text, reading.places.env)) return false
  const condition = conditionOf(root)
  if (condition === undefined || condition.kind === 'map') return true
  const expressions = condition.kind === 'list' ? condition.items : [condition]
  return expressions.some((expression) => {
    try {
      return expression.kind === 'scalar' && matchesProfiles(expression.text, profiles)
    } catch (error) {
      const message = `is not a profile expression such as "prod & !eu": ${(error as Error).message}`
      reading.problems.push({
        origin: expression.origin,
        key: 'spring.config.activate.on-profile',
        message,
      })
      return false
    }
  })
}

function isPlatform(name: string, env: EnvironmentVariables): boolean {
  return name.toLowerCase() === 'kubernetes' && env['KUBERNETES_SERVICE_HOST'] !== undefined
}

/** An import that is not read would change the configuration by silence, unless its writer called it optional. */
function findImports(
  root: MapNode,
  file: string,
  { placeholders, problems, notices, places: { cwd } }: SourceReading,
): Location[] {
  const node = findNode(root, ['spring', 'config', 'import'])
  const imports = node?.kind === 'list' ? node.items : node === undefined ? [] : [node]
  const key = 'spring.config.import'
  return imports.flatMap((item) => {
    if (item.kind !== 'scalar') return []
    return namesAt(item, { placeholders, problems }).flatMap((text) => {
      const { found, optional } = importedLocations(text, { file, cwd }, problems, notices)
      if (found !== undefined) return found
      if (optional)
        notices.push(`${key}: ${text} is neither a directory nor a YAML file and is ignored.`)
      else
        problems.push({
          origin: item.origin,
          key,
          message: `${text} is neither a directory nor a YAML file; write its settings here`,
        })
      return []
    })
  })
}

/** Active unless the configuration orders it otherwise, as in every Spinnaker service: `gate-local.yml` holds changes. */
const always = 'local'

/** The active profiles in their order, later ones win; `local` comes last unless it is named. */
function orderProfiles(
  named: readonly string[],
  groups: ReadonlyMap<string, readonly string[]> = new Map(),
): string[] {
  const expanded = named.flatMap((name) => [name, ...(groups.get(name) ?? [])])
  return [...new Set([...expanded, ...(expanded.includes(always) ? [] : [always])])]
}

/**
 * Whether an expression such as `prod & !(eu | us)` holds; names separated by commas hold when one of them does.
 *
 * @throws {Error} when the expression is malformed.
 */
function matchesProfiles(expression: string, active: readonly string[]): boolean {
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

/** Locations of configuration files, in order of precedence. */
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, extname, isAbsolute, join, relative, resolve } from 'node:path'
import { reasonUnreadable } from '@fairlead/base/storage/file-fault.ts'
import type { EnvironmentVariables } from './environment.ts'
import type { Problem } from './problems.ts'

export interface ConfigFolders {
  cwd: string
  homeDir: string | undefined
  systemDir: string
  env: EnvironmentVariables
  /** `--config`, each a file or a directory. */
  files: readonly string[]
}

/** A directory, and which names count there; or one file. */
export interface Location {
  path: string
  names: readonly string[]
  required: boolean
  /** Empty for the usual places. */
  from: string
  /** HOME may be left from another user, whose files are none of ours. */
  isHome?: boolean
  /** A directory whose files are settings: `configtree:`. */
  isTree?: boolean
}

const names = ['spinnaker', 'gate', 'fairlead']

/** In the order of precedence; later ones win. */
export function locationsOf(
  places: ConfigFolders,
  problems: Problem[],
  notices: string[],
): Location[] {
  const { cwd, homeDir, systemDir, env, files } = places
  const standard: Location[] = [
    { path: join(cwd, 'config'), names, required: false, from: '' },
    { path: cwd, names: ['fairlead'], required: false, from: '' },
    ...(homeDir === undefined
      ? []
      : [{ path: join(homeDir, '.spinnaker'), names, required: false, from: '', isHome: true }]),
    { path: systemDir, names, required: false, from: '' },
  ]
  const replacing = env['SPRING_CONFIG_LOCATION']
  const further = env['SPRING_CONFIG_ADDITIONAL_LOCATION']
  const all = [
    ...(replacing ? parseLocations(replacing, 'SPRING_CONFIG_LOCATION', cwd, notices) : standard),
    ...(further ? parseLocations(further, 'SPRING_CONFIG_ADDITIONAL_LOCATION', cwd, notices) : []),
    ...files.map((file) => ({ path: resolve(cwd, file), names, required: true, from: '--config' })),
  ]
  const last = new Map(all.map((location, index) => [location.path, index]))
  return all.filter(
    (location, index) =>
      last.get(location.path) === index && isPresent(location, problems, notices),
  )
}

function parseLocations(
  text: string,
  variable: string,
  cwd: string,
  notices: string[],
): Location[] {
  return text.split(/[,;]/).flatMap((part): Location[] => {
    const target = parseTarget(part)
    if (target.path === '') return []
    if (target.isElsewhere || target.isTree) {
      notices.push(`${variable}: ${target.path} is neither a directory nor a file and is ignored.`)
      return []
    }
    return expand(resolve(cwd, target.path)).map((path) => ({
      path,
      names,
      required: !target.optional,
      from: variable,
    }))
  })
}

/** Takes `optional:file:/opt/config` apart; a scheme such as `configserver:` names a place elsewhere. */
function parseTarget(text: string): {
  path: string
  optional: boolean
  isElsewhere: boolean
  isTree: boolean
} {
  const optional = text.trim().startsWith('optional:')
  const target = text.trim().replace(/^optional:/, '')
  const isTree = target.startsWith('configtree:')
  const path = target.replace(/^configtree:/, '').replace(/^file:(?:\/\/)?/, '')
  return { path, optional, isElsewhere: /^[a-z]{2,}:/.test(path), isTree }
}

/** A last `*` matches every directory there, in the order of their names. */
function expand(path: string): string[] {
  if (basename(path) !== '*') return [path]
  const parent = dirname(path)
  if (!isDirectory(parent)) return []
  return readdirSync(parent)
    .sort()
    .map((name) => join(parent, name))
    .filter((child) => !basename(child).startsWith('..') && isDirectory(child))
}

/**
 * The places that an entry of `spring.config.import` names. As in Spring, `file:` without a leading slash begins at the working
 * directory, other relative paths at the file with the entry.
 *
 * @returns undefined for what is neither a directory nor a file
 */
export function importedLocations(
  text: string,
  { file, cwd }: { file: string; cwd: string },
  problems: Problem[],
  notices: string[],
): { found: Location[] | undefined; optional: boolean } {
  const { path, optional, isElsewhere, isTree } = parseTarget(text)
  if (isElsewhere || path.endsWith('[.properties]')) return { found: undefined, optional }
  const target = resolve(
    text.includes('file:') ? cwd : dirname(file),
    path.replace(/\[\.ya?ml\]$/, ''),
  )
  const all = expand(target).map((each) => ({
    path: each,
    names,
    required: !optional,
    from: 'spring.config.import',
    isTree,
  }))
  return { found: all.filter((location) => isPresent(location, problems, notices)), optional }
}

function isPresent(
  { path, required, from, isHome, isTree }: Location,
  problems: Problem[],
  notices: string[],
): boolean {
  const isNamed = from !== ''
  try {
    if (isDirectory(path)) accessSync(path, constants.R_OK | constants.X_OK)
    else if (!isNamed || isTree || !existsSync(path)) throw new Error('absent')
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = code === undefined ? 'does not exist; correct the path' : reasonUnreadable(error)
    if (isHome && code !== undefined)
      notices.push(`The directory ${path} is ignored: this user may not read it (${code}).`)
    else if (required || code !== undefined) {
      problems.push(
        isNamed
          ? { origin: { source: from }, message: `${path} ${reason}` }
          : { origin: { source: path }, message: reason },
      )
    }
    return false
  }
}

const endings = ['yml', 'yaml', 'properties']
const ofOthers =
  /^(?:clouddriver|echo|fiat|front50|igor|kayenta|keel|orca|rosco)(?:-[^/]*)?\.(?:ya?ml|properties)$/
const ofInstallers = /^(?:halconfig|kustomization|spinnaker-?service|values)\.ya?ml$/i
const ofSpring = /^application(?:-[^/]*)?\.(?:ya?ml|properties)$/

/** Files beside those of the gateway that look as if they had an effect, by the reason why they have none. */
export function unreadFiles(
  locations: readonly Location[],
  read: readonly string[],
): readonly [reason: string, advice: string, files: readonly string[]][] {
  const all = locations.flatMap(({ path, isTree, names: own }) =>
    isTree || !isDirectory(path)
      ? []
      : readdirSync(path)
          .sort()
          .map((name) => ({ name, own, file: join(path, name) })),
  )
  const where = (matches: (name: string, own: readonly string[]) => boolean) =>
    all.filter(({ name, own }) => matches(name, own)).map(({ file }) => file)
  const ofProfiles = where((name, own) =>
    own.some((each) => name.startsWith(`${each}-`) && endings.includes(extname(name).slice(1))),
  )
  return [
    [
      'belong to other services',
      'Accounts for embedded back ends belong into fairlead.yml.',
      where((name) => ofOthers.test(name)),
    ],
    [
      'are for an installer',
      'Settings belong into gate.yml or fairlead.yml.',
      where((name) => ofInstallers.test(name)),
    ],
    [
      'have the name of Spring, under which Gate reads nothing',
      'Settings belong into gate.yml or fairlead.yml.',
      where((name, own) => !own.includes('application') && ofSpring.test(name)),
    ],
    [
      'are neither YAML nor properties',
      'JSON is YAML: rename such a file to .yml.',
      where((name, own) =>
        own.some(
          (each) =>
            name.startsWith(each) &&
            /^(?:-[^/]*)?\.(?:json|toml|env)$/.test(name.slice(each.length)),
        ),
      ),
    ],
    [
      'are for profiles that are not active',
      'SPRING_PROFILES_ACTIVE names profiles.',
      ofProfiles.filter((file) => !read.includes(file)),
    ],
  ]
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** The files of a location for one profile, or those for all. A file that is named itself counts as one for all. */
export function filesAt({ path, names, isTree }: Location, profile: string | undefined): string[] {
  if (isTree || !isDirectory(path)) return profile === undefined ? [path] : []
  if (profile !== undefined && !/^[\w.@+-]+$/.test(profile)) return []
  const suffix = profile === undefined ? '' : `-${profile}`
  return names
    .flatMap((name) => endings.map((ending) => join(path, `${name}${suffix}.${ending}`)))
    .filter((file) => existsSync(file))
}

/** Relative to the working directory or the home directory where the file is below it. */
export function showName(file: string, { cwd, homeDir }: ConfigFolders): string {
  const near = relative(cwd, file)
  if (!near.startsWith('..') && !isAbsolute(near)) return near
  if (homeDir === undefined) return file
  const home = relative(homeDir, file)
  return home.startsWith('..') || isAbsolute(home) ? file : join('~', home)
}

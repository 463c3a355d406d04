/** The sandbox by bubblewrap. */
import { readFileSync } from 'node:fs'
import { boundedCommand, type Confinement, coversOfProc, placesOf } from './confinement.ts'

/** What this bubblewrap and this kernel can. */
export interface BubblewrapFeatures {
  readonly path: string
  /** Sizes of file systems in memory. */
  readonly sizes: boolean
  readonly disablesNamespaces: boolean
  /** Containers often forbid a `/proc` of its own; there the program has none. */
  readonly proc: boolean
  readonly countsProcesses: boolean
}

/** What root is called inside; others keep their name, which SSH and Git look up. */
const nobody = 65534
/** A unit may give its processes a right, such as for low ports, with which bubblewrap does not start. */
const withoutRights = hasAmbientRights()
  ? ['setpriv', '--ambient-caps=-all', '--inh-caps=-all']
  : []
const temporaryBytes = 64 * 1024 * 1024

export function wrapInBubblewrap(
  { path, sizes, disablesNamespaces, proc, countsProcesses }: BubblewrapFeatures,
  [program = '', ...args]: readonly string[],
  confinement: Confinement,
): string[] {
  const { links, readOnly, writable } = placesOf(program, confinement)
  const { folder, network, nests = false, processes, ...bounds } = confinement
  const { uid = nobody, gid = nobody } = confinement.user ?? {
    uid: process.geteuid?.(),
    gid: process.getegid?.(),
  }
  const memory = (place: string) => [
    ...(sizes ? ['--size', String(temporaryBytes)] : []),
    '--tmpfs',
    place,
  ]
  return [
    ...[
      ...withoutRights,
      path,
      '--unshare-user',
      '--unshare-all',
      ...(network === 'host' ? ['--share-net'] : []),
    ],
    ...[
      '--die-with-parent',
      '--new-session',
      '--uid',
      String(uid || nobody),
      '--gid',
      String(gid || nobody),
      '--cap-drop',
      'ALL',
    ],
    ...(disablesNamespaces && !nests ? ['--disable-userns'] : []),
    ...(proc ? procArgs(confinement) : ['--dir', '/proc']),
    ...['--dev', '/dev', ...memory('/tmp'), ...memory('/dev/shm')],
    ...links.flatMap(([link, target]) => ['--symlink', target, link]),
    ...readOnly.flatMap(([place, source]) => ['--ro-bind', source, place]),
    ...writable.flatMap((place) => ['--bind', place, place]),
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', folder, '--'],
    ...boundedCommand(
      [program, ...args],
      countsProcesses ? { ...bounds, ...(processes && { processes }) } : bounds,
    ),
  ]
}

function procArgs(confinement: Confinement): string[] {
  const { folders, files } = coversOfProc(confinement)
  const covers = folders.flatMap((place) => ['--tmpfs', place, '--remount-ro', place])
  const empty = files.flatMap((place) => ['--ro-bind', '/dev/null', place])
  return ['--proc', '/proc', ...covers, ...empty, '--ro-bind', '/proc/sys', '/proc/sys']
}

function hasAmbientRights(): boolean {
  if (process.platform !== 'linux') return false
  return !/^CapAmb:\s+0+$/m.test(readFileSync('/proc/self/status', 'utf8'))
}

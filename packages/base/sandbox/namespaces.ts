/** The sandbox by the kernel's namespaces alone: `unshare` and `setpriv` of util-linux, and a script that builds its file system. */
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { shellWord } from '../names/shell-word.ts'
import { boundedCommand, type Confinement, coversOfProc, placesOf } from './confinement.ts'

/** An empty folder, over which each sandbox puts its root, where nobody else sees it. */
const root = join(tmpdir(), `fairlead-sandbox-${process.geteuid?.()}`)

export function wrapInNamespaces(
  [program = '', ...args]: readonly string[],
  confinement: Confinement,
  { countsProcesses }: { readonly countsProcesses: boolean },
): string[] {
  // Whoever cleans the temporary folder may have removed it.
  mkdirSync(root, { recursive: true, mode: 0o700 })
  const { processes, ...bounds } = confinement
  const kinds = ['--user', '--map-root-user', '--mount', '--pid', '--ipc', '--uts']
  return [
    ...['setpriv', '--pdeathsig', 'KILL'],
    ...[
      'unshare',
      ...kinds,
      ...(confinement.network === 'none' ? ['--net'] : []),
      '--fork',
      '--kill-child',
    ],
    ...['sh', '-ec', buildRoot(program, confinement), 'sh'],
    ...[
      'setsid',
      'setpriv',
      '--no-new-privs',
      '--bounding-set=-all',
      '--inh-caps=-all',
      '--ambient-caps=-all',
    ],
    ...boundedCommand(
      [program, ...args],
      countsProcesses ? { ...bounds, ...(processes && { processes }) } : bounds,
    ),
  ]
}

/** What the mounts of a machine usually have. */
const lockFlags = ['ro', 'ro,nosuid,nodev', 'ro,nosuid,nodev,noexec']

/** After it, nothing of the former file system is within reach, and the program has no right to bring it back. */
function buildRoot(program: string, confinement: Confinement): string {
  const { links, readOnly, writable } = placesOf(program, confinement)
  const proc = coversOfProc(confinement)
  const at = (path: string) => shellWord(root + path)
  const memory = (path: string, options: string) => [
    `mkdir -p ${at(path)}`,
    `mount -t tmpfs -o ${options} none ${at(path)}`,
  ]
  // The process that starts it may see more than this one, and later: the working folder of a job is made with it.
  const bind = (source: string, path: string) => [
    `if [ -d ${shellWord(source)} ]; then mkdir -p ${at(path)}; else mkdir -p ${at(dirname(path))}; : >>${at(path)}; fi`,
    `mount --rbind ${shellWord(source)} ${at(path)}`,
  ]
  // Flags that the former mount had must stay.
  const lock = (path: string) =>
    lockFlags.map((flags) => `mount -o remount,bind,${flags} ${at(path)} 2>/dev/null`).join(' || ')
  const lines = [
    `mkdir -p ${shellWord(root)} 2>/dev/null || :`,
    `mount -t tmpfs -o mode=755,size=4m none ${shellWord(root)}`,
    ...memory('/tmp', 'mode=1777,size=64m'),
    ...memory('/dev', 'mode=755,size=64k'),
    ...memory('/dev/shm', 'mode=1777,size=64m'),
    ...['null', 'zero', 'full', 'random', 'urandom'].flatMap((name) =>
      bind(`/dev/${name}`, `/dev/${name}`),
    ),
    ...[
      ['fd', 'fd'],
      ['stdin', 'fd/0'],
      ['stdout', 'fd/1'],
      ['stderr', 'fd/2'],
    ].map(([name, target]) => `ln -s /proc/self/${target} ${at(`/dev/${name}`)}`),
    `mkdir ${at('/proc')} ${at('/former')}`,
    `mount -t proc proc ${at('/proc')}`,
    ...proc.folders.flatMap((path) => [`mount -t tmpfs -o ro,size=4k none ${at(path)}`]),
    ...proc.files.map((path) => `mount --bind ${at('/dev/null')} ${at(path)}`),
    `mount --bind ${at('/proc/sys')} ${at('/proc/sys')}; ${lock('/proc/sys')}`,
    ...links.map(([link, target]) => `ln -s ${shellWord(target)} ${at(link)}`),
    ...readOnly.flatMap(([path, source]) => [...bind(source, path), lock(path)]),
    ...writable.flatMap((path) => bind(path, path)),
    lock('/dev'),
    lock(''),
    `cd ${shellWord(root)}`,
    'pivot_root . former',
    'umount -l /former',
    `cd ${shellWord(confinement.folder)}`,
    'exec "$@"',
  ]
  return lines.join('\n')
}

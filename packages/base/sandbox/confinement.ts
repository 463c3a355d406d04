/** What a program in the sandbox sees and may use. */
import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync, type Stats } from 'node:fs'
import { join } from 'node:path'

export interface Confinement {
  /** Absolute path of its working directory, the only place that it may write, besides a small `/tmp`. */
  readonly folder: string
  /** Further absolute paths of files and folders, where they exist: what it may read, and what it may write. */
  readonly readOnly?: readonly string[]
  readonly writable?: readonly string[]
  /** `none` leaves not even loopback of this machine; `host` is all that this machine reaches. */
  readonly network: 'none' | 'host'
  /** For each of its processes; who runs it bounds their sum. */
  readonly memoryBytes?: number
  /** Processes and threads; for root, `root-group.ts` bounds those of all sandboxes together. */
  readonly processes?: number
  /** Largest file. */
  readonly fileBytes?: number
  /** It makes namespaces of its own, as builders of containers do. */
  readonly nests?: boolean
  /** Who starts the command, where that is another user than this process has. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

/** What programs of this machine consist of, and what they need of its configuration: no keys, and nobody's data. */
const systemFolders = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/nix/store',
  '/gnu/store',
]
const etc = [
  ...[
    'ld.so.cache',
    'ld.so.conf',
    'ld.so.conf.d',
    'alternatives',
    'localtime',
    'passwd',
    'group',
    'nsswitch.conf',
    'hosts',
  ],
  ...[
    'host.conf',
    'gai.conf',
    'resolv.conf',
    'services',
    'protocols',
    'mime.types',
    'ssl/certs',
    'ssl/cert.pem',
  ],
  ...[
    'ssl/openssl.cnf',
    'ca-certificates',
    'ca-certificates.conf',
    'pki/tls/certs',
    'pki/tls/cert.pem',
    'pki/ca-trust/extracted',
  ],
  ...['crypto-policies', 'ssh/ssh_known_hosts', 'ssh/ssh_config', 'ssh/ssh_config.d'],
].map((name) => `/etc/${name}`)

interface SandboxMounts {
  readonly links: readonly (readonly [path: string, target: string])[]
  readonly readOnly: readonly (readonly [path: string, source: string])[]
  readonly writable: readonly string[]
}

/** @param program Its absolute path, which may lie where nothing else is shown */
export function placesOf(
  program: string,
  { folder, readOnly = [], writable = [] }: Confinement,
): SandboxMounts {
  const present = systemFolders.filter((path) => existsSync(path))
  const isLink = (path: string) => lstatSync(path).isSymbolicLink()
  const folders = present.filter((path) => !isLink(path))
  const isShown = (path: string) => present.some((each) => path.startsWith(`${each}/`))
  const ofProgram = [program, realpathSync(program)].filter(
    (path, index, all) => !isShown(path) && all.indexOf(path) === index,
  )
  const shown = [...folders, ...etc, ...ofProgram, ...readOnly].filter((path) => existsSync(path))
  return {
    links: present.filter(isLink).map((path) => [path, readlinkSync(path)]),
    readOnly: shown.map((path) => [path, realpathSync(path)]),
    writable: [...writable, folder],
  }
}

interface ProcCovers {
  readonly folders: readonly string[]
  readonly files: readonly string[]
}

/**
 * What of `/proc` is about the whole machine and open to root, as whom the programs of a Fairlead that root runs count there; `/proc/sys`
 * is left to be bound read-only.
 */
export function coversOfProc({ user }: Confinement): ProcCovers {
  if ((user?.uid ?? process.geteuid?.()) !== 0) return { folders: [], files: [] }
  // Names only: with their types, Node fails at a process that ends meanwhile.
  const entries = readdirSync('/proc')
    .filter((name) => !/^\d+$/.test(name) && name !== 'sys')
    .map((name) => join('/proc', name))
  const is = (test: (found: Stats) => boolean) => entries.filter((path) => test(lstatSync(path)))
  return {
    folders: is((found) => found.isDirectory()),
    files: is((found) => found.isFile() && (found.mode & 0o226) !== 0o004),
  }
}

/** Run by a shell in the sandbox: bounds of each process, and the kernel ends these first where memory runs out. */
export function boundedCommand(
  command: readonly string[],
  {
    memoryBytes,
    processes,
    fileBytes,
  }: Pick<Confinement, 'memoryBytes' | 'processes' | 'fileBytes'>,
): string[] {
  const lines = [
    '{ echo 900 >/proc/self/oom_score_adj; } 2>/dev/null',
    'ulimit -c 0',
    ...(memoryBytes === undefined ? [] : [`ulimit -d ${Math.ceil(memoryBytes / 1024)}`]),
    ...(fileBytes === undefined ? [] : [`ulimit -f ${Math.ceil(fileBytes / 512)}`]),
    // Shells name it differently.
    ...(processes === undefined
      ? []
      : [`{ ulimit -u ${processes} || ulimit -p ${processes}; } 2>/dev/null`]),
    'exec "$@"',
  ]
  return ['/bin/sh', '-c', lines.join('\n'), 'sh', ...command]
}

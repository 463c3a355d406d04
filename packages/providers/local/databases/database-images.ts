/** Images of databases, which Fairlead makes itself: a script that runs a program of this machine, or of a container, in a volume. */
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findOnPath } from '@fairlead/base/runtime/find-program.ts'
import type { ImageStore, StoredImage } from '../../images/image-store.ts'
import { adoptFolder } from '../program-sandbox.ts'

const types = {
  postgresql: { title: 'PostgreSQL', programs: [], package: 'postgresql' },
  redis: { title: 'Redis', programs: ['redis-server', 'redis-cli'], package: 'redis-server' },
  valkey: { title: 'Valkey', programs: ['valkey-server', 'valkey-cli'], package: 'valkey-server' },
  mariadb: {
    title: 'MariaDB',
    programs: ['mariadbd', 'mariadb', 'mariadb-dump'],
    package: 'mariadb-server',
  },
} as const

interface DatabaseImage {
  readonly name: string
  readonly type: keyof typeof types
  /** Empty: the newest that is installed. */
  readonly version: string
  /** Image of a registry with its programs; undefined: they are those of this machine. */
  readonly container: string | undefined
}

/**
 * `fairlead-postgresql`, `fairlead-postgresql:15` for a version of the program, or `fairlead-postgresql+docker.io/library/postgres:17` for
 * those of a container; undefined: it is another image.
 */
export function parseDatabaseImage(id: string): DatabaseImage | undefined {
  const [, name, type, version = '', container] =
    /^(fairlead-(postgresql|redis|valkey|mariadb))(?::(\d+(?:\.\d+)*)|\+(\S+))?$/.exec(id) ?? []
  return name === undefined
    ? undefined
    : { name, type: type as keyof typeof types, version, container }
}

/** Whether a stored image is one of a database: its volumes have backups of their own kind. */
export function isDatabaseImage({ name }: { readonly name: string }): boolean {
  return parseDatabaseImage(name) !== undefined
}

const daemonFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin']
const postgresqlFolder = '/usr/lib/postgresql'

/** Why the database cannot run here, and the package to install; undefined: it can. */
export function problemOfDatabase({ type, version }: DatabaseImage): string | undefined {
  const { title, programs, package: needed } = types[type]
  if (type === 'postgresql') {
    const majors = installedMajors()
    const isThere = version === '' ? majors.length > 0 : majors.includes(version)
    if (isThere) return undefined
    const others = majors.length > 0 ? ` Installed are: ${majors.join(', ')}.` : ''
    return `${title}${version && ` ${version}`} is not installed on this machine. As root: apt-get install ${version === '' ? needed : `${needed}-${version}`}.${others}`
  }
  const path = [process.env['PATH'] ?? '', ...daemonFolders].join(':')
  const missing = programs.find((program) => findOnPath(program, path) === undefined)
  if (missing === undefined) return undefined
  return `${title} is not installed on this machine (${missing} is missing). As root: apt-get install ${needed}.`
}

function installedMajors(): string[] {
  try {
    return readdirSync(postgresqlFolder).filter(
      (major) => findOnPath('postgres', join(postgresqlFolder, major, 'bin')) !== undefined,
    )
  } catch {
    return []
  }
}

/** The image of this version of Fairlead, which is stored where it is missing. @throws {PortError} as `adoptFolder` */
export async function loadDatabaseImage(
  { name, type, version, container }: DatabaseImage,
  account: string,
  { images, dataDir }: { readonly images: ImageStore; readonly dataDir: string },
): Promise<StoredImage> {
  const script = readFileSync(new URL('./database.sh', import.meta.url))
  const file = JSON.stringify({
    command: ['sh', './database', 'serve'],
    environment: { DATABASE_TYPE: type, DATABASE_VERSION: version },
    ready: { tcp: true, intervalSeconds: 0.5 },
    // On the network of the machine, it listens on loopback as a program does.
    ...(container !== undefined && {
      container: { image: container, network: 'host', files: '/fairlead' },
    }),
  })
  const digest = createHash('sha256').update(script).update(file).digest('hex').slice(0, 12)
  const description = {
    name,
    version: [version, 'script', digest].filter(Boolean).join('-'),
    labels: {},
    tags: {},
    origin: { kind: 'fairlead' },
    accounts: [account],
  }
  const stored = images.get(`${name}:${description.version}`, account)
  if (stored !== undefined) return stored
  const work = join(dataDir, `.database-${randomUUID()}`)
  try {
    mkdirSync(join(work, 'image'), { recursive: true, mode: 0o700 })
    writeFileSync(join(work, 'image', 'database'), script, { mode: 0o755 })
    writeFileSync(join(work, 'image', 'fairlead-image.yml'), file)
    return await adoptFolder(images, { work, name: 'image', what: 'database' }, { description })
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Obstacles to a start on this machine: data directory, audit log, ports. */
import { accessSync, constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { tryPort } from '@fairlead/base/net/try-port.ts'
import { explainDatabaseFault } from '@fairlead/base/storage/database-fault.ts'
import { lockFile } from '@fairlead/base/storage/file-lock.ts'
import { checkVersion } from '@fairlead/base/storage/migrations.ts'
import { bannerMigrations } from '@fairlead/gateway/banners/banners.ts'
import { explainListeningFault, portSettings } from '@fairlead/gateway/http/ports.ts'
import { formMethod } from '@fairlead/gateway/login/form/method.ts'
import { checkNewUser, userMigrations } from '@fairlead/gateway/login/form/users.ts'
import { assertionMigrations } from '@fairlead/gateway/login/saml/used-assertions.ts'
import { methodSettingsOf } from '@fairlead/gateway/login/settings.ts'
import { tokenMigrations } from '@fairlead/gateway/login/tokens/token-store.ts'
import { unlockMigrations } from '@fairlead/gateway/login/unlocks.ts'
import type { Config } from '../config/config.ts'
import { embeddedBackends } from '../hosting/all.ts'
import { lockDataDir } from '../hosting/lock.ts'

interface Obstacle {
  readonly text: string
  /** Something runs that a start would follow, most often the gateway that is to be restarted. */
  readonly passing: boolean
}

/** Owners of tables, with what brings these to the version of this Fairlead. */
const knownTables: readonly (readonly [owner: string, migrations: readonly string[]])[] = [
  ...embeddedBackends.flatMap(({ service, migrations, partMigrations = {} }) => [
    [service, migrations] as const,
    ...Object.entries(partMigrations).map(
      ([part, scripts]) => [`${service}/${part}`, scripts] as const,
    ),
  ]),
  ['users', userMigrations],
  ['tokens', tokenMigrations],
  ['unlocks', unlockMigrations],
  ['banners', bannerMigrations],
  ['used-assertions', assertionMigrations],
]

/** File systems of the kernel that store no files, by their type. @see statfs(2) */
const kernelFileSystems: ReadonlySet<number> = new Set([
  0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x64626720, 0x74726163, 0x73636673, 0x1cd1, 0x62656570,
  0xcafe4a11,
])

/**
 * Nothing is created or changed, so that it does not matter which user asks.
 *
 * @param ignoresLocks For a gateway that holds them itself.
 */
export async function findStartObstacles(
  config: Config,
  { ignoresLocks = false } = {},
): Promise<Obstacle[]> {
  const { dataDir } = config.backends
  return [
    ...findDataDirObstacles(dataDir, ignoresLocks),
    ...findFirstUserObstacles(config),
    ...findAuditObstacles(config.audit, ignoresLocks),
    ...(await findPortObstacles(config.http)),
  ]
}

function findDataDirObstacles(dataDir: string, ignoresLocks: boolean): Obstacle[] {
  const advice = 'Set data.dir or FAIRLEAD_DATA_DIR to another one, or give this user write access.'
  const written = attempt(() => checkFolder(dataDir))
  if (written !== undefined)
    return [lasting(`The data directory ${dataDir} cannot be written: ${written}. ${advice}`)]
  if (ignoresLocks || !existsSync(dataDir)) return []
  const locked = existsSync(join(dataDir, 'lock.db'))
    ? attempt(() => lockDataDir(dataDir).close())
    : undefined
  // While another process works on them, they are what that process has made of them.
  if (locked !== undefined) return [passing(locked)]
  return readdirSync(dataDir)
    .filter((name) => name.endsWith('.db'))
    .flatMap((name) => {
      const file = join(dataDir, name)
      const broken = attempt(() => readDatabase(file))
      return broken === undefined ? [] : [lasting(broken)]
    })
}

/** @throws {Error} when the folder, or the nearest one above it, cannot be written */
function checkFolder(folder: string): void {
  const known = statSync(folder, { throwIfNoEntry: false })
  if (known === undefined && dirname(folder) !== folder) {
    checkFolder(dirname(folder))
    return
  }
  if (known?.isDirectory() !== true) throw new Error(`${folder} is no directory`)
  if (kernelFileSystems.has(statfsSync(folder).type))
    throw new Error(`${folder} is a file system of the kernel, which stores no files`)
  accessSync(folder, constants.W_OK | constants.X_OK)
}

/** @throws {Error} the message says what to do */
function readDatabase(file: string): void {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file, { readOnly: true })
    for (const [owner, migrations] of knownTables) checkVersion(db, owner, migrations)
  } catch (error) {
    throw explainDatabaseFault(error, file)
  } finally {
    db?.close()
  }
}

/** The first start creates an administrator, if there is no user yet. */
function findFirstUserObstacles({ login, backends }: Config): Obstacle[] {
  const form = methodSettingsOf(login, formMethod)
  if (
    form === undefined ||
    form.configuredUser !== undefined ||
    existsSync(join(backends.dataDir, 'users.db'))
  )
    return []
  const { firstAdmin } = form
  const refused = attempt(() => checkNewUser(firstAdmin.name, firstAdmin.password))
  return refused === undefined
    ? []
    : [
        lasting(
          `The first administrator (fairlead.admin.user, fairlead.admin.password): ${refused}`,
        ),
      ]
}

function findAuditObstacles(audit: Config['audit'], ignoresLocks: boolean): Obstacle[] {
  if (audit?.sink.kind !== 'file') return []
  const { file } = audit.sink
  const advice = 'Set audit.file to another one, or give this user write access.'
  const broken = attempt(() => {
    checkFolder(dirname(file))
    const known = statSync(file, { throwIfNoEntry: false })
    if (known !== undefined && !known.isFile()) throw new Error('it is no regular file')
    if (known !== undefined) accessSync(file, constants.W_OK)
  })
  if (broken !== undefined)
    return [lasting(`The audit log ${file} cannot be used: ${broken}. ${advice}`)]
  const locked =
    !ignoresLocks && existsSync(`${file}.lock`)
      ? attempt(() => lockFile(`${file}.lock`).close())
      : undefined
  return locked === undefined
    ? []
    : [passing(`The audit log ${file} cannot be used now: ${locked}.`)]
}

async function findPortObstacles(http: Config['http']): Promise<Obstacle[]> {
  const { address } = http
  const found: Obstacle[] = []
  for (const [key, number] of portSettings(http)) {
    const code = await tryPort(address, number)
    if (code === undefined) continue
    const text = explainListeningFault({ code, address, port: number, key })
    found.push(code === 'EADDRINUSE' ? passing(text) : lasting(text))
  }
  return found
}

function attempt(run: () => void): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function lasting(text: string): Obstacle {
  return { text, passing: false }
}

function passing(text: string): Obstacle {
  return { text, passing: true }
}

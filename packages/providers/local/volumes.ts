/** Volumes: directories of a cluster that stay when its versions go, with copies from before each change of version. */
import { closeSync, constants, existsSync, openSync, readdirSync, statfsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import { volumesFolderName } from '@fairlead/base/names/agent-files.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import type { ProgramVolumes } from '@fairlead/base/net/agent-protocol.ts'
import { keepCopy, measureTree } from '@fairlead/base/storage/directory-trees.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { hasOneWriter, type Volume } from '@fairlead/ports/image-file.ts'
import type { LocalInstance, ResourceKey } from './desired.ts'

const currentName = 'current'
const backupsName = 'backups'
/** Sizes are read again when they are older. */
const sizeAgeMs = 60_000

/** @param place A server group, or the cluster itself */
function rootOf(dataDir: string, { account, region, name }: ResourceKey): string {
  return join(dataDir, volumesFolderName, account, region, parseMoniker(name).cluster ?? name)
}

/** Owner of volumes: an instance, or a job that runs like one. */
type VolumeOwner = Pick<LocalInstance, 'account' | 'region' | 'ordinal'> & {
  readonly program: Pick<LocalInstance['program'], 'volumes' | 'container' | 'startedFor'>
}

export function toProgramVolumes(
  instance: VolumeOwner,
  dataDir: string,
): ProgramVolumes | undefined {
  const folders = volumesOf(instance, dataDir).map(({ folder }) => folder)
  return folders.length === 0 ? undefined : { root: rootOf(dataDir, placeOf(instance)), folders }
}

export function volumeVariables(instance: VolumeOwner, dataDir: string): Record<string, string> {
  const { container } = instance.program
  const named = volumesOf(instance, dataDir)
  return Object.fromEntries(
    named.map(({ variable, folder, path }) => [variable, container === undefined ? folder : path]),
  )
}

export function volumesOf({ ordinal = 0, ...instance }: VolumeOwner, dataDir: string) {
  const root = rootOf(dataDir, placeOf(instance))
  return (instance.program.volumes ?? []).map(({ name, shared, path = `/volumes/${name}` }) => ({
    variable: `FAIRLEAD_VOLUME_${name.toUpperCase().replaceAll('-', '_')}`,
    folder: join(root, currentName, name, shared ? 'shared' : String(ordinal)),
    path,
  }))
}

interface SharedVolume {
  readonly volume: Volume
  readonly other: LocalInstance
}

/** Directories that are for one writer and that another instance has as well. */
export function sharedVolumesOf(
  instance: LocalInstance,
  all: Iterable<LocalInstance>,
): SharedVolume[] {
  const volumes = (instance.program.volumes ?? []).filter(hasOneWriter)
  const root = rootOf('', placeOf(instance))
  const others = volumes.length === 0 ? [] : [...all].filter((other) => isBeside(instance, other))
  return others
    .filter((other) => rootOf('', placeOf(other)) === root)
    .flatMap((other) => {
      const own = new Set(
        (other.program.volumes ?? []).flatMap(({ name, shared }) => (shared ? [] : [name])),
      )
      return volumes.filter(({ name }) => own.has(name)).map((volume) => ({ volume, other }))
    })
}

function isBeside({ id, ordinal = 0 }: LocalInstance, other: LocalInstance): boolean {
  return other.id !== id && (other.ordinal ?? 0) === ordinal
}

/** An instance that was detached keeps the volumes of the server group that started it. */
function placeOf({ account, region, program }: Omit<VolumeOwner, 'ordinal'>): ResourceKey {
  return { account, region, name: program.startedFor }
}

interface VolumesOptions {
  readonly context: Pick<BackendContext, 'now' | 'steady' | 'stateChanged' | 'log'>
  readonly dataDir: string
  /** Backups of a cluster that are kept; 0: none are made. */
  readonly backups: number
}

interface Measured {
  readonly atMs: number
  readonly bytes: number | undefined
}

export class Volumes {
  readonly #options: VolumesOptions
  readonly #sizes = new Map<string, Measured>()

  constructor(options: VolumesOptions) {
    this.#options = options
  }

  /**
   * Copies the volumes of a cluster, if there are any yet; programs may write meanwhile.
   *
   * @param version The one that has written them, as far as it is known
   * @returns the folder of the copy
   * @throws {Error} that says what to do
   */
  async backUp(cluster: ResourceKey, version: string | undefined): Promise<string | undefined> {
    const { dataDir, backups, context } = this.#options
    const root = rootOf(dataDir, cluster)
    if (backups === 0 || !existsSync(join(root, currentName))) return undefined
    const time = new Date(context.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')
    const name = [time, version?.replaceAll(/[^\w.+-]/g, '_').slice(0, 80)]
      .filter(Boolean)
      .join('-')
    try {
      await keepCopy(root, currentName, `${backupsName}/${name}`, backups)
      return join(root, backupsName, name)
    } catch (cause) {
      const { message } = cause as Error
      const advice = 'Mend the cause, or set local.volumes.backups to 0 to deploy without a backup.'
      throw new Error(`The volumes of ${cluster.name} cannot be backed up: ${message}. ${advice}`, {
        cause,
      })
    }
  }

  /** Removes volumes with their backups. */
  async remove(cluster: ResourceKey): Promise<void> {
    await rm(rootOf(this.#options.dataDir, cluster), { recursive: true, force: true })
  }

  /** Details of a server group; sizes follow once they are measured. */
  viewsOf(place: ResourceKey, volumes: readonly Volume[] | undefined): JsonObject[] {
    const root = rootOf(this.#options.dataDir, place)
    return (volumes ?? []).map(({ name, shared, writers }) => {
      const folder = join(root, currentName, name)
      return {
        name,
        shared,
        ...definedOf({ writers }),
        folder,
        bytes: this.#sizeOf(folder, root),
        ...definedOf({ diskUsedPercent: diskUsedPercentOf(folder) }),
        backups: newestFirst(join(root, backupsName)),
      }
    })
  }

  /** Names of the backups of a database, newest first. */
  backupsOf(place: ResourceKey): string[] {
    return newestFirst(join(rootOf(this.#options.dataDir, place), currentName, 'backups', 'shared'))
  }

  #sizeOf(folder: string, root: string): number | undefined {
    const { steady, stateChanged, log } = this.#options.context
    const known = this.#sizes.get(folder)
    if (known !== undefined && steady() - known.atMs < sizeAgeMs) return known.bytes
    if (!existsSync(folder)) return undefined
    this.#sizes.set(folder, { atMs: steady(), bytes: known?.bytes })
    measureTree(folder, root)
      .then(({ bytes }) => {
        this.#sizes.set(folder, { atMs: steady(), bytes })
        if (bytes !== known?.bytes) stateChanged()
      })
      .catch((err: unknown) => log.warn({ err, folder }, 'the size of a volume cannot be measured'))
    return known?.bytes
  }
}

/** Use of the file system, as users without rights see it; undefined: the folder is missing. */
function diskUsedPercentOf(folder: string): number | undefined {
  try {
    const { blocks, bfree, bavail } = statfsSync(folder)
    const used = blocks - bfree
    return blocks === 0 ? undefined : Math.ceil((100 * used) / (used + bavail))
  } catch {
    return undefined
  }
}

/** Nothing of a link, which the user of the programs may have put there. */
function newestFirst(folder: string): string[] {
  let opened: number | undefined
  try {
    opened = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
    const names = readdirSync(process.platform === 'linux' ? `/proc/self/fd/${opened}` : folder)
    return names
      .filter((name) => !name.startsWith('.'))
      .sort()
      .reverse()
  } catch {
    return []
  } finally {
    if (opened !== undefined) closeSync(opened)
  }
}

/**
 * The sandbox of builds, bakes and commands. They see the programs of this machine, their working folder and their cache; neither other
 * processes nor the data of Fairlead; and nothing of it outlives their first process.
 */
import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { isWithin, workFolderOf } from '@fairlead/base/outside/builder-process.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ownSources } from '@fairlead/base/runtime/own-sources.ts'
import { openSandbox, SandboxError } from '@fairlead/base/sandbox/sandbox.ts'
import { type FileUser, packTree } from '@fairlead/base/storage/directory-trees.ts'
import type { BuiltFolder, ImageDescription, ProgramPlaces } from '@fairlead/ports/machine.ts'
import type { ImageStore, StoredImage } from '../images/image-store.ts'
import type { OperationParts } from './operations/parts.ts'

type SandboxParts = Pick<OperationParts, 'context' | 'users' | 'dataDir' | 'variables'>

/** What stands beside a folder of programs, where each has a folder for itself, as with nvm; not `share`, which has data of users. */
const besidePrograms = ['bin', 'include', 'lib', 'lib64', 'libexec', 'pkg', 'src']
/** What tools of builds are told by this machine; its keys and passwords are elsewhere. */
const toolSettings =
  /^(?:containers|fonts|gitconfig|java(?:-.*)?|maven|npmrc|os-release|pip\.conf|timezone)$/

/** @returns the command that runs a file of Fairlead in it @throws {PortError} where this machine has no sandbox */
export function confineFile(
  [file, ...args]: readonly [string, ...string[]],
  parts: SandboxParts,
  places: ProgramPlaces,
): Promise<string[]> {
  return confine([process.execPath, file, ...args], parts, {
    ...places,
    readable: [...ownSources(file), ...places.readable],
  })
}

/** @returns what runs the command that follows it @throws as `confineFile` */
export function confineCommand(parts: SandboxParts, places: ProgramPlaces): Promise<string[]> {
  return confine(['/bin/sh', '-c', 'exec "$@"', 'sh'], parts, places)
}

async function confine(
  command: readonly string[],
  { context, users, dataDir, variables }: SandboxParts,
  { id, account, cache, readable, sources = [], runsContainers = false }: ProgramPlaces,
): Promise<string[]> {
  const { sandbox } = context.settings.outside
  const { wrap } = await openSandbox(runsContainers ? 'none' : sandbox).catch((error: unknown) => {
    throw error instanceof SandboxError ? new PortError(500, error.message) : error
  })
  const user = users.of(account)
  // Files that variables of the account name.
  const ofAccount = variables.folderOf(account)
  const more = ['/opt', ...settingsOfTools(), ...programFolders(), ...readable]
  const shown = more.filter((path) => !isWithin(dataDir, path) && !isWithin(path, dataDir))
  return wrap(command, {
    folder: workFolderOf(dataDir, id),
    readOnly: [...shown, ...sources, ...(ofAccount === undefined ? [] : [ofAccount])].filter(
      (path) => isReachable(path, user),
    ),
    writable: cache === undefined ? [] : [cache],
    network: 'host',
    // Browsers in tests and builders of containers do.
    nests: true,
    ...(user && { user }),
  })
}

/** The user makes the sandbox, and shows nothing there that is closed to it. */
function isReachable(path: string, user: FileUser | undefined): boolean {
  try {
    const way = realpathSync(path)
    if (user === undefined || user.uid === 0) return true
    for (let folder = dirname(way); folder !== '/'; folder = dirname(folder)) {
      const { uid, gid, mode } = statSync(folder)
      const right = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
      if ((mode & right) === 0) return false
    }
    return true
  } catch {
    return false
  }
}

function settingsOfTools(): string[] {
  return readdirSync('/etc')
    .filter((name) => toolSettings.test(name))
    .map((name) => join('/etc', name))
}

/** Folders of `PATH`, and of Node, which are not the system's. */
function programFolders(): string[] {
  const all = [...(process.env['PATH'] ?? '').split(':'), dirname(process.execPath)]
  const folders = all.filter((path) => isAbsolute(path) && !/^\/(?:usr\/|s?bin\/?$)/.test(path))
  return folders.flatMap((path) =>
    basename(path) === 'bin' ? besidePrograms.map((name) => join(dirname(path), name)) : [path],
  )
}

/**
 * As an archive that is read in the name of the builder's user: its processes may still change it.
 *
 * @throws {PortError} as `ImageStore.addArchive`; 400 also when there is no such folder any more
 */
export async function adoptFolder(
  images: ImageStore,
  { work, name, what }: BuiltFolder,
  {
    description,
    imageFile,
  }: { readonly description: ImageDescription; readonly imageFile?: string },
): Promise<StoredImage> {
  const found = lstatSync(join(work, name), { throwIfNoEntry: false })
  if (found === undefined)
    throw new PortError(
      400,
      `The directory ${name} of the ${what} is gone, by its steps or a crash. Start it again.`,
    )
  if (!found.isDirectory())
    throw new PortError(400, `The steps of the ${what} have replaced ${name} by a link or file.`)
  return images.addArchive(packTree(work, name), description, imageFile)
}

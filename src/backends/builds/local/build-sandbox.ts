/**
 * The sandbox of a build. Its runner and all that it starts see the programs of this machine, the working folder and the cache of the
 * build; neither other processes nor the data of Fairlead; and nothing of it outlives the runner.
 */
import { readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { ownSources } from '../../../runtime/own-sources.ts'
import { openSandbox } from '../../../sandbox/sandbox.ts'
import type { SandboxChoice } from '../../../sandbox/settings.ts'
import type { FileUser } from '../../../storage/directory-trees.ts'
import { isWithin } from '../../infrastructure/providers/local/builder-process.ts'

export interface BuildPlaces {
  /** The working folder of the build, which the agent makes. */
  readonly folder: string
  readonly cache: string | undefined
  /** Whom the account runs programs as, unless it is Fairlead's own user. */
  readonly user: FileUser | undefined
  readonly dataDir: string
  /** Of the settings. */
  readonly readable: readonly string[]
  /** Folder in the data of Fairlead with the files that variables of the account name. */
  readonly ofAccount: string | undefined
}

/** What stands beside a folder of programs, where each has a folder for itself, as with nvm; not `share`, which has data of users. */
const besidePrograms = ['bin', 'include', 'lib', 'lib64', 'libexec', 'pkg', 'src']
/** What tools of builds are told by this machine; its keys and passwords are elsewhere. */
const toolSettings = /^(?:containers|fonts|gitconfig|java(?:-.*)?|maven|npmrc|os-release|pip\.conf|timezone)$/

/** @returns the command that runs the file in it @throws {SandboxError} */
export async function confineRunner(file: string, choice: SandboxChoice, places: BuildPlaces): Promise<string[]> {
  const { folder, cache, user, dataDir, readable, ofAccount } = places
  const { wrap } = await openSandbox(choice)
  const more = ['/opt', ...settingsOfTools(), ...programFolders(), ...readable]
  const shown = [...ownSources(file), ...more.filter((path) => isReachable(path, user))]
  return wrap([process.execPath, file], {
    folder,
    readOnly: [
      ...shown.filter((path) => !isWithin(dataDir, path) && !isWithin(path, dataDir)),
      ...(ofAccount === undefined ? [] : [ofAccount]),
    ],
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

/** Those of `PATH`, and of Node, which are not the system's. */
function programFolders(): string[] {
  const all = [...(process.env['PATH'] ?? '').split(':'), dirname(process.execPath)]
  const folders = all.filter((path) => isAbsolute(path) && !/^\/(?:usr\/|s?bin\/?$)/.test(path))
  return folders.flatMap((path) => (basename(path) === 'bin' ? besidePrograms.map((name) => join(dirname(path), name)) : [path]))
}

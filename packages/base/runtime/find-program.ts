/** Programs of this machine: whether a file is one, and which one a name means. */
import { accessSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'

/** Why the system finds no file of a name, besides its absence. */
const unfindable: ReadonlySet<string> = new Set(['ENAMETOOLONG', 'ELOOP', 'EACCES'])

/** @throws as the system does, unless there is no such file */
export function isFile(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false
  } catch (error) {
    if (unfindable.has((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

/** Whether this process may execute it. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return isFile(file)
  } catch {
    return false
  }
}

/** @param path Folders as in `PATH` @returns undefined: none of them has it */
export function findOnPath(name: string, path: string): string | undefined {
  const folder = path.split(':').find((each) => each !== '' && isExecutable(join(each, name)))
  return folder === undefined ? undefined : join(folder, name)
}

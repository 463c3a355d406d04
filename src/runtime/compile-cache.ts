/** Compiled code, kept on disk between starts and shared by all threads and processes. */
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'

/** For the environment of threads and children. Node adds a folder for its version, so theirs would be another one within it. */
export function compileCacheVariable(): { NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir()
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) }
}

/** Compiled code, kept on disk between starts and shared by all threads and processes. */
import { flushCompileCache, getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'

/** Variable for threads and children. Node adds a folder for its version, so theirs would be another one within it. */
export function compileCacheVariable(): { NODE_COMPILE_CACHE?: string } {
  const folder = getCompileCacheDir()
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) }
}

const flushMs = 1000

/** Writes what the calling thread has compiled for its start. Node itself writes it at the end, which a killed process never sees. */
export function keepCompiledCode(): void {
  setTimeout(flushCompileCache, flushMs).unref()
}

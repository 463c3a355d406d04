/** Files where programs of users may have put something else, such as a pipe without an end. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

/** Undefined unless there is a regular file of at most `maxBytes`. */
export function readForeignFile(path: string, maxBytes: number): string | undefined {
  let file: number | undefined
  try {
    // Opening a pipe would otherwise wait for a writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const found = fstatSync(file)
    return found.isFile() && found.size <= maxBytes ? readFileSync(file, 'utf8') : undefined
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** Errors of the file system in words: which file, why, and what to do. */
import { readFileSync } from 'node:fs'

const reading: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist; correct the path',
  ENOTDIR: 'does not exist; correct the path',
  EACCES: 'may not be read by this user; give it the right',
  EPERM: 'may not be read by this user; give it the right',
  EISDIR: 'is a directory; name a file',
}

/** `the file /etc/key.pem does not exist; correct the path` */
export function explainUnreadable(file: string, error: unknown): string {
  return `the file ${file} ${reasonUnreadable(error)}`
}

/** @throws {Error} whose message says which file, why, and what to do */
export function readExplained(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    throw new Error(explainUnreadable(file, cause), { cause })
  }
}

/** Without the name of the file. */
export function reasonUnreadable(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return reading[code] ?? `cannot be read: ${code || message}`
}

import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** The last bytes of a file as text, from the beginning of a line. @throws as the file system does */
export function readEnd(file: string, maxBytes: number): string {
  const descriptor = openSync(file, 'r')
  try {
    const { size } = fstatSync(descriptor)
    const bytes = Buffer.alloc(Math.min(size, maxBytes))
    readSync(descriptor, bytes, 0, bytes.length, size - bytes.length)
    const text = bytes.toString('utf8')
    return size > maxBytes ? text.slice(text.indexOf('\n') + 1) : text
  } finally {
    closeSync(descriptor)
  }
}

/** Files of lines: one at a time, the first, or the last complete one. */
import { createReadStream } from 'node:fs'
import { type FileHandle, open, truncate } from 'node:fs/promises'
import { createInterface } from 'node:readline'

const lineBreak = 10
const portion = 64 * 1024

/** The lines of a file, one at a time. It is opened when the first one is asked for: what came before would be lost. */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const input = createReadStream(file)
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  } finally {
    input.destroy()
  }
}

export async function firstLine(file: string): Promise<string> {
  for await (const line of linesOf(file)) return line
  return ''
}

/** The last line that is complete, wherever the file ends; empty when there is none. */
export async function lastLine(file: string): Promise<string> {
  const handle = await open(file, 'r')
  try {
    const end = await endOfLines(handle)
    const begin = end === 0 ? 0 : (await findBreak(handle, end - 1)) + 1
    return (await readPart(handle, begin, Math.max(begin, end - 1))).toString('utf8')
  } finally {
    await handle.close()
  }
}

/** A record cut off by the end of the process was never confirmed. */
export async function dropIncompleteLine(file: string): Promise<void> {
  const handle = await open(file, 'r')
  try {
    const { size } = await handle.stat()
    const end = await endOfLines(handle)
    if (end < size) await truncate(file, end)
  } finally {
    await handle.close()
  }
}

async function endOfLines(handle: FileHandle): Promise<number> {
  const { size } = await handle.stat()
  return (await findBreak(handle, size)) + 1
}

async function findBreak(handle: FileHandle, until: number): Promise<number> {
  for (let end = until; end > 0; end -= portion) {
    const begin = Math.max(0, end - portion)
    const found = (await readPart(handle, begin, end)).lastIndexOf(lineBreak)
    if (found !== -1) return begin + found
  }
  return -1
}

async function readPart(handle: FileHandle, begin: number, end: number): Promise<Buffer> {
  const bytes = Buffer.alloc(end - begin)
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, begin)
  return bytes.subarray(0, bytesRead)
}

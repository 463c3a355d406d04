/** Consoles: log files that processes append to, rotated when they reach their limit. */
import { closeSync, constants, fstatSync, openSync, readSync, statSync, truncateSync, writeSync } from 'node:fs'

const pieceBytes = 64 * 1024

/** For a process that writes into it; the opener closes it. */
export function openConsole(file: string): number {
  return openSync(file, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600)
}

/**
 * Moves the newest half of the bound into a second file, `FILE.1`, once the first has reached that size. Processes keep the file
 * open, so it is copied and emptied; what they write between these two steps is lost.
 *
 * @returns bytes that were dropped
 */
export function rotateConsole(file: string, maxBytes: number): number {
  const half = Math.max(1, Math.floor(maxBytes / 2))
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size <= half) return 0
  const former = statSync(`${file}.1`, { throwIfNoEntry: false })?.size ?? 0
  try {
    copyTail(file, half)
  } finally {
    // On a full disk there is no copy; the space is needed all the more.
    truncateSync(file)
  }
  return former + size - half
}

function copyTail(file: string, bytes: number): void {
  const [from, to] = [openSync(file, 'r'), openSync(`${file}.1`, 'w', 0o600)]
  try {
    const end = fstatSync(from).size
    const piece = Buffer.alloc(pieceBytes)
    for (let at = Math.max(0, end - bytes); at < end; ) {
      const count = readSync(from, piece, 0, Math.min(piece.length, end - at), at)
      if (count === 0) break
      writeSync(to, piece, 0, count)
      at += count
    }
  } finally {
    closeSync(from)
    closeSync(to)
  }
}

/** The newest bytes as text, from both files; undefined when nothing was ever started. */
export function readConsole(file: string, tailBytes: number): string | undefined {
  const newest = readTail(file, tailBytes)
  if (newest === undefined) return undefined
  const older = newest.length < tailBytes ? readTail(`${file}.1`, tailBytes - newest.length) : undefined
  const tail = Buffer.concat([older ?? Buffer.alloc(0), newest])
  // The first character may have been cut: its other bytes begin with 10.
  const first = tail.findIndex((byte) => (byte & 0xc0) !== 0x80)
  return tail.subarray(Math.max(0, first)).toString()
}

function readTail(file: string, bytes: number): Buffer | undefined {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const { size } = fstatSync(descriptor)
    const tail = Buffer.alloc(Math.min(size, bytes))
    return tail.subarray(0, readSync(descriptor, tail, 0, tail.length, size - tail.length))
  } finally {
    closeSync(descriptor)
  }
}

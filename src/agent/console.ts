/** Consoles: log files that processes append to, rotated when they reach their limit. */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, statSync, truncateSync, writeSync } from 'node:fs'

const pieceBytes = 64 * 1024

/** For a process that writes into it; the opener closes it. */
export function openConsole(file: string): number {
  return openSync(file, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600)
}

/**
 * Moves the newest half of the bound into a second file, `FILE.1`, once the first has reached that size. Processes keep the file
 * open, so it is copied and emptied once nothing was added to the copy's source. `FILE.start` keeps count of what was moved.
 *
 * @returns bytes that were dropped
 */
export function rotateConsole(file: string, maxBytes: number): number {
  const half = Math.max(1, Math.floor(maxBytes / 2))
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size <= half) return 0
  const former = statSync(`${file}.1`, { throwIfNoEntry: false })?.size ?? 0
  const start = readStart(file, former)
  const source = openSync(file, 'r+')
  let end = size
  try {
    end = copyTail(file, { source, from: size - half, mostBytes: mostCopies * half, start })
  } catch (error) {
    // On a full disk there is no copy; the space is needed all the more, and what is lost counts.
    truncateSync(`${file}.1`)
    writeStart(file, start + fstatSync(source).size)
    throw error
  } finally {
    ftruncateSync(source)
    closeSync(source)
  }
  keepNewest(`${file}.1`, half)
  return former + end - half
}

/** A process that writes as fast as it is copied, or without pause, cannot hold up its rotation for ever. */
const mostCopies = 8
const mostLooks = 1_000

interface Tail {
  readonly source: number
  /** Offset in the source. */
  readonly from: number
  readonly mostBytes: number
  /** Offset of the source in all output. */
  readonly start: number
}

/** @returns the end of the source, of which everything from `from` on has been copied, or as much as may be */
function copyTail(file: string, { source, from, mostBytes, start }: Tail): number {
  const copy = openSync(`${file}.1`, 'w', 0o600)
  try {
    const piece = Buffer.alloc(pieceBytes)
    let at = from
    // Processes write on meanwhile: their bytes follow until a look finds no more.
    for (let look = 0; look < mostLooks && at - from < mostBytes; look++) {
      for (let count = -1; count !== 0 && at - from < mostBytes; at += count) {
        count = readSync(source, piece, 0, piece.length, at)
        writeSync(copy, piece, 0, count)
      }
      writeStart(file, start + at)
      if (fstatSync(source).size === at) return at
    }
    const end = fstatSync(source).size
    writeStart(file, start + end)
    return end
  } finally {
    closeSync(copy)
  }
}

/** In place, so that it works on a full disk. */
function keepNewest(file: string, bytes: number): void {
  const descriptor = openSync(file, 'r+')
  try {
    const { size } = fstatSync(descriptor)
    if (size <= bytes) return
    const piece = Buffer.alloc(pieceBytes)
    let at = 0
    for (let count = -1; count !== 0; at += count) {
      count = readSync(descriptor, piece, 0, piece.length, size - bytes + at)
      writeSync(descriptor, piece, 0, count, at)
    }
    ftruncateSync(descriptor, at)
  } finally {
    closeSync(descriptor)
  }
}

/** Offset of the first byte of the file; without a note, what is in the second file is all that came before. */
function readStart(file: string, former: number): number {
  const noted = readFrom(`${file}.start`, 0, 32)
  return noted === undefined ? former : Number(noted.toString()) || former
}

/** In place and of one length, so that it works on a full disk. */
function writeStart(file: string, start: number): void {
  const note = openSync(`${file}.start`, constants.O_WRONLY | constants.O_CREAT, 0o600)
  try {
    writeSync(note, String(start).padStart(16, '0'))
  } finally {
    closeSync(note)
  }
}

/** The newest bytes as text, from both files; undefined when nothing was ever started. */
export function readConsole(file: string, tailBytes: number): string | undefined {
  const kept = keptOutput(file)
  return kept && withoutCutStart(kept.read(Math.max(kept.start, kept.end - tailBytes), kept.end)).toString()
}

/** What a reader wants of a console: its last lines, or what came after an offset. */
export type ConsoleWish = { readonly tail: number } | { readonly offset: number }

/** A part of a console. Offsets are bytes since the instance was first started, whatever was dropped since. */
export interface ConsolePart {
  readonly output: string
  /** Of the first byte of `output`. */
  readonly offset: number
  /** Where to go on reading. */
  readonly nextOffset: number
  /** Of the end of all output; larger than `nextOffset` when there is more. */
  readonly endOffset: number
  /** Bytes after the wanted offset that are no longer there. */
  readonly lostBytes: number
}

/**
 * A part of at most `maxBytes`. An offset beyond the end, as after the instance was replaced, reads from the beginning.
 *
 * @returns undefined when nothing was ever started
 */
export function readConsolePart(file: string, wish: ConsoleWish, maxBytes: number): ConsolePart | undefined {
  const kept = keptOutput(file)
  if (kept === undefined) return undefined
  const wanted = 'tail' in wish ? startOfLines(kept, wish.tail, maxBytes) : wish.offset > kept.end ? kept.start : wish.offset
  const from = Math.max(wanted, kept.start)
  const bytes = kept.read(from, Math.min(kept.end, from + maxBytes))
  const isCut = from > wanted || 'tail' in wish
  const whole = isCut ? withoutCutStart(bytes) : bytes
  const offset = from + bytes.length - whole.length
  const output = whole.subarray(0, completeLength(whole))
  return {
    output: output.toString(),
    offset,
    nextOffset: offset + output.length,
    endOffset: kept.end,
    lostBytes: 'tail' in wish ? 0 : offset - wanted,
  }
}

/** Both files as one range of offsets. */
interface KeptOutput {
  readonly start: number
  readonly end: number
  /** @param to At most `end` */
  read(from: number, to: number): Buffer
}

function keptOutput(file: string): KeptOutput | undefined {
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined) return undefined
  const former = statSync(`${file}.1`, { throwIfNoEntry: false })?.size ?? 0
  const border = readStart(file, former)
  return {
    start: border - former,
    end: border + size,
    read: (from, to) => {
      const older = from < border ? readFrom(`${file}.1`, from - (border - former), Math.min(to, border) - from) : undefined
      const newer = to > border ? readFrom(file, Math.max(0, from - border), to - Math.max(from, border)) : undefined
      return Buffer.concat([older ?? Buffer.alloc(0), newer ?? Buffer.alloc(0)])
    },
  }
}

/** Offset where the last lines begin, or as many of them as `maxBytes` hold. */
function startOfLines(kept: KeptOutput, lines: number, maxBytes: number): number {
  const floor = Math.max(kept.start, kept.end - maxBytes)
  let missing = lines
  if (missing <= 0) return kept.end
  for (let end = kept.end; end > floor; end -= pieceBytes) {
    const start = Math.max(floor, end - pieceBytes)
    const piece = kept.read(start, end)
    // A line break at the very end belongs to the last line.
    const last = end === kept.end ? piece.length - 2 : piece.length - 1
    for (let at = lastBreak(piece, last); at >= 0; at = lastBreak(piece, at - 1)) {
      missing -= 1
      if (missing === 0) return start + at + 1
    }
  }
  return floor
}

/** -1: there is none up to `from`. */
function lastBreak(piece: Buffer, from: number): number {
  return from < 0 ? -1 : piece.lastIndexOf('\n', from)
}

/** Without the rest of a character that began before: those bytes begin with 10. */
function withoutCutStart(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)
  return bytes.subarray(Math.max(0, first))
}

/** Length without a character at the end whose last bytes have not been written yet. */
function completeLength(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf8 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

function readFrom(file: string, position: number, length: number): Buffer | undefined {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const bytes = Buffer.alloc(Math.max(0, length))
    return bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, position))
  } finally {
    closeSync(descriptor)
  }
}

/** Consoles: what the programs of an instance print, in log files that never exceed their bound. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { ConsolePart, ConsoleWish } from '@fairlead/base/net/agent-protocol.ts'

const pieceBytes = 64 * 1024

/** A pipe that programs write into. A pump, which survives the agent, moves what they write into the files of the console. */
interface ConsolePipe {
  /** For standard output and for standard error; the opener closes both. */
  readonly descriptors: readonly number[]
  /**
   * Resolves when all programs have closed it, and everything they wrote is in the files. If the pump was ended before, with how it
   * ended: what they write next ends them with SIGPIPE.
   */
  readonly drained: Promise<string | undefined>
  /** The process id of the pump. */
  readonly pid: number
}

/**
 * The pump: `dd` moves a quarter of the bound at most, then the shell looks whether the file is full. Programs wait while the pipe
 * is not read, so they fill no disk, however fast they write, with an agent or without. On a full disk, output is dropped. A shell
 * that cannot start a process would end, and the program with it at its next line: it begins anew, which needs none.
 *
 * Files are named by the offset of their first byte in all output; the one before the latest is kept. One more exists until all
 * programs have closed the pipe: an agent after this one cannot learn otherwise whether the pump ended before.
 */
const pump = `
umask 077
console=$1 name=$2 at=$3 former=$4 block=$5 count=$6
trap 'exec /bin/sh -c "$0" "$0" "$console" "$name" "$at" "$former" "$block" "$count"' EXIT
while :; do
  file=$console.$name
  said=$(dd bs="$block" count="$count" 2>&1 >>"$file") || said=$(dd bs=65536 count=1 2>&1 >/dev/null)
  case $said in "0+0 records in"*) rm -f "$console.$$.open"; trap - EXIT; exit ;; esac
  size=$(wc -c <"$file") || continue
  if [ "$size" -gt $((block * count)) ]; then
    [ -z "$former" ] || rm -f "$former"
    former=$file at=$((at + size))
    name=$(printf %016d "$at")
  fi
done`
/** Reads of one `dd`, so that few are started. */
const mostReads = 1024
const filePattern = /^(.*)\.(\d{16})$/

/**
 * @param file Path of the console; its files get an ending each
 * @throws as the file system does; ENOENT also where there is no `mkfifo`
 */
export async function openConsole(file: string, maxBytes: number): Promise<ConsolePipe> {
  const quarter = Math.max(1, Math.floor(maxBytes / 4))
  const count = Math.min(mostReads, quarter)
  const files = listFiles(file)
  for (const { path } of files.splice(0, Math.max(0, files.length - 2)))
    rmSync(path, { force: true })
  const latest = files.pop() ?? { path: `${file}.${formatOffset(0)}`, offset: 0 }
  const former = files.pop()?.path ?? ''
  closeSync(openSync(latest.path, 'a', 0o600))
  const [reader = -1, ...descriptors] = await openPipe(`${file}.pipe`)
  try {
    const { offset } = latest
    const args = [
      file,
      formatOffset(offset),
      offset,
      former,
      Math.floor(quarter / count),
      count,
    ].map(String)
    const child = spawn('/bin/sh', ['-c', pump, pump, ...args], {
      cwd: '/',
      detached: true,
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
      stdio: [reader, 'ignore', 'ignore'],
    })
    child.unref()
    const drained = endOf(child)
    await once(child, 'spawn')
    const pid = child.pid as number
    closeSync(openSync(openMark(file, pid), 'a', 0o600))
    return { descriptors, drained, pid }
  } catch (error) {
    for (const descriptor of descriptors) closeSync(descriptor)
    throw error
  } finally {
    closeSync(reader)
  }
}

/** A pipe with a name for a moment: unlike one of Node it can be opened again as `/dev/stdout`. @returns its end for reading, and two for writing */
async function openPipe(path: string): Promise<number[]> {
  rmSync(path, { force: true })
  await promisify(execFile)('mkfifo', ['-m', '600', path])
  const opened: number[] = []
  // Until both sides are open, opening one of them would wait.
  const both = openSync(path, constants.O_RDWR)
  try {
    for (const flag of [constants.O_RDONLY, constants.O_WRONLY, constants.O_WRONLY])
      opened.push(openSync(path, flag))
    return opened
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor)
    throw error
  } finally {
    closeSync(both)
    rmSync(path, { force: true })
  }
}

function endOf(child: ChildProcess): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  child.once('error', ({ message }) => resolve(message))
  child.once('exit', (code, signal) =>
    resolve(code === 0 ? undefined : (signal ?? `exit code ${code}`)),
  )
  return promise
}

/** Whether programs could still write when the pump ended. */
export function isCutOff(file: string, pumpPid: number): boolean {
  return existsSync(openMark(file, pumpPid))
}

const openMark = (file: string, pid: number) => `${file}.${pid}.open`

function formatOffset(offset: number): string {
  return String(offset).padStart(16, '0')
}

interface ConsoleFile {
  readonly path: string
  /** Position of its first byte in all output. */
  readonly offset: number
}

/** Oldest first. */
function listFiles(file: string): ConsoleFile[] {
  const folder = dirname(file)
  const names = attemptList(folder).filter((name) => filePattern.exec(name)?.[1] === basename(file))
  return names
    .sort()
    .map((name) => ({ path: join(folder, name), offset: Number(filePattern.exec(name)?.[2]) }))
}

function attemptList(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
    throw error
  }
}

/**
 * A part of at most `maxBytes`. An offset beyond the end, as after the instance was replaced, reads from the beginning.
 *
 * @param until Where the output ends for this reader
 * @returns undefined when nothing was ever started
 */
export function readConsolePart(
  file: string,
  wish: ConsoleWish,
  maxBytes: number,
  until = Number.POSITIVE_INFINITY,
): ConsolePart | undefined {
  const whole = keptOutput(file)
  if (whole === undefined) return undefined
  const kept = { ...whole, end: Math.min(until, whole.end) }
  const wanted =
    'tail' in wish
      ? startOfLines(kept, wish.tail, maxBytes)
      : wish.offset > kept.end
        ? kept.start
        : wish.offset
  const from = Math.max(wanted, kept.start)
  const bytes = kept.read(from, Math.min(kept.end, from + maxBytes))
  const isCut = from > wanted || 'tail' in wish
  const shown = isCut ? withoutCutStart(bytes) : bytes
  const offset = from + bytes.length - shown.length
  const output = shown.subarray(0, completeLength(shown))
  return {
    output: output.toString(),
    offset,
    nextOffset: offset + output.length,
    endOffset: kept.end,
    lostBytes: 'tail' in wish ? 0 : offset - wanted,
    ...('tail' in wish && { line: lineAt(kept, offset) }),
  }
}

/** Offsets of the output that are kept, and when it last grew; undefined when nothing was ever started. */
export function extentOf(
  file: string,
): { readonly start: number; readonly end: number; readonly changedMs: number } | undefined {
  const files = listFiles(file).slice(-2)
  const [first, latest] = [files[0], files.at(-1)]
  if (first === undefined || latest === undefined) return undefined
  const state = statSync(latest.path, { throwIfNoEntry: false })
  return {
    start: first.offset,
    end: latest.offset + (state?.size ?? 0),
    changedMs: state?.mtimeMs ?? 0,
  }
}

function lineAt(kept: KeptOutput, offset: number): number {
  let line = 1
  for (let start = kept.start; start < offset; start += pieceBytes) {
    const piece = kept.read(start, Math.min(offset, start + pieceBytes))
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) line++
  }
  return line
}

/** The two latest files as one range of offsets. */
interface KeptOutput {
  readonly start: number
  readonly end: number
  /** @param to At most `end` */
  read(from: number, to: number): Buffer
}

function keptOutput(file: string): KeptOutput | undefined {
  const [former, latest] = [undefined, undefined, ...listFiles(file)].slice(-2)
  if (latest === undefined) return undefined
  const border = latest.offset
  const start = former?.offset ?? border
  const end = border + (statSync(latest.path, { throwIfNoEntry: false })?.size ?? 0)
  return {
    start,
    end,
    read: (from, to) => {
      const older =
        former && from < border
          ? readFrom(former.path, from - start, Math.min(to, border) - from)
          : undefined
      const newer =
        to > border
          ? readFrom(latest.path, Math.max(0, from - border), to - Math.max(from, border))
          : undefined
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

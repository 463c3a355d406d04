/** The audit log in rotated files, written by one process, linked by the hash chain. */
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { type FileLock, lockFile } from '@fairlead/base/storage/file-lock.ts'
import { type ChainHead, chainStart, parseRecord, sealEvents } from './chain.ts'
import {
  type AuditEvent,
  type AuditPage,
  type AuditQuery,
  type AuditRecord,
  type AuditSink,
  matchesQuery,
  toPage,
} from './event.ts'
import { dropIncompleteLine, firstLine, lastLine, linesOf } from './lines.ts'

interface FileSinkOptions {
  file: string
  maxBytes: number
  maxAgeMs: number
  now?: () => number
}

/** @throws {Error} when the file cannot be used; the message says what to do */
export async function openFileSink(options: FileSinkOptions): Promise<AuditSink> {
  const { file } = options
  let lock: FileLock | undefined
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    lock = lockFile(`${file}.lock`)
    return new FileSink(options, lock, await openCurrent(file))
  } catch (error) {
    lock?.close()
    throw new Error(
      `the audit log ${file} cannot be used: ${(error as Error).message}. Set audit.file to another one.`,
      {
        cause: error,
      },
    )
  }
}

/** All files of a log, the oldest first, the one that grows last. */
export function listAuditFiles(file: string): string[] {
  const folder = dirname(file)
  const { stem, extension } = partsOf(file)
  const isFormer = (name: string) =>
    name.startsWith(`${stem}-`) &&
    name.endsWith(extension) &&
    /^\d{12}$/.test(basename(name, extension).slice(stem.length + 1))
  const names = readdirSync(folder).filter(isFormer)
  const grows = statSync(file, { throwIfNoEntry: false }) === undefined ? [] : [file]
  return [...names.sort().map((name) => join(folder, name)), ...grows]
}

function partsOf(file: string): { stem: string; extension: string } {
  const extension = extname(file)
  return { stem: basename(file, extension), extension }
}

interface CurrentFile {
  readonly handle: FileHandle
  /** Tells whether the file under the name is still this one. */
  readonly inode: number
  size: number
  head: ChainHead
  firstAtMs: number | undefined
}

/** Goes on where the newest record ends, in whichever file that stands. @throws {Error} when it is no file or cannot be written */
async function openCurrent(file: string): Promise<CurrentFile> {
  const known = statSync(file, { throwIfNoEntry: false })
  if (known !== undefined && !known.isFile()) throw new Error('it is no regular file')
  if (known !== undefined) await dropIncompleteLine(file)
  let head: ChainHead = chainStart
  for (const name of listAuditFiles(file).toReversed()) {
    const last = parseRecord(await lastLine(name))
    if (last === undefined) continue
    head = { sequence: last.sequence, hash: last.hash }
    break
  }
  const handle = await open(file, 'a', 0o600)
  const { size, ino } = await handle.stat()
  const firstAtMs =
    size === 0 ? Number.NaN : Date.parse(parseRecord(await firstLine(file))?.at ?? '')
  return {
    handle,
    inode: ino,
    size,
    head,
    firstAtMs: Number.isNaN(firstAtMs) ? undefined : firstAtMs,
  }
}

class FileSink implements AuditSink {
  readonly #options: FileSinkOptions
  readonly #lock: FileLock
  #current: CurrentFile
  /** Part of a record may stand at the end. */
  #untidy = false

  constructor(options: FileSinkOptions, lock: FileLock, current: CurrentFile) {
    this.#options = options
    this.#lock = lock
    this.#current = current
  }

  async append(events: readonly AuditEvent[]): Promise<void> {
    const moved = await this.#followName()
    await this.#tidy()
    const [{ atMs } = { atMs: 0 }] = events
    const sealed = sealEvents(this.#current.head, [...moved, ...events])
    const bytes = Buffer.from(sealed.map(({ line }) => `${line}\n`).join(''))
    if (this.#isFull(bytes.length, atMs)) await this.#rotate()
    const current = this.#current
    try {
      await current.handle.appendFile(bytes)
      await current.handle.datasync()
    } catch (error) {
      this.#untidy = true
      await this.#tidy().catch(() => {})
      throw error
    }
    const last = sealed.at(-1)?.record ?? current.head
    current.head = { sequence: last.sequence, hash: last.hash }
    current.size += bytes.length
    current.firstAtMs ??= atMs
  }

  async find(query: AuditQuery): Promise<AuditPage> {
    const found: AuditRecord[] = []
    for (const file of listAuditFiles(this.#options.file).toReversed()) {
      if (await isOlder(file, query.fromMs ?? -Infinity)) break
      found.push(...(await findIn(file, query, query.limit + 1 - found.length)))
      if (found.length > query.limit) break
    }
    return toPage(found, query.limit)
  }

  async *since(fromMs: number): AsyncIterable<AuditRecord> {
    for (const file of listAuditFiles(this.#options.file).toReversed()) {
      if (await isOlder(file, fromMs)) return
      for await (const line of linesOf(file)) {
        const record = parseRecord(line)
        if (record !== undefined && Date.parse(record.at) >= fromMs) yield record
      }
    }
  }

  async *lines(): AsyncIterable<string> {
    for (const file of listAuditFiles(this.#options.file)) yield* linesOf(file)
  }

  async removeBefore(untilMs: number): Promise<void> {
    // The newest file stays, since it holds the end of the chain.
    for (const file of listAuditFiles(this.#options.file).slice(0, -1)) {
      if (!(await isOlder(file, untilMs))) return
      await rm(file)
    }
  }

  async removeBeyond(maxBytes: number): Promise<boolean> {
    const files = listAuditFiles(this.#options.file).map((file) => ({
      file,
      size: statSync(file).size,
    }))
    let total = files.reduce((sum, { size }) => sum + size, 0)
    let removed = false
    for (const { file, size } of files.slice(0, -1)) {
      if (total <= maxBytes) break
      await rm(file)
      total -= size
      removed = true
    }
    return removed
  }

  async close(): Promise<void> {
    await this.#current.handle.close()
    this.#lock.close()
  }

  /** Another program may have moved or removed the file: what is written there from then on would be lost without a word. */
  async #followName(): Promise<AuditEvent[]> {
    const { file, now = Date.now } = this.#options
    const { handle, inode, head } = this.#current
    const present = await stat(file).catch(() => undefined)
    if (present?.ino === inode && present.size >= this.#current.size) return []
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const next = await openCurrent(file)
    await handle.close()
    // The chain goes on, so that what is gone shows as a gap.
    this.#current = { ...next, head: next.head.sequence > head.sequence ? next.head : head }
    this.#untidy = false
    return [
      {
        kind: 'audit',
        decision: 'failed',
        atMs: now(),
        reason: 'the file of the log was moved, removed or truncated by another program',
      },
    ]
  }

  #isFull(bytes: number, atMs: number): boolean {
    const { size, firstAtMs = atMs } = this.#current
    const { maxBytes, maxAgeMs } = this.#options
    return size > 0 && (size + bytes > maxBytes || atMs - firstAtMs >= maxAgeMs)
  }

  async #rotate(): Promise<void> {
    const { file } = this.#options
    const { stem, extension } = partsOf(file)
    const { head, handle } = this.#current
    const next = join(
      dirname(file),
      `${stem}-${String(head.sequence).padStart(12, '0')}${extension}`,
    )
    await rename(file, next)
    const fresh = await open(file, 'a', 0o600)
    this.#current = {
      handle: fresh,
      inode: (await fresh.stat()).ino,
      size: 0,
      head,
      firstAtMs: undefined,
    }
    await handle.close()
  }

  async #tidy(): Promise<void> {
    if (!this.#untidy) return
    await this.#current.handle.truncate(this.#current.size)
    this.#untidy = false
  }
}

async function isOlder(file: string, thanMs: number): Promise<boolean> {
  if (thanMs === -Infinity) return false
  const last = parseRecord(await lastLine(file))
  return last !== undefined && Date.parse(last.at) < thanMs
}

/** The oldest go once there are more than wanted: the newest match comes first. */
async function findIn(file: string, query: AuditQuery, wanted: number): Promise<AuditRecord[]> {
  const found: AuditRecord[] = []
  for await (const line of linesOf(file)) {
    const record = parseRecord(line)
    if (record === undefined || !matchesQuery(record, query)) continue
    found.push(record)
    if (found.length > wanted) found.shift()
  }
  return found.reverse()
}

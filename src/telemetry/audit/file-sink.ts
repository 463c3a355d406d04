/** The audit log in files: one that grows, and those before it, which the chain runs through. */
import { createReadStream, mkdirSync, readdirSync, statSync } from 'node:fs'
import { type FileHandle, open, readFile, rename, rm, truncate } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { AuditSink } from './audit-sink.ts'
import { type ChainHead, chainStart, parseRecord, sealEvents } from './chain.ts'
import { type AuditEvent, type AuditPage, type AuditQuery, type AuditRecord, matchesQuery, toPage } from './event.ts'

export interface FileSinkOptions {
  /** Absolute path of the file that grows. */
  file: string
  maxBytes: number
  maxAgeMs: number
}

/** @throws {Error} when the file cannot be used */
export async function openFileSink(options: FileSinkOptions): Promise<AuditSink> {
  const { file } = options
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  await dropIncompleteLine(file)
  const files = listAuditFiles(file)
  let head: ChainHead = chainStart
  for (const name of files.toReversed()) {
    const last = await lastRecord(name)
    if (last === undefined) continue
    head = last
    break
  }
  const handle = await open(file, 'a', 0o600)
  const { size } = await handle.stat()
  const [first] = size === 0 ? [] : await readLines(file, 1)
  const firstAtMs = Date.parse(parseRecord(first ?? '')?.at ?? '')
  return new FileSink(options, handle, { size, head, firstAtMs: Number.isNaN(firstAtMs) ? undefined : firstAtMs })
}

/** All files of a log, the oldest first, the one that grows last. */
export function listAuditFiles(file: string): string[] {
  const folder = dirname(file)
  const { stem, extension } = partsOf(file)
  const names = readdirSync(folder).filter((name) => {
    if (!name.startsWith(`${stem}-`) || !name.endsWith(extension)) return false
    return /^\d{12}$/.test(name.slice(stem.length + 1, name.length - extension.length))
  })
  const grows = statSync(file, { throwIfNoEntry: false }) === undefined ? [] : [file]
  return [...names.sort().map((name) => join(folder, name)), ...grows]
}

function partsOf(file: string): { stem: string; extension: string } {
  const extension = extname(file)
  return { stem: basename(file, extension), extension }
}

interface Growth {
  /** Bytes of complete records. */
  size: number
  head: ChainHead
  /** Time of the first record in the file. */
  firstAtMs: number | undefined
}

class FileSink implements AuditSink {
  readonly #options: FileSinkOptions
  #handle: FileHandle
  #growth: Growth
  /** Part of a record may stand at the end. */
  #untidy = false

  constructor(options: FileSinkOptions, handle: FileHandle, growth: Growth) {
    this.#options = options
    this.#handle = handle
    this.#growth = growth
  }

  async append(events: readonly AuditEvent[]): Promise<void> {
    await this.#tidy()
    const [{ atMs } = { atMs: 0 }] = events
    const sealed = sealEvents(this.#growth.head, events)
    const bytes = Buffer.from(sealed.map(({ line }) => `${line}\n`).join(''))
    if (this.#isFull(bytes.length, atMs)) await this.#rotate()
    try {
      await this.#handle.appendFile(bytes)
      await this.#handle.datasync()
    } catch (error) {
      this.#untidy = true
      await this.#tidy().catch(() => {})
      throw error
    }
    const { size, head, firstAtMs = atMs } = this.#growth
    this.#growth = { size: size + bytes.length, head: sealed.at(-1)?.record ?? head, firstAtMs }
  }

  readonly find = async (query: AuditQuery): Promise<AuditPage> => {
    const found: AuditRecord[] = []
    for (const file of listAuditFiles(this.#options.file).toReversed()) {
      found.push(...(await findIn(file, query, query.limit + 1 - found.length)))
      if (found.length > query.limit) break
    }
    return toPage(found, query.limit)
  }

  async removeBefore(untilMs: number): Promise<void> {
    // The newest file stays, since it holds the end of the chain.
    for (const file of listAuditFiles(this.#options.file).slice(0, -1)) {
      const last = await lastRecord(file)
      if (last !== undefined && Date.parse(last.at) >= untilMs) return
      await rm(file)
    }
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  #isFull(bytes: number, atMs: number): boolean {
    const { size, firstAtMs = atMs } = this.#growth
    const { maxBytes, maxAgeMs } = this.#options
    return size > 0 && (size + bytes > maxBytes || atMs - firstAtMs >= maxAgeMs)
  }

  async #rotate(): Promise<void> {
    const { file } = this.#options
    const { stem, extension } = partsOf(file)
    const { head } = this.#growth
    const next = join(dirname(file), `${stem}-${String(head.sequence).padStart(12, '0')}${extension}`)
    await rename(file, next)
    const former = this.#handle
    this.#handle = await open(file, 'a', 0o600)
    this.#growth = { size: 0, head, firstAtMs: undefined }
    await former.close()
  }

  async #tidy(): Promise<void> {
    if (!this.#untidy) return
    await this.#handle.truncate(this.#growth.size)
    this.#untidy = false
  }
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

/** The lines of a file, one at a time. */
export function linesOf(file: string): AsyncIterable<string> {
  return createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })
}

async function readLines(file: string, count: number): Promise<string[]> {
  const lines: string[] = []
  for await (const line of linesOf(file)) {
    lines.push(line)
    if (lines.length >= count) break
  }
  return lines
}

async function lastRecord(file: string): Promise<AuditRecord | undefined> {
  const lines = (await readFile(file, 'utf8')).trimEnd()
  return parseRecord(lines.slice(lines.lastIndexOf('\n') + 1))
}

/** What was being written when the process ended was confirmed to nobody. */
async function dropIncompleteLine(file: string): Promise<void> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0)
    throw error
  })
  const end = bytes.lastIndexOf(10) + 1
  if (end < bytes.length) await truncate(file, end)
}

/** Uploads a folder: a list of its files, then the contents that the instance does not have. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text as readText } from 'node:stream/consumers'
import { createGzip } from 'node:zlib'
import type { Client } from '../client.ts'
import { exitCodes, Failure, misuse } from '../failure.ts'
import { pathOf } from '../path-of.ts'
import { type FolderFile, type ListedFolder, listFolder, submodulesOf } from './folder.ts'

export interface UploadedFolder {
  /** Id at the instance. */
  readonly source: string
  readonly files: number
  readonly sentFiles: number
  readonly sentBytes: number
}

interface SourceAnswer {
  readonly source: string
  readonly complete: boolean
  readonly missing: readonly string[]
}

const blockBytes = 512
/** A file may change while it is sent. */
const attempts = 2

/** @throws {Failure} */
export async function uploadFolder(
  client: Client,
  application: string,
  folder: string,
): Promise<UploadedFolder> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(client, application, { folder, listed: await listFolder(folder) })
    } catch (error) {
      const isChanged = error instanceof Failure && /is not missing|archive/.test(error.message)
      if (!isChanged || attempt === attempts) throw error
    }
  }
}

/** Files of a commit, in a folder that is removed afterwards. @throws {Failure} with 3 for an unknown revision */
export async function withRevision<T>(
  folder: string,
  revision: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const copy = await mkdtemp(join(tmpdir(), 'fairlead-deploy-'))
  try {
    await extract(folder, revision, copy)
    return await work(copy)
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

/** With the files of its submodules. */
async function extract(folder: string, revision: string, to: string): Promise<void> {
  const archive = spawn('git', ['archive', '--format=tar', revision, '.'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const unpack = spawn('tar', ['-xf', '-', '-C', to], { stdio: ['pipe', 'ignore', 'pipe'] })
  archive.stdout.pipe(unpack.stdin)
  unpack.stdin.on('error', () => {})
  const [words, faults, [code], [unpacked]] = await Promise.all([
    readText(archive.stderr),
    readText(unpack.stderr),
    once(archive, 'close'),
    once(unpack, 'close'),
  ])
  if (code !== 0 || unpacked !== 0)
    throw misuse(
      `The revision "${revision}" cannot be read: ${(words.trim() || faults.trim() || `tar ended with ${unpacked}`).replace(/^fatal: /, '').replace(/[^.]$/, '$&.')}`,
      'Name a branch, a tag or a commit of the repository, or none to deploy the folder as it is.',
    )
  for (const [path, commit] of await submodulesOf(folder, revision)) {
    if (!existsSync(join(folder, path, '.git')))
      throw misuse(
        `${path} is a submodule of Git without its files.`,
        'Get them with: git submodule update --init',
      )
    await extract(join(folder, path), commit, join(to, path))
  }
}

async function send(
  client: Client,
  application: string,
  { folder, listed }: { readonly folder: string; readonly listed: ListedFolder },
): Promise<UploadedFolder> {
  if (listed.files.length === 0)
    throw misuse('The folder has no files to send.', 'Check .gitignore and .fairleadignore.')
  const { source, missing, complete } = await client.post<SourceAnswer>(
    pathOf`/apps/${application}/sources`,
    listed,
  )
  const wanted = new Set(missing)
  const files = [...new Map(listed.files.map((file) => [file.sha256, file])).values()].filter(
    ({ sha256 }) => wanted.has(sha256),
  )
  if (!complete) {
    const archive = Readable.from(tarOf(folder, files), { objectMode: false }).pipe(createGzip())
    const answer = await client.put<SourceAnswer>(
      pathOf`/apps/${application}/sources/${source}`,
      undefined,
      { bytes: archive, headers: { 'content-type': 'application/x-tar' } },
    )
    if (!answer.complete)
      throw new Failure(
        exitCodes.failed,
        'UPLOAD_INCOMPLETE',
        'The folder was not sent completely.',
        {
          remedy: 'Deploy again.',
        },
      )
  }
  return {
    source,
    files: listed.files.length,
    sentFiles: files.length,
    sentBytes: files.reduce((sum, { size }) => sum + size, 0),
  }
}

/** Entries are named by their digests. */
async function* tarOf(folder: string, files: readonly FolderFile[]): AsyncIterable<Buffer> {
  for (const { path, size, sha256 } of files) {
    yield toHeader(sha256, size)
    let sent = 0
    for await (const piece of createReadStream(join(folder, path), {
      end: Math.max(size - 1, 0),
    })) {
      sent += (piece as Buffer).length
      yield piece as Buffer
    }
    // It became shorter, which its digest shows at the instance.
    if (sent < size) yield Buffer.alloc(size - sent)
    yield Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes)
  }
  yield Buffer.alloc(2 * blockBytes)
}

/** @see POSIX.1-2017, pax, ustar Interchange Format */
function toHeader(name: string, size: number): Buffer {
  const header = Buffer.alloc(blockBytes)
  header.write(name, 0, 'latin1')
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1')
  octal(0o644, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(size, 124, 12)
  octal(0, 136, 12)
  header.write('        ', 148, 'latin1')
  header.write('0ustar\x0000', 156, 'latin1')
  header.write('ustar\x0000', 257, 'latin1')
  header.fill(0, 157, 257)
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  )
  header.write('\0 ', 154, 'latin1')
  return header
}

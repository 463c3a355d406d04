/** `fairlead image`: manages the images that users upload, while Fairlead runs. */

import { createHash } from 'node:crypto'
import {
  createReadStream,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  Stats,
  statSync,
} from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '@fairlead/base/errors.ts'
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { socketPathFor } from '@fairlead/base/storage/socket-path.ts'
import { parseImageId } from '@fairlead/ports/image-file.ts'
import { providerDeclarations } from '@fairlead/providers/declarations.ts'
import type { UploadLimits } from '@fairlead/providers/provider-type.ts'
import type { ReadEntry } from 'tar'
import { Client, type Dispatcher } from 'undici'
import { choose, Misuse, readArguments } from './arguments.ts'
import { command } from './command-name.ts'
import { configOption, readConfig } from './read-config.ts'
import { findServer } from './server-process.ts'

const options = {
  account: { type: 'string', multiple: true },
  region: { type: 'string', multiple: true },
  label: { type: 'string', multiple: true },
  tag: { type: 'string', multiple: true },
  url: { type: 'string' },
  ...configOption,
} as const

type Values = ReturnType<typeof parse>['values']

type Send = (call: {
  method: Dispatcher.HttpMethod
  path: string
  body?: Dispatcher.DispatchOptions['body']
  headers?: Record<string, string>
}) => Promise<unknown>

interface Input {
  readonly id: string
  readonly path: string
  readonly values: Values
  readonly limits: UploadLimits | undefined
}

const actions: Readonly<Record<string, (send: Send, input: Input) => Promise<string>>> = {
  async push(send, { id, path, values, limits }) {
    const query = toQuery(values)
    const image = toImage(
      await withArchive(path, limits, ({ file, bytes, digest }) =>
        send({
          method: 'PUT',
          path: `${pathOf(id)}${query}`,
          body: createReadStream(file),
          headers: {
            'content-type': 'application/x-tar',
            'content-length': String(bytes),
            'content-digest': `sha-256=:${digest}:`,
          },
        }),
      ),
    )
    return `image ${id} stored: ${describeContent(image)}\n`
  },
  async list(send) {
    const images = list(toImage)(await send({ method: 'GET', path: standalone.imagesPath }))
    const lines = images.map((image) =>
      [image.imageId, image.attributes.creationDate, describeContent(image)].join('\t'),
    )
    return lines.map((line) => `${line}\n`).join('')
  },
  async show(send, { id }) {
    return `${JSON.stringify(await send({ method: 'GET', path: pathOf(id) }), undefined, 2)}\n`
  },
  async remove(send, { id }) {
    await send({ method: 'DELETE', path: pathOf(id) })
    return `image ${id} removed\n`
  },
}

export async function run(args: readonly string[]): Promise<number> {
  const { positionals, values } = parse(args)
  const [action = '', id = '', path = ''] = positionals
  const act = choose(actions, action, 'image')
  if (action !== 'list' && parseImageId(id) === undefined) {
    throw new Misuse(
      'image',
      id === ''
        ? 'Say which image: NAME:VERSION.'
        : `"${id.slice(0, 100)}" is no NAME:VERSION of an image.`,
    )
  }
  if (action === 'push' && path === '')
    throw new Misuse('image', 'Say which directory or archive is the image.')
  const { send, close, limits } = await connect(args, values.url)
  try {
    process.stdout.write(await act(send, { id, path, values, limits }))
    return 0
  } finally {
    await close()
  }
}

function parse(args: readonly string[]) {
  return readArguments(args, { command: 'image', options, words: 3 })
}

function pathOf(id: string): string {
  const { name = '', version = '' } = parseImageId(id) ?? {}
  return `${standalone.imagesPath}/${encodeURIComponent(name)}/${encodeURIComponent(version)}`
}

/** @throws {GatewayError} BAD_ARGUMENT for a label or tag without value */
function toQuery({ account, region, label = [], tag = [] }: Values): string {
  const query = new URLSearchParams()
  if (account !== undefined) query.set('accounts', account.join(','))
  if (region !== undefined) query.set('regions', region.join(','))
  for (const [kind, pairs] of Object.entries({ label, tag })) {
    for (const pair of pairs) {
      const mark = pair.indexOf('=')
      if (mark < 1)
        throw new GatewayError(
          'BAD_ARGUMENT',
          `--${kind} is written as NAME=VALUE, and "${pair}" is not.`,
        )
      query.set(`${kind}:${pair.slice(0, mark)}`, pair.slice(mark + 1))
    }
  }
  return query.size === 0 ? '' : `?${query}`
}

const origin = shape({ kind: or(textOf, 'upload') })
const toImage = shape({
  imageId: textOf,
  attributes: shape({ size: String, digest: String, creationDate: String, origin }),
})
const toRefusal = shape({ message: textOf })

function describeContent({
  attributes: { size, digest, origin },
}: ShapeOf<typeof toImage>): string {
  return `${size} bytes, ${digest}, by ${origin.kind}`
}

interface ImageArchive {
  readonly file: string
  readonly bytes: number
  /** SHA-256 in Base64. */
  readonly digest: string
}

/** An archive as it is, a directory packed into a temporary file, so that its digest goes ahead of it. */
async function withArchive<T>(
  path: string,
  limits: UploadLimits | undefined,
  use: (archive: ImageArchive) => Promise<T>,
): Promise<T> {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined)
    throw new GatewayError('NOT_FOUND', `There is no file or directory ${path}.`)
  if (!found.isDirectory()) return use(await measure(path))
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-image-'))
  try {
    const file = join(folder, 'image.tar.gz')
    const { create } = await import('tar')
    const leftOut: string[] = []
    const filter = (entry: string, found: Stats | ReadEntry) => {
      if (isPrivate(entry)) return false
      const kind = found instanceof Stats ? specialKindOf(found) : undefined
      if (kind !== undefined) leftOut.push(`${JSON.stringify(entry)} is a ${kind}`)
      return kind === undefined
    }
    // The asynchronous form of the library breaks off at files that have a second name.
    try {
      if (limits !== undefined) checkSize(path, limits)
      create({ cwd: path, file, mode: 0o600, gzip: true, portable: true, filter, sync: true }, [
        '.',
      ])
    } catch (error) {
      if (error instanceof GatewayError) throw error
      throw new GatewayError('BAD_ARGUMENT', explainUnpacked(error as NodeJS.ErrnoException), {
        cause: error,
      })
    }
    if (leftOut.length > 0) process.stderr.write(describeLeftOut(leftOut))
    return await use(await measure(file))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function isPrivate(entry: string): boolean {
  return entry === './.git' || entry.startsWith('./.git/')
}

/** Fairlead would refuse what is too large only once it is packed and sent. @throws {GatewayError} BAD_ARGUMENT */
function checkSize(
  folder: string,
  { maxBytes, maxEntries, bytesKey, entriesKey }: UploadLimits,
): void {
  let [bytes, entries] = [0, 0]
  const add = (below: string) => {
    for (const name of readdirSync(join(folder, below))) {
      const entry = `${below}/${name}`
      const found = isPrivate(entry)
        ? undefined
        : lstatSync(join(folder, entry), { throwIfNoEntry: false })
      if (found === undefined || specialKindOf(found) !== undefined) continue
      entries++
      if (found.isFile()) bytes += found.size
      if (bytes > maxBytes) throw tooLarge(`${maxBytes} bytes`, bytesKey)
      if (entries > maxEntries) throw tooLarge(`${maxEntries} entries`, entriesKey)
      if (found.isDirectory()) add(entry)
    }
  }
  add('.')
}

function tooLarge(most: string, setting: string): GatewayError {
  return new GatewayError(
    'BAD_ARGUMENT',
    `The directory has more than ${most}. Make it smaller, or raise ${setting}.`,
  )
}

/** Names come as UTF-8, so that a file with another name is not found by the one that was read. */
function explainUnpacked({ code, path, message }: NodeJS.ErrnoException): string {
  const isMisread = code === 'ENOENT' && path?.includes('\ufffd') === true
  return `The directory cannot be packed: ${isMisread ? `the name ${JSON.stringify(path)} is not UTF-8; rename the file` : message}.`
}

function specialKindOf(found: Stats): string | undefined {
  if (found.isFIFO()) return 'FIFO'
  if (found.isSocket()) return 'socket'
  return found.isBlockDevice() || found.isCharacterDevice() ? 'device' : undefined
}

const shownLeftOut = 10

function describeLeftOut(leftOut: readonly string[]): string {
  const rest = leftOut.length - shownLeftOut
  const more = rest > 0 ? `; ${rest} more` : ''
  return `Not in the image, which has files, directories and links only: ${leftOut.slice(0, shownLeftOut).join('; ')}${more}.\n`
}

async function measure(file: string): Promise<ImageArchive> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return { file, bytes: statSync(file).size, digest: hash.digest('base64') }
}

/** Time for an upload, which the other side unpacks before it answers. */
const answerMs = 600_000
const startMs = 30_000
const startPauseMs = 100

interface Fairlead {
  readonly send: Send
  close(): Promise<void>
  readonly limits: UploadLimits | undefined
}

async function connect(args: readonly string[], url: string | undefined): Promise<Fairlead> {
  const { origin, prefix, headers, socketPath, limits } =
    url === undefined ? await ownSocket(args) : remote(url)
  const client = new Client(origin, {
    ...(socketPath !== undefined && { socketPath }),
    headersTimeout: answerMs,
    bodyTimeout: answerMs,
  })
  const send: Send = async ({ path, body, headers: more, method }) => {
    const answer = await client
      .request({
        method,
        path: prefix + path,
        body: body ?? null,
        headers: { ...headers, ...more },
      })
      .catch((error: NodeJS.ErrnoException) => {
        throw new GatewayError('NOT_FOUND', explainAbsence(error, socketPath, origin), {
          cause: error,
        })
      })
    const text = await answer.body.text()
    if (answer.statusCode >= 300)
      throw new GatewayError('BAD_ARGUMENT', explainRefusal(answer.statusCode, text))
    return text === '' ? undefined : JSON.parse(text)
  }
  return { send, close: () => client.close(), limits }
}

interface UploadServer {
  readonly origin: string
  readonly prefix: string
  readonly headers: Record<string, string>
  readonly socketPath: string | undefined
  readonly limits: UploadLimits | undefined
}

async function ownSocket(args: readonly string[]): Promise<UploadServer> {
  const { config } = await readConfig(args)
  const socketPath = socketPathFor(config.backends.dataDir, 'backends.sock')
  await awaitStart(config.backends.dataDir, socketPath)
  const { username } = userInfo()
  const headers = {
    'x-spinnaker-user': encodeURIComponent(username),
    'x-fairlead-operator': 'command line',
  }
  const type = providerDeclarations.find(({ id }) => id === standalone.provider)
  const settings = config.backends.infrastructure?.providers[standalone.provider]
  const limits = settings === undefined ? undefined : type?.uploadLimits?.(settings)
  return { origin: 'http://fairlead', prefix: '/clouddriver', headers, socketPath, limits }
}

/** A Fairlead that has just been started opens its socket a moment later. */
async function awaitStart(dataDir: string, socketPath: string): Promise<void> {
  const endMs = performance.now() + startMs
  while (!existsSync(socketPath) && findServer(dataDir) !== undefined && performance.now() < endMs)
    await sleep(startPauseMs)
}

function remote(url: string): UploadServer {
  const parsed = URL.parse(url)
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new Misuse(
      'image',
      `--url is an address such as https://fairlead.example, and "${url.slice(0, 100)}" is not.`,
    )
  }
  const token = process.env['FAIRLEAD_TOKEN']
  return {
    origin: parsed.origin,
    prefix: parsed.pathname.replace(/\/$/, ''),
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    socketPath: undefined,
    limits: undefined,
  }
}

function explainAbsence(
  { code, message }: NodeJS.ErrnoException,
  socketPath: string | undefined,
  origin: string,
): string {
  if (socketPath === undefined) return `${origin} cannot be reached: ${message}.`
  if (code !== 'ENOENT' && code !== 'ECONNREFUSED')
    return `Fairlead cannot be asked (${socketPath}): ${message}.`
  return `No Fairlead runs with this data directory (${socketPath}). Start one with ${command('serve')}, or name another with --url.`
}

function explainRefusal(status: number, text: string): string {
  if (status === 401) return 'A login is needed: put an API token into the variable FAIRLEAD_TOKEN.'
  // A proxy in between answers with a page.
  return toRefusal(parseIfJson(text)).message ?? `The answer was ${status}.`
}

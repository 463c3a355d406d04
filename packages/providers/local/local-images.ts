/** Images of this machine as the contract has them, and the upload. */

import { Readable } from 'node:stream'
import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import { commaList } from '@fairlead/base/names/comma-list.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { createRegexMeter, matchesWhole } from '@fairlead/base/regex/bounded-regex.ts'
import { RegexError } from '@fairlead/base/regex/regex-syntax.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import type { ImageDescription } from '@fairlead/ports/machine.ts'
import { userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue, queryValue } from '@fairlead/ports/requests/request-values.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ImageStore, isInAccount, type StoredImage } from '../images/image-store.ts'
import type { ImageQuery, ImageReads } from '../infrastructure/provider.ts'
import { readableImage } from '../infrastructure/providers.ts'
import type { Desired } from './desired.ts'
import type { OperationParts } from './operations/parts.ts'
import type { LocalSettings } from './settings.ts'

/** Sent by the command line, which reaches the socket in the data directory with the rights of its owner; never by the gateway. */
const operatorHeader = 'x-fairlead-operator'
const minQueryLength = 3
/** Each has a process of its own, with some 60 MB. */
const unpackedAtATime = 4
/** Limits of one user, and of all; from the first byte until the image is stored. */
const maxUserUploads = 16
const maxUploads = 64
const retryAfterSeconds = 5
const maxFound = 1000

/** Accounts that have an image, in a region where one is given. */
function accountsOf(image: StoredImage, { accounts }: LocalSettings, region?: string): string[] {
  return accounts
    .filter(({ name }) => isInAccount(image, name))
    .filter(({ regions }) => region === undefined || regions.some((each) => each.name === region))
    .map(({ name }) => name)
}

function regionsOf(image: StoredImage, settings: LocalSettings): string[] {
  const names = settings.accounts.flatMap(({ regions }) => regions.map(({ name }) => name))
  return [...new Set(names)].filter(
    (name) => image.regions === undefined || image.regions.includes(name),
  )
}

function hasImage(
  image: StoredImage,
  account: string,
  region: string,
  settings: LocalSettings,
): boolean {
  return (
    accountsOf(image, settings, region).includes(account) &&
    regionsOf(image, settings).includes(region)
  )
}

/** Accounts whose image it is: a change needs the right to change each of them. */
export function imageOwnersOf(
  { accounts }: Pick<StoredImage, 'accounts'>,
  settings: LocalSettings,
): readonly string[] {
  return accounts ?? settings.accounts.map(({ name }) => name)
}

/** The image of an account, by its id or by its name as clients list it. */
export function findImage(
  images: ImageStore,
  idOrName: string,
  account: string,
): StoredImage | undefined {
  const isMeant = (image: StoredImage) =>
    imageNameOf(image) === idOrName && isInAccount(image, account)
  return images.get(idOrName, account) ?? images.all().find(isMeant)
}

function imageNameOf({ name, version }: Pick<StoredImage, 'name' | 'version'>): string {
  return `${name}-${version}`
}

export function buildInfoOf({ name, version, labels }: StoredImage): JsonObject {
  const { commit, branch, buildInfoUrl, job, buildNumber, host } = labels
  return {
    package_name: name,
    version,
    ...(commit !== undefined && { commit }),
    ...(branch !== undefined && { branch }),
    ...(buildInfoUrl !== undefined && { buildInfoUrl }),
    ...(buildNumber !== undefined && {
      jenkins: { name: job ?? name, number: buildNumber, host: host ?? '' },
    }),
  }
}

function toView(image: StoredImage, settings: LocalSettings): JsonObject {
  const { id, name, version, digest, size, files, createdMs, labels, tags, origin } = image
  return {
    imageName: imageNameOf(image),
    imageId: id,
    name,
    version,
    attributes: {
      creationDate: new Date(createdMs).toISOString(),
      architecture: process.arch,
      digest,
      size,
      files,
      labels,
      origin,
    },
    accounts: accountsOf(image, settings),
    amis: Object.fromEntries(regionsOf(image, settings).map((region) => [region, [id]])),
    tagsByImageId: { [id]: tags },
    tags,
    buildInfo: buildInfoOf(image),
    ...definedOf({ volumes: image.program.volumes }),
  }
}

export function createImageReads(images: ImageStore, settings: LocalSettings): ImageReads {
  return {
    find(query) {
      const { text = '' } = query
      if (text.length < minQueryLength) {
        throw new PortError(
          400,
          `The query parameter "q" needs at least ${minQueryLength} characters.`,
        )
      }
      return images
        .all()
        .filter((image) => isFound(image, query, settings))
        .sort(
          (one, other) =>
            rankOf(one, text) - rankOf(other, text) ||
            (imageNameOf(one) < imageNameOf(other) ? -1 : 1),
        )
        .slice(0, maxFound)
        .map((image) => toView(image, settings))
    },
    tags: (account, repository) =>
      images
        .all()
        .filter(
          (image) => image.name === repository && accountsOf(image, settings).includes(account),
        )
        .map(({ version }) => version),
    details(account, region, id) {
      const image = findImage(images, id, account)
      return image === undefined || !hasImage(image, account, region, settings)
        ? []
        : [toView(image, settings)]
    },
  }
}

function isFound(
  image: StoredImage,
  { text = '', account, region, tags }: ImageQuery,
  settings: LocalSettings,
): boolean {
  const marks = new Map(
    Object.entries(image.tags).map(([name, value]) => [name.toLowerCase(), value.toLowerCase()]),
  )
  return (
    (image.id === text || matchesGlob(imageNameOf(image), text)) &&
    (region === undefined || regionsOf(image, settings).includes(region)) &&
    (account === undefined || accountsOf(image, settings, region).includes(account)) &&
    [...tags].every(([name, value]) => marks.get(name) === value)
  )
}

function rankOf(image: StoredImage, text: string): number {
  const at = imageNameOf(image)
    .toLowerCase()
    .indexOf(text.toLowerCase().replaceAll(/[*?[\]]/g, ''))
  return at === -1 ? Number.MAX_SAFE_INTEGER : at
}

/** `*`, `?`, `[a-c]` and `[!abc]`; a text without them may stand anywhere. */
function matchesGlob(name: string, glob: string): boolean {
  const pattern = (/[*?[]/.test(glob) ? glob : `*${glob}*`)
    .toLowerCase()
    .replaceAll(/\[(!?)([^\]]+)\]|[\s\S]/g, toRegexPart)
  try {
    return matchesWhole(pattern, name.toLowerCase(), createRegexMeter())
  } catch (error) {
    if (error instanceof RegexError) return false
    throw error
  }
}

function toRegexPart(
  part: string,
  negation: string | undefined,
  listed: string | undefined,
): string {
  if (part === '*') return '.*'
  if (part === '?') return '.'
  const literal = (text: string) => text.replaceAll(/[^\w-]/g, '\\$&')
  return listed === undefined ? literal(part) : `[${negation === '!' ? '^' : ''}${literal(listed)}]`
}

/** What runs the image or its content, in words. */
export function usersOf(image: StoredImage, desired: Desired): string[] {
  const isHere = ({ account }: { readonly account: string }) => isInAccount(image, account)
  return [
    ...[...desired.all('groups')]
      .filter((group) => isHere(group) && group.image.id === image.id)
      .map(({ name }) => `the server group ${name}`),
    ...[...desired.all('jobs')]
      .filter((job) => isHere(job) && job.image === image.id)
      .map(({ id }) => `the job ${id}`),
    ...[...desired.all('instances')]
      .filter((instance) => isHere(instance) && instance.program.digest === image.digest)
      .map(({ id }) => `the instance ${id}`),
  ]
}

/** Content stays as long as an instance that was started with it may be started again. @throws {PortError} 409 */
export function removeImage(image: StoredImage, images: ImageStore, desired: Desired): void {
  const users = usersOf(image, desired)
  if (users.length > 0) {
    const shown =
      users.slice(0, 5).join(', ') + (users.length > 5 ? ` and ${users.length - 5} more` : '')
    throw new PortError(409, `The image ${image.id} is in use by ${shown}. Destroy them first.`)
  }
  images.remove(image)
}

type ImageParts = Pick<OperationParts, 'context' | 'images' | 'desired' | 'settings'>

const imagePath = `${standalone.imagesPath}/:name/:version`

/**
 * `PUT /local/images/{name}/{version}` with a tar archive as its body; `DELETE` of the same path; `GET /local/images` and
 * `GET /local/images/{name}/{version}`. Query of the upload: `accounts`, `regions` (comma lists), `label:<name>`, `tag:<name>`; of the
 * deletion: `accounts`, where several have different images of that version.
 */
export function imageRoutes(app: FastifyInstance, parts: ImageParts): void {
  const { images, settings, desired } = parts
  app.get(standalone.imagesPath, (request) => readable(request, parts, images.all()))
  app.get(imagePath, async (request) => {
    const [image] = await readable(request, parts, requireImages(request, images))
    if (image === undefined) throw imageMissing(request)
    return image
  })
  app.delete(imagePath, async (request, reply) => {
    const meant = requireImages(request, images)
    const accounts = meant.flatMap((image) => imageOwnersOf(image, settings))
    await checkWriter(request, parts, accounts, meant.length > 1)
    for (const image of meant) removeImage(image, images, desired)
    return reply.code(204).send()
  })
  app.register((upload, _options, done) => {
    // The archive is read as it arrives, so no parser may collect it.
    upload.removeAllContentTypeParsers()
    upload.addContentTypeParser('*', (_request, payload, ready) => ready(null, payload))
    const uploads = new Uploads(parts)
    upload.put(imagePath, (request, reply) => uploads.receive(request, reply))
    done()
  })
}

/**
 * Uploads are received into files, of which a few are unpacked at a time; beyond the bounds of uploads, 429.
 * `Content-Digest: sha-256=:…:` (RFC 9530) is checked.
 */
class Uploads {
  readonly #parts: ImageParts
  readonly #line = new ConcurrencyLimit(unpackedAtATime)
  /** The user of each that runs. */
  readonly #running: string[] = []

  constructor(parts: ImageParts) {
    this.#parts = parts
  }

  async receive(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { settings, images } = this.#parts
    const description = await this.#descriptionOf(request)
    const digest = digestOf(request)
    const user = userOf(request)
    if (
      this.#running.length >= maxUploads ||
      this.#running.filter((other) => other === user).length >= maxUserUploads
    ) {
      reply.header('retry-after', retryAfterSeconds)
      throw new PortError(
        429,
        `A user may upload ${maxUserUploads} images at a time, and all users ${maxUploads}. Try again in a moment.`,
      )
    }
    this.#running.push(user)
    try {
      const image = await images.addUpload(bytesOf(request.body), description, {
        digest,
        line: this.#line,
      })
      return reply.code(201).send(toView(image, settings))
    } finally {
      this.#running.splice(this.#running.indexOf(user), 1)
    }
  }

  /** @throws {PortError} 400, 403, 503 */
  async #descriptionOf(request: FastifyRequest): Promise<ImageDescription> {
    const { settings } = this.#parts
    const accounts = namesIn(request, 'accounts')
    const unknown = accounts?.find((account) =>
      settings.accounts.every(({ name }) => name !== account),
    )
    if (unknown !== undefined) throw new PortError(400, `The account "${unknown}" does not exist.`)
    await checkWriter(
      request,
      this.#parts,
      imageOwnersOf({ accounts }, settings),
      accounts === undefined,
    )
    return {
      name: pathValue(request, 'name'),
      version: pathValue(request, 'version'),
      labels: prefixed(request, 'label:'),
      tags: prefixed(request, 'tag:'),
      origin: { kind: 'upload', user: userOf(request) },
      accounts,
      regions: namesIn(request, 'regions'),
    }
  }
}

/** The rest of an archive that is refused early is dropped: otherwise the next request of its connection would wait behind it. */
async function* bytesOf(body: unknown): AsyncIterable<Uint8Array> {
  if (!(body instanceof Readable)) return
  try {
    yield* body.iterator({ destroyOnReturn: false })
  } finally {
    body.resume()
  }
}

/** Images of the accounts in the query, or all of that version. @throws {PortError} 404 */
function requireImages(
  request: FastifyRequest,
  images: ImageStore,
): [StoredImage, ...StoredImage[]] {
  const accounts = namesIn(request, 'accounts')
  const [first, ...others] = images
    .named(idOf(request))
    .filter(
      (image) => accounts === undefined || accounts.some((account) => isInAccount(image, account)),
    )
  if (first === undefined) throw imageMissing(request)
  return [first, ...others]
}

function imageMissing(request: FastifyRequest): PortError {
  return new PortError(404, `Image not found (id: ${idOf(request)})`)
}

function idOf(request: FastifyRequest): string {
  return `${pathValue(request, 'name')}:${pathValue(request, 'version')}`
}

/** @throws {PortError} 503 */
async function readable(
  request: FastifyRequest,
  { context, settings }: ImageParts,
  images: readonly StoredImage[],
): Promise<JsonObject[]> {
  const views = images.map((image) => toView(image, settings))
  if (request.headers[operatorHeader] !== undefined) return views
  const access = await requireAccess(context, userOf(request))
  return views.flatMap((view) => readableImage(view, access))
}

/** @throws {PortError} 403 unless the caller may change all of the accounts; 503 */
async function checkWriter(
  request: FastifyRequest,
  { context }: ImageParts,
  accounts: readonly string[],
  mayNameFewer: boolean,
): Promise<void> {
  if (request.headers[operatorHeader] !== undefined) return
  const access = await requireAccess(context, userOf(request))
  const denied = accounts.find((account) => !access.mayOnAccount(account, 'WRITE'))
  if (denied === undefined) return
  const hint = mayNameFewer
    ? ' Name those that you may change in the query parameter "accounts".'
    : ''
  throw new PortError(403, `Access denied to account ${denied}.${hint}`, {
    exception: 'AccessDenied',
  })
}

function namesIn(request: FastifyRequest, name: string): string[] | undefined {
  const names = commaList(queryValue(request, name) ?? '')
  return names.length === 0 ? undefined : names
}

function prefixed(request: FastifyRequest, prefix: string): Record<string, string> {
  const entries = Object.entries({ ...(request.query as object) }).filter(([name]) =>
    name.startsWith(prefix),
  )
  return Object.fromEntries(
    entries.map(([name, value]) => [name.slice(prefix.length), String(value)]),
  )
}

/** @throws {PortError} 400 when the header cannot be read */
function digestOf(request: FastifyRequest): string | undefined {
  const header = request.headers['content-digest']
  if (header === undefined) return undefined
  const [, encoded] = /(?:^|[\s,])sha-256=:([A-Za-z0-9+/]{43}=):/.exec(String(header)) ?? []
  if (encoded === undefined)
    throw new PortError(400, 'The header Content-Digest has no sha-256: write sha-256=:<base64>:.')
  return `sha256:${Buffer.from(encoded, 'base64').toString('hex')}`
}

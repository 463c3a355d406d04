/** Kustomizations that are an artifact of their own: the files that they name are fetched beside them. */
import { posix } from 'node:path'
import { isObject, type JsonObject, textsOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { parseAllDocuments } from 'yaml'
import type { FetchedArtifact, ManifestBake } from './manifest-type.ts'

const kustomizationNames = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'] as const

/** Fields with files, or folders that have a kustomization of their own. */
const baseFields = ['resources', 'bases', 'components']
/** Fields with configurations of Kustomize's parts, in files, folders, or as they are. */
const configurationFields = ['generators', 'transformers', 'validators']
/** Fields with a text that Kustomize takes for content, and never for a path. */
const contentFields: ReadonlySet<string> = new Set([
  ...[
    'literals',
    'patch',
    'labels',
    'commonLabels',
    'annotations',
    'commonAnnotations',
    'images',
    'metadata',
    'vars',
    'options',
  ],
])

interface FoundPath {
  readonly path: string
  readonly kind: 'base' | 'configuration' | 'file'
}

/** Reading YAML takes long, and nothing else is done meanwhile. */
const maxYamlLength = 128 * 1024

/** @throws {PortError} 400 for a text that is no YAML, or too long */
function parseDocuments(text: string, name: string): JsonObject[] {
  if (text.length > maxYamlLength)
    throw new PortError(
      400,
      `${name} is longer than ${maxYamlLength} characters. Use a repository as input artifact.`,
    )
  try {
    const documents = [...parseAllDocuments(text)]
    for (const { errors } of documents) for (const error of errors) throw error
    return documents
      .map((document) => document.toJS({ maxAliasCount: 10 }) as unknown)
      .filter(isObject)
  } catch (error) {
    throw new PortError(400, `${name} cannot be read: ${(error as Error).message}`)
  }
}

/** Texts that may be paths; those with several lines are content. */
function pathsOf(kustomization: JsonObject): FoundPath[] {
  return Object.entries(kustomization).flatMap(([name, value]): FoundPath[] => {
    // Kustomize takes names of fields in any case.
    const field = name.toLowerCase()
    if (baseFields.includes(field)) return toPaths(textsOf(value), 'base')
    if (configurationFields.includes(field)) return toPaths(textsOf(value), 'configuration')
    return contentFields.has(name) ? [] : toPaths(leavesOf(value), 'file')
  })
}

function toPaths(texts: readonly string[], kind: FoundPath['kind']): FoundPath[] {
  return texts.filter((text) => !text.includes('\n')).map((path) => ({ path, kind }))
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(leavesOf)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([field, each]) =>
    contentFields.has(field) ? [] : leavesOf(each),
  )
}

const maxFiles = 200

/** @returns the folder of the kustomization below the work folder @throws {PortError} 400, and those of fetches */
export async function downloadKustomization(
  root: string,
  { artifact, content }: FetchedArtifact,
  bake: ManifestBake,
): Promise<string> {
  const address = URL.parse(String(artifact['reference'] ?? ''))
  const isAddress = address !== null && /^https?:$/.test(address.protocol)
  const path = isAddress ? placeOf(address) : kustomizationNames[0]
  if (isAddress && !kustomizationNames.some((name) => name === posix.basename(path)))
    throw new PortError(
      400,
      `The input artifact must be a repository, or a ${kustomizationNames[0]}, and is ${address.pathname}.`,
    )
  const download = new Download(root, artifact, bake)
  const folder = await download.keep(path, content)
  await download.follow(content, path, isAddress ? address : undefined)
  return folder
}

/** `..` cannot lead above the root of an address. */
function placeOf({ pathname }: URL): string {
  return decodeURIComponent(pathname).replace(/^\/+/, '')
}

class Download {
  readonly #root: string
  readonly #artifact: JsonObject
  readonly #bake: ManifestBake
  readonly #seen = new Set<string>()

  constructor(root: string, artifact: JsonObject, bake: ManifestBake) {
    this.#root = root
    this.#artifact = artifact
    this.#bake = bake
  }

  /** @returns its folder */
  async keep(path: string, content: Buffer): Promise<string> {
    if (path.split('/').includes('..') || path.includes('\0'))
      throw new PortError(400, `"${path}" is no path of a file.`)
    this.#seen.add(path)
    if (this.#seen.size > maxFiles)
      throw new PortError(
        400,
        `The kustomization has more than ${maxFiles} files. Use a repository.`,
      )
    return posix.dirname(this.#bake.work.write(posix.join(this.#root, path), content))
  }

  async follow(content: Buffer, path: string, address: URL | undefined): Promise<void> {
    for (const document of parseDocuments(content.toString('utf8'), path)) {
      for (const { path: named, kind } of pathsOf(document)) {
        if (/^[a-z]+:|^git@/i.test(named) || named.startsWith('/')) continue
        if (kind === 'file' && !/\.[A-Za-z]+$/.test(named)) continue
        if (address === undefined)
          throw new PortError(
            400,
            `${path} names ${named}, and is no file at an address. Use a repository as input artifact.`,
          )
        const relativePath = named.slice(named.indexOf('=') + 1)
        if (kind === 'base' && !/\.(?:ya?ml|json)$/.test(named))
          await this.#fetchFolder(new URL(`${relativePath}/`, address))
        else await this.#fetchFile(new URL(relativePath, address))
      }
    }
  }

  async #fetchFile(address: URL): Promise<Buffer | undefined> {
    const path = placeOf(address)
    if (this.#seen.has(path)) return undefined
    const content = await this.#bake.fetch({ ...this.#artifact, reference: address.href })
    await this.keep(path, content)
    return content
  }

  async #fetchFolder(folder: URL): Promise<void> {
    for (const name of kustomizationNames) {
      const address = new URL(name, folder)
      try {
        const content = await this.#fetchFile(address)
        return content && (await this.follow(content, placeOf(address), address))
      } catch (error) {
        if (!(error instanceof PortError) || error.status !== 404) throw error
      }
    }
    throw new PortError(
      404,
      `There is no ${kustomizationNames.join(', ')} at ${folder.host}${folder.pathname}.`,
    )
  }
}

/** Files of Maven repositories: `maven/file`. */

import {
  authorizationHeader,
  loadLogin,
  loginKeys,
} from '@fairlead/base/outside/account-credentials.ts'
import { operatorAddress } from '@fairlead/base/outside/call-outside.ts'
import { createSource, type SourceGet, shownAddress } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { httpAddress } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { z } from 'zod'
import { type Artifact, type ArtifactAccount, listedAccounts } from './account-type.ts'
import { ContentCache, type Digest, parseDigest } from './digests.ts'

interface MavenCoordinates {
  readonly group: string
  readonly artifact: string
  readonly extension: string
  readonly classifier: string | undefined
  /** Undefined: the newest release. */
  readonly version: string | undefined
}

const form = 'group:artifact[:extension[:classifier]]:version'

/** @param version For a reference without one @throws {PortError} 400 */
function parseCoordinates(reference: string, version: string | undefined): MavenCoordinates {
  const parts = reference.split(':')
  const isWhole = parts.length >= 3
  const [group = '', artifact = '', extension = 'jar', classifier] = isWhole
    ? parts.slice(0, -1)
    : parts
  const found = {
    group,
    artifact,
    extension,
    classifier,
    version: isWhole ? parts.at(-1) : version,
  }
  const isWrong = [group, artifact, extension, classifier, found.version].some(
    (part) => part !== undefined && !isName(part),
  )
  if (parts.length < 2 || parts.length > 5 || isWrong)
    throw new PortError(
      400,
      `"${reference}" is no artifact of a Maven repository: write it as ${form}.`,
    )
  return found
}

function isName(part: string): boolean {
  return /^[\w.+-]+$/.test(part) && !/^\.+$/.test(part) && !part.includes('..')
}

function folderOf({ group, artifact }: MavenCoordinates): string {
  return `${group.replaceAll('.', '/')}/${artifact}`
}

/** @param fileVersion Of a snapshot, with the time of its build */
function fileOf(coordinates: MavenCoordinates, version: string, fileVersion = version): string {
  const { artifact, classifier, extension } = coordinates
  return `${folderOf(coordinates)}/${version}/${artifact}-${fileVersion}${classifier === undefined ? '' : `-${classifier}`}.${extension}`
}

interface MavenMetadata {
  readonly release: string | undefined
  readonly latest: string | undefined
  /** In the order of deployment, newest last. */
  readonly versions: readonly string[]
}

/** The elements are looked for as text: what matters of the format has no attributes and no nesting of its own kind. */
function parseMetadata(xml: string): MavenMetadata {
  const versioning = elementOf(withoutComments(xml), 'versioning') ?? ''
  return {
    release: elementOf(versioning, 'release'),
    latest: elementOf(versioning, 'latest'),
    versions: elementsOf(elementOf(versioning, 'versions') ?? '', 'version'),
  }
}

/** The version in the name of a snapshot's file, such as `1.2-20261124.101010-7`; undefined where the metadata has none. */
function snapshotVersion(
  xml: string,
  { extension, classifier, version = '' }: MavenCoordinates,
): string | undefined {
  const versioning = elementOf(withoutComments(xml), 'versioning') ?? ''
  const files = elementsOf(elementOf(versioning, 'snapshotVersions') ?? '', 'snapshotVersion')
  const own = files.find(
    (each) =>
      elementOf(each, 'extension') === extension && elementOf(each, 'classifier') === classifier,
  )
  if (own !== undefined) return elementOf(own, 'value')
  const snapshot = elementOf(versioning, 'snapshot') ?? ''
  const [timestamp, build] = [elementOf(snapshot, 'timestamp'), elementOf(snapshot, 'buildNumber')]
  if (timestamp === undefined || build === undefined) return undefined
  return version.replace(/SNAPSHOT$/, `${timestamp}-${build}`)
}

function withoutComments(xml: string): string {
  const parts = xml.split('<!--')
  return parts.map((part, index) => (index === 0 ? part : (part.split('-->')[1] ?? ''))).join('')
}

function elementOf(xml: string, name: string): string | undefined {
  return elementsOf(xml, name)[0]
}

function elementsOf(xml: string, name: string): string[] {
  const parts = xml.split(`<${name}>`).slice(1)
  return parts.flatMap((part) => {
    const end = part.indexOf(`</${name}>`)
    return end === -1 ? [] : [part.slice(0, end).trim()]
  })
}

const MavenAccount = z.strictObject({
  ...loginKeys,
  repositoryUrl: httpAddress.describe('Address of the repository.'),
})
type MavenAccount = z.infer<typeof MavenAccount>

export const mavenArtifacts = listedAccounts({
  id: 'maven',
  enabled: 'Fetch artifacts of type `maven/file`.',
  accounts: 'Maven repositories, each with its login.',
  account: MavenAccount,
  open: openAccounts,
})

function openAccounts(
  accounts: readonly MavenAccount[],
  { settings: { outside } }: BackendContext,
): ArtifactAccount[] {
  const cache = new ContentCache()
  return accounts.map((account) => {
    const source = createSource({ outside, configured: account.repositoryUrl })
    const open = () => openReading(account, source())
    return {
      name: account.name,
      types: ['maven/file'],
      fetch: async (artifact) => fetchFile(artifact, await open(), cache),
      async versions(name) {
        const { versions } = await loadMetadata(parseCoordinates(name, undefined), await open())
        return versions.toReversed()
      },
    }
  })
}

interface MavenReading {
  readonly account: MavenAccount
  find(path: string): Promise<Buffer | undefined>
}

async function openReading(account: MavenAccount, get: SourceGet): Promise<MavenReading> {
  const credentials = authorizationHeader(await loadLogin(account))
  return {
    account,
    async find(path) {
      const answer = await get(operatorAddress(account.repositoryUrl, `/${path}`), {
        credentials,
        expects: [404],
      })
      return answer.status === 404 ? undefined : answer.bytes
    },
  }
}

async function fetchFile(
  { reference, name, version }: Artifact,
  reading: MavenReading,
  cache: ContentCache,
): Promise<Buffer> {
  const { account, find } = reading
  const coordinates = parseCoordinates(reference ?? name ?? '', version)
  const path = await findPath(coordinates, reading)
  const place = `${shownAddress(account.repositoryUrl)}/${path}`
  const load = async () => {
    const content = await find(path)
    if (content === undefined)
      throw new PortError(404, `The artifact cannot be fetched: ${place} does not exist.`)
    return content
  }
  const digest = await loadChecksum(path, reading)
  return digest === undefined ? load() : cache.fetch(account.name, digest, place, load)
}

/** Repositories have a checksum of each file beside it, not all of them the strong one. */
async function loadChecksum(path: string, { find }: MavenReading): Promise<Digest | undefined> {
  for (const algorithm of ['sha256', 'sha1']) {
    const text = (await find(`${path}.${algorithm}`))?.toString('utf8').trim().split(/\s/)[0]
    const digest = text === undefined ? undefined : parseDigest(`${algorithm}:${text}`)
    if (digest !== undefined) return digest
  }
  return undefined
}

async function findPath(coordinates: MavenCoordinates, reading: MavenReading): Promise<string> {
  const version = await chooseVersion(coordinates, reading)
  if (!version.endsWith('-SNAPSHOT')) return fileOf(coordinates, version)
  const metadata = await reading.find(`${folderOf(coordinates)}/${version}/maven-metadata.xml`)
  const built = metadata && snapshotVersion(metadata.toString('utf8'), { ...coordinates, version })
  return fileOf(coordinates, version, built ?? version)
}

/** `RELEASE` and `LATEST` of Maven, `latest.release` and `latest.integration` of Ivy and Gradle. */
async function chooseVersion(
  coordinates: MavenCoordinates,
  reading: MavenReading,
): Promise<string> {
  const { version = 'RELEASE' } = coordinates
  const wanted = version.toUpperCase()
  const isRelease = wanted === 'RELEASE' || wanted === 'LATEST.RELEASE'
  if (!isRelease && wanted !== 'LATEST' && wanted !== 'LATEST.INTEGRATION') return version
  const { release, latest, versions } = await loadMetadata(coordinates, reading)
  const found = isRelease
    ? (release ?? versions.findLast((each) => !each.endsWith('-SNAPSHOT')))
    : (latest ?? versions.at(-1))
  if (found !== undefined && /^[\w.+-]+$/.test(found) && !found.includes('..')) return found
  const { group, artifact } = coordinates
  throw new PortError(
    404,
    `The repository ${shownAddress(reading.account.repositoryUrl)} names no ${version} of ${group}:${artifact}.`,
  )
}

async function loadMetadata(coordinates: MavenCoordinates, { account, find }: MavenReading) {
  const path = `${folderOf(coordinates)}/maven-metadata.xml`
  const metadata = await find(path)
  if (metadata !== undefined) return parseMetadata(metadata.toString('utf8'))
  throw new PortError(
    404,
    `The artifact cannot be fetched: ${shownAddress(account.repositoryUrl)}/${path} does not exist.`,
  )
}

/** Files of Maven repositories: `maven/file`. */

import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { authorizationHeader, loadLogin, loginKeys } from '@fairlead/base/outside/account-credentials.ts'
import { operatorAddress } from '@fairlead/base/outside/call-outside.ts'
import { createSource, type SourceGet, shownAddress } from '@fairlead/base/outside/source-calls.ts'
import { httpAddress } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import { z } from 'zod'
import { listedAccounts } from './account-type.ts'
import type { ArtifactAccount } from './artifact-account.ts'
import { ContentCache, type Digest, parseDigest } from './digests.ts'
import { fileOf, folderOf, type MavenCoordinates, parseCoordinates, parseMetadata, snapshotVersion } from './maven-coordinates.ts'

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

function openAccounts(accounts: readonly MavenAccount[], { settings: { outside } }: BackendContext): ArtifactAccount[] {
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

interface Reading {
  readonly account: MavenAccount
  /** @returns undefined for what is missing */
  find(path: string): Promise<Buffer | undefined>
}

async function openReading(account: MavenAccount, get: SourceGet): Promise<Reading> {
  const credentials = authorizationHeader(await loadLogin(account))
  return {
    account,
    async find(path) {
      const answer = await get(operatorAddress(account.repositoryUrl, `/${path}`), { credentials, expects: [404] })
      return answer.status === 404 ? undefined : answer.bytes
    },
  }
}

async function fetchFile(artifact: JsonObject, reading: Reading, cache: ContentCache): Promise<Buffer> {
  const { account, find } = reading
  const coordinates = parseCoordinates(
    textOf(artifact['reference']) ?? textOf(artifact['name']) ?? '',
    textOf(artifact['version']),
  )
  const path = await findPath(coordinates, reading)
  const place = `${shownAddress(account.repositoryUrl)}/${path}`
  const load = async () => {
    const content = await find(path)
    if (content === undefined) throw new PortError(404, `The artifact cannot be fetched: ${place} does not exist.`)
    return content
  }
  const digest = await loadChecksum(path, reading)
  return digest === undefined ? load() : cache.fetch(account.name, digest, place, load)
}

/** Repositories have a checksum of each file beside it, not all of them the strong one. */
async function loadChecksum(path: string, { find }: Reading): Promise<Digest | undefined> {
  for (const algorithm of ['sha256', 'sha1']) {
    const text = (await find(`${path}.${algorithm}`))?.toString('utf8').trim().split(/\s/)[0]
    const digest = text === undefined ? undefined : parseDigest(`${algorithm}:${text}`)
    if (digest !== undefined) return digest
  }
  return undefined
}

async function findPath(coordinates: MavenCoordinates, reading: Reading): Promise<string> {
  const version = await chooseVersion(coordinates, reading)
  if (!version.endsWith('-SNAPSHOT')) return fileOf(coordinates, version)
  const metadata = await reading.find(`${folderOf(coordinates)}/${version}/maven-metadata.xml`)
  const built = metadata === undefined ? undefined : snapshotVersion(metadata.toString('utf8'), { ...coordinates, version })
  return fileOf(coordinates, version, built ?? version)
}

/** `RELEASE` and `LATEST` of Maven, `latest.release` and `latest.integration` of Ivy and Gradle. */
async function chooseVersion(coordinates: MavenCoordinates, reading: Reading): Promise<string> {
  const { version = 'RELEASE' } = coordinates
  const wanted = version.toUpperCase()
  const isRelease = wanted === 'RELEASE' || wanted === 'LATEST.RELEASE'
  if (!isRelease && wanted !== 'LATEST' && wanted !== 'LATEST.INTEGRATION') return version
  const { release, latest, versions } = await loadMetadata(coordinates, reading)
  const found = isRelease ? (release ?? versions.findLast((each) => !each.endsWith('-SNAPSHOT'))) : (latest ?? versions.at(-1))
  if (found !== undefined && /^[\w.+-]+$/.test(found) && !found.includes('..')) return found
  const { group, artifact } = coordinates
  throw new PortError(
    404,
    `The repository ${shownAddress(reading.account.repositoryUrl)} names no ${version} of ${group}:${artifact}.`,
  )
}

async function loadMetadata(coordinates: MavenCoordinates, { account, find }: Reading) {
  const path = `${folderOf(coordinates)}/maven-metadata.xml`
  const metadata = await find(path)
  if (metadata !== undefined) return parseMetadata(metadata.toString('utf8'))
  throw new PortError(404, `The artifact cannot be fetched: ${shownAddress(account.repositoryUrl)}/${path} does not exist.`)
}

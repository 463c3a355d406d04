/** Packages of npm registries: `npm/package`, as the archives that are published. */

import { parseJson } from '@fairlead/base/json/json.ts'
import { or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { objectOf, textOf } from '@fairlead/base/json/values.ts'
import {
  artifactTokenKeys,
  authorizationHeader,
  loadLogin,
  loginKeys,
} from '@fairlead/base/outside/account-credentials.ts'
import { addressFrom, operatorAddress } from '@fairlead/base/outside/call-outside.ts'
import { createSource, type SourceGet, shownAddress } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { httpAddress } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import semver from 'semver'
import { z } from 'zod'
import { type Artifact, type ArtifactAccount, listedAccounts } from './account-type.ts'
import { ContentCache, parseDigest } from './digests.ts'

const NpmAccount = z.strictObject({
  ...loginKeys,
  ...artifactTokenKeys,
  registry: httpAddress.default('https://registry.npmjs.org').describe('Address of the registry.'),
})
type NpmAccount = z.infer<typeof NpmAccount>

const toPackage = shape({ versions: objectOf, tags: [objectOf, 'dist-tags'] })
type Package = ShapeOf<typeof toPackage>

const toVersion = shape({
  dist: shape({ tarball: textOf, integrity: or(textOf, ''), shasum: or(textOf, '') }),
})

export const npmArtifacts = listedAccounts({
  id: 'npm',
  enabled: 'Fetch artifacts of type `npm/package`.',
  accounts: 'Accounts at npm registries.',
  account: NpmAccount,
  open: openAccounts,
})

function openAccounts(
  accounts: readonly NpmAccount[],
  { settings: { outside } }: BackendContext,
): ArtifactAccount[] {
  const cache = new ContentCache()
  return accounts.map((account) => {
    const open = createSource({ outside, configured: account.registry })
    return {
      name: account.name,
      types: ['npm/package'],
      fetch: async (artifact) =>
        fetchPackage(artifact, {
          account,
          credentials: authorizationHeader(await loadLogin(account)),
          cache,
          get: open(),
        }),
      async versions(name) {
        const reading = {
          account,
          credentials: authorizationHeader(await loadLogin(account)),
          get: open(),
        }
        const { versions } = await loadPackage(checkName(name), reading)
        return Object.keys(versions)
          .filter((each) => semver.valid(each))
          .sort(semver.rcompare)
      },
    }
  })
}

interface PackageReading {
  readonly account: NpmAccount
  readonly credentials: Readonly<Record<string, string>>
  readonly get: SourceGet
}

async function fetchPackage(
  artifact: Artifact,
  reading: PackageReading & { readonly cache: ContentCache },
): Promise<Buffer> {
  const { account, credentials, get, cache } = reading
  const name = checkName(artifact.name ?? artifact.reference ?? '')
  const wanted = artifact.version ?? 'latest'
  const found = await loadPackage(name, reading)
  const { dist } = toVersion(found.versions[chooseVersion(found, wanted) ?? ''])
  const { tarball: archive } = dist
  if (archive === undefined)
    throw new PortError(
      404,
      `The package ${name} has no version "${wanted}" at ${shownAddress(account.registry)}.`,
    )
  const isOwn = URL.parse(archive)?.origin === new URL(account.registry).origin
  const address = addressFrom(archive, [operatorAddress(account.registry)])
  const load = async () => (await get(address, { credentials: isOwn ? credentials : {} })).bytes
  const digest = [...dist.integrity.split(/\s+/), dist.shasum]
    .map(parseDigest)
    .find((each) => each !== undefined)
  return digest === undefined
    ? load()
    : cache.fetch(account.name, digest, shownAddress(archive), load)
}

/** @throws {PortError} 400 */
function checkName(name: string): string {
  if (/^(?:@[\w~.-]+\/)?(?!\.)[\w~.-]+$/.test(name)) return name
  throw new PortError(
    400,
    'An artifact of type npm/package needs the name of a package as "name", such as express or @shop/web.',
  )
}

async function loadPackage(
  name: string,
  { account, credentials, get }: PackageReading,
): Promise<Package> {
  const headers = { accept: 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8' }
  const answer = await get(operatorAddress(account.registry, `/${name.replace('/', '%2f')}`), {
    headers,
    credentials,
  })
  try {
    return toPackage(parseJson(answer.text))
  } catch {
    throw new PortError(
      502,
      `${shownAddress(account.registry)} does not describe the package ${name} as a registry of npm does.`,
    )
  }
}

/** A version, a tag such as `latest`, or a range such as `^2.1`. */
function chooseVersion({ versions, tags }: Package, wanted: string): string | undefined {
  if (Object.hasOwn(versions, wanted)) return wanted
  return textOf(tags[wanted]) ?? semver.maxSatisfying(Object.keys(versions), wanted) ?? undefined
}

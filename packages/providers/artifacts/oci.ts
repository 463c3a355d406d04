/** What OCI and Docker registries hold: images, Helm charts and single files. */

import { parseJson } from '@fairlead/base/json/json.ts'
import { objectList, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import {
  artifactTokenKeys,
  loadLogin,
  loginKeys,
} from '@fairlead/base/outside/account-credentials.ts'
import { createSource } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { httpAddress } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { z } from 'zod'
import { type Artifact, type ArtifactAccount, listedAccounts } from './account-type.ts'
import { ContentCache, parseDigest } from './digests.ts'
import { type ImageReference, isImageDigest, parseImageReference } from './image-reference.ts'
import { RegistryClient, RegistryTokens } from './registry-client.ts'

const RegistryAccount = z.strictObject({
  ...loginKeys,
  ...artifactTokenKeys,
  address: httpAddress.describe('Address of the registry, such as `https://registry.example`.'),
  repositories: z
    .array(z.string())
    .default([])
    .describe('Repositories to list. Default: those that the registry lists.'),
})
type RegistryAccount = z.infer<typeof RegistryAccount>

const toManifest = shape({
  layers: objectList(
    shape({
      mediaType: textOf,
      digest: textOf,
      annotations: shape({ title: [textOf, 'org.opencontainers.image.title'] }),
    }),
  ),
})
type Layer = ShapeOf<typeof toManifest>['layers'][number]

export const ociArtifacts = listedAccounts({
  id: 'oci',
  enabled:
    'Fetch artifacts from OCI and Docker registries: `helm/image`, `oci/file`, and manifests of `docker/image`.',
  accounts: 'Registries, each with its login.',
  account: RegistryAccount,
  open: openAccounts,
})

function openAccounts(
  accounts: readonly RegistryAccount[],
  { settings: { outside } }: BackendContext,
): ArtifactAccount[] {
  const cache = new ContentCache()
  return accounts.map((account) => {
    const { address, name, repositories } = account
    const tokens = new RegistryTokens(address)
    const open = createSource({ outside, configured: address })
    const connect = async () =>
      new RegistryClient({ address, tokens, login: await loadLogin(account), get: open() })
    return {
      name,
      types: ['docker/image', 'helm/image', 'oci/file'],
      checksDigest: true,
      fetch: async (artifact) =>
        fetchContent(artifact, { account, cache, client: await connect() }),
      names: async () =>
        repositories.length > 0 ? repositories : (await connect()).repositories(),
      versions: async (image) =>
        (await connect()).tags(toReference({ reference: image }, account).repository),
      host: new URL(address).host,
      digestOf: async (image, tag) => {
        const { repository } = toReference({ reference: image, version: tag }, account)
        return (await connect()).loadDigest(repository, tag)
      },
    }
  })
}

interface RegistryFetch {
  readonly account: RegistryAccount
  readonly cache: ContentCache
  readonly client: RegistryClient
}

async function fetchContent(
  artifact: Artifact,
  { account, cache, client }: RegistryFetch,
): Promise<Buffer> {
  const reference = toReference(artifact, account)
  const manifest = await client.loadManifest(reference)
  if (artifact.type === 'docker/image') return manifest
  const { repository } = reference
  const layer = chooseLayer(artifact, readManifest(manifest, repository), repository)
  const digest = parseDigest(layer)
  if (digest === undefined)
    throw new PortError(502, `The manifest of ${repository} has a layer with an unknown digest.`)
  return cache.fetch(account.name, digest, repository, () => client.loadBlob(repository, layer))
}

/** References name Docker Hub by other names than its address, and leave the owner of official images out. */
const dockerHub = { host: 'registry-1.docker.io', names: ['docker.io', 'index.docker.io'] }

/** The digest that a trigger has noted wins: its tag may have moved. @throws {PortError} 400 */
export function toReference(
  { reference, name, version, metadata }: Partial<Artifact>,
  account: Pick<RegistryAccount, 'name' | 'address'>,
): ImageReference {
  const found = parseImageReference(reference ?? name ?? '', version)
  const { host } = new URL(account.address)
  const isHub = host === dockerHub.host
  const isOwn =
    found.host === undefined ||
    found.host === host ||
    (isHub && dockerHub.names.includes(found.host))
  if (!isOwn)
    throw new PortError(
      400,
      `The artifact account "${account.name}" is for ${host}, and the artifact is at ${found.host}.`,
    )
  const noted = metadata?.digest
  const digest = found.digest ?? (noted !== undefined && isImageDigest(noted) ? noted : undefined)
  const isOfficial = isHub && !found.repository.includes('/')
  return {
    ...found,
    digest,
    repository: isOfficial ? `library/${found.repository}` : found.repository,
  }
}

function readManifest(manifest: Buffer, repository: string): Layer[] {
  try {
    return toManifest(parseJson(manifest.toString('utf8'))).layers
  } catch {
    throw new PortError(502, `The manifest of ${repository} is no JSON.`)
  }
}

const chartTypes = ['application/vnd.cncf.helm.chart.content.v1.tar+gzip', 'application/tar+gzip']

/** @returns its digest @throws {PortError} 400 */
function chooseLayer(
  { type, metadata: { subPath: wanted } }: Artifact,
  layers: readonly Layer[],
  repository: string,
): string {
  const titled = layers.filter(({ annotations }) => annotations.title === wanted)
  const charts = layers.filter(({ mediaType = '' }) => chartTypes.includes(mediaType))
  const found = type === 'helm/image' ? charts : wanted === undefined ? layers : titled
  const digest = found[0]?.digest
  if (found.length === 1 && digest !== undefined) return digest
  const advice =
    type === 'helm/image'
      ? 'It is no Helm chart.'
      : 'Name one of its files as "metadata.subPath"; images are no single files.'
  throw new PortError(
    400,
    `${repository} has ${found.length} contents of the type ${type} and not one. ${advice}`,
  )
}

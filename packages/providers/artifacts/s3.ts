/** Objects of S3 and of stores that are compatible with it: `s3/object`. */

import { encodeForAws, signAws } from '@fairlead/base/net/aws-signature.ts'
import {
  addressFrom,
  type OutsideAnswer,
  operatorAddress,
} from '@fairlead/base/outside/call-outside.ts'
import { useKeys } from '@fairlead/base/outside/outside-account.ts'
import { createSource, type SourceGet } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { httpAddress } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { z } from 'zod'
import { type Artifact, type ArtifactAccount, listedAccounts } from './account-type.ts'
import { checkDigest, parseDigest } from './digests.ts'

const text = z.string().min(1).optional()

const S3Account = z.strictObject({
  name: z.string().min(1).describe('Name, as stages choose it.'),
  ...useKeys,
  apiEndpoint: httpAddress.optional().describe('Address of the store. Default: S3 of the region.'),
  apiRegion: text.describe('Region in signatures; `region` is another name. Default: us-east-1.'),
  region: text.describe('Region of the buckets.'),
  awsAccessKeyId: text.describe('Access key; without one, objects must be public.'),
  awsSecretAccessKey: text.describe('Secret of the access key.'),
  signerOverride: text.describe('Without effect: requests have signatures of version 4.'),
})
type S3Account = z.infer<typeof S3Account>

export const s3Artifacts = listedAccounts({
  id: 's3',
  enabled: 'Fetch artifacts of type `s3/object`.',
  accounts: 'Accounts at S3, or at stores compatible with it.',
  account: S3Account,
  check(accounts, key, report) {
    for (const { name, awsAccessKeyId, awsSecretAccessKey } of accounts)
      if ((awsAccessKeyId === undefined) !== (awsSecretAccessKey === undefined))
        report.problem(
          key,
          `"${name}" needs both awsAccessKeyId and awsSecretAccessKey, or neither`,
        )
  },
  open: (accounts, context) => accounts.map((account) => openAccount(account, context)),
})

function openAccount(
  account: S3Account,
  { settings: { outside }, now }: BackendContext,
): ArtifactAccount {
  const region = account.apiRegion ?? account.region ?? 'us-east-1'
  const endpoint = account.apiEndpoint ?? `https://s3.${region}.amazonaws.com`
  const open = createSource({ outside, configured: endpoint })
  return {
    name: account.name,
    types: ['s3/object'],
    fetch: (artifact) =>
      fetchObject(artifact, { account, region, endpoint, get: open(), now: new Date(now()) }),
  }
}

interface ObjectFetch {
  readonly account: S3Account
  readonly region: string
  readonly endpoint: string
  readonly get: SourceGet
  readonly now: Date
}

async function fetchObject(
  artifact: Artifact,
  { account, region, endpoint, get, now }: ObjectFetch,
): Promise<Buffer> {
  const url = toUrl(artifact, endpoint)
  const { awsAccessKeyId: accessKeyId, awsSecretAccessKey: secretAccessKey } = account
  const asked = { 'x-amz-checksum-mode': 'ENABLED' }
  const credentials =
    accessKeyId === undefined || secretAccessKey === undefined
      ? asked
      : signAws({
          url,
          service: 's3',
          region,
          body: '',
          credentials: { accessKeyId, secretAccessKey },
          now,
          headers: asked,
        })
  const answer = await get(addressFrom(url.href, [operatorAddress(endpoint)]), {
    credentials,
    isFixed: true,
    expects: [301, 307, 400, 403],
  })
  if (answer.status !== 200) throw toRefusal(answer, url, { account, region })
  return checkSum(answer, url)
}

/** @throws {PortError} 400 */
function toUrl({ reference = '', version }: Artifact, endpoint: string): URL {
  const [, bucket = '', key = ''] = /^s3:\/\/([a-z0-9][a-z0-9._-]+)\/(.+)$/s.exec(reference) ?? []
  const segments = key.split('/')
  if (bucket === '' || segments.some((each) => each === '.' || each === '..'))
    throw new PortError(
      400,
      'An artifact of type s3/object needs an object as "reference", such as s3://bucket/folder/app.yml.',
    )
  const url = new URL(`${endpoint}/${bucket}/${segments.map(encodeForAws).join('/')}`)
  if (version !== undefined) url.searchParams.set('versionId', version)
  return url
}

function toRefusal(
  { status, headers, text: body }: OutsideAnswer,
  url: URL,
  { account, region }: Pick<ObjectFetch, 'account' | 'region'>,
) {
  const code = /<Code>([\w.]{1,80})<\/Code>/.exec(body)?.[1]
  const owner = headers['x-amz-bucket-region']
  const place = `The artifact cannot be fetched: ${url.host}${url.pathname} answered with ${status}${code === undefined ? '' : ` ${code}`}.`
  const advice =
    typeof owner === 'string' && owner !== region
      ? `The bucket is in the region ${owner}: set apiRegion of the artifact account "${account.name}".`
      : `Check access key, region and rights of the artifact account "${account.name}".`
  return new PortError(502, `${place} ${advice}`)
}

/** For an object that was uploaded in parts, the store has only a checksum of checksums. */
function checkSum({ headers, bytes }: OutsideAnswer, url: URL): Buffer {
  for (const algorithm of ['sha256', 'sha1'] as const) {
    const digest = parseDigest(
      `${algorithm}-${String(headers[`x-amz-checksum-${algorithm}`] ?? '')}`,
    )
    if (digest !== undefined) return checkDigest(bytes, digest, `${url.host}${url.pathname}`)
  }
  return bytes
}

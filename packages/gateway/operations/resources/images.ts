/** Images, charts and artifacts, and the bakery. */

import { GatewayError } from '@fairlead/base/errors.ts'
import {
  AnyObject,
  alike,
  bytes,
  described,
  integer,
  maybeText,
  model,
  nothing,
  TextList,
  textModel,
} from '@fairlead/base/json/schemas.ts'
import { isObject } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { Artifact } from '@fairlead/model/environments/pipeline-models.ts'
import { z } from 'zod'
import { escapeHtml } from '../../http/page.ts'
import { parseAccept } from '../../http/parse-accept.ts'
import { get, operationsWith, put } from '../declare.ts'
import {
  decidedByService,
  demandsNothing,
  readsApplication,
  readsSharedOfAccount,
  sharedKnowledge,
} from '../demands.ts'
import { BakeOptions } from '../models/builds.ts'
import { ImageModel } from '../models/infrastructure.ts'
import {
  DirectAnswer,
  type Operation,
  type OperationRequest,
  StreamedAnswer,
} from '../operation.ts'
import type { Platform } from '../platform.ts'
import { readObject } from '../upstream-shape.ts'

const provider = textModel.default('aws')
const { imagesPath, provider: ownProvider } = standalone
const uploadedImage = `${imagesPath}/{name}/{version}`

const registryProvider = textModel
  .default('aws')
  .describe('Cloud provider whose registries are asked.')

const Chart = described('Chart', 'name', 'account', 'version')

const found = operationsWith({ core: true })
const local = operationsWith({ forward: 'clouddriver' })

export const imageOperations: Operation[] = [
  found.get('findImagesUsingGET', '/images/find', 'Search images', {
    demands: sharedKnowledge,
    description:
      'Searches images. Every other query parameter is a filter of the cloud provider, such as `tag:stage`.',
    query: {
      provider,
      ...alike(maybeText, 'q', 'region', 'account'),
      count: integer.optional(),
    },
    handle: findImages,
    cost: 5,
    answer: z.array(ImageModel),
  }),
  found.get('findTagsUsingGET', '/images/tags', 'List tags of an image', {
    demands: sharedKnowledge,
    query: { provider, account: textModel, repository: textModel },
    forward: 'clouddriver /{provider}/images/tags',
    answer: TextList,
  }),
  found.get('getImageDetailsUsingGET', '/images/{account}/{region}/{imageId}', 'Get an image', {
    demands: readsSharedOfAccount,
    description: 'One machine image, as a list of normally one element.',
    query: { provider },
    forward: 'clouddriver /{provider}/images/{account}/{region}/{imageId}',
    answer: z.array(ImageModel),
  }),
  local.get('listLocalImages', imagesPath, 'List images of this machine', {
    demands: sharedKnowledge,
    description: `Images of the provider \`${ownProvider}\`, the newest first.`,
    answer: z.array(ImageModel),
  }),
  local.get('getLocalImage', uploadedImage, 'Get an image of this machine', {
    demands: sharedKnowledge,
    answer: ImageModel,
    errors: { 404: 'There is no such image.' },
  }),
  put('putLocalImage', uploadedImage, 'Upload an image', {
    demands: decidedByService,
    description:
      `Stores a tar archive, compressed with gzip or not, as an image of the provider \`${ownProvider}\`. Needs ` +
      'WRITE on the accounts that get it. `Content-Digest: sha-256=:…:` (RFC 9530) is checked. Further query parameters are ' +
      '`label:NAME` and `tag:NAME`.',
    query: {
      accounts: maybeText.describe(
        'Accounts that get the image, separated by commas. Default: all.',
      ),
      regions: maybeText.describe('Regions that get it, separated by commas. Default: all.'),
    },
    body: {
      schema: z.string().meta({ format: 'binary' }),
      required: true,
      raw: true,
      mediaType: 'application/x-tar',
      streams: true,
    },
    forward: { service: 'clouddriver', otherQuery: true },
    cost: 5,
    success: 201,
    answer: ImageModel,
    errors: {
      400: 'The archive is damaged or hostile, or says not how the image runs.',
      409: 'The version exists with another content.',
      413: `The image is larger than \`${ownProvider}.images.max-size\` allows.`,
      429: 'A user may upload 16 images at a time, and all users 64; `Retry-After` says when to try again.',
    },
  }),
  local.remove('deleteLocalImage', uploadedImage, 'Delete an image of this machine', {
    demands: decidedByService,
    description: 'Deletes an image of this machine. Needs WRITE on the accounts that have it.',
    query: {
      accounts: textModel
        .optional()
        .describe(
          'Of accounts with different images of that version, those whose image is meant, separated by commas. Default: all.',
        ),
    },
    answer: nothing,
    errors: { 404: 'There is no such image.', 409: 'Something runs it.' },
  }),
]

export const chartOperations: Operation[] = [
  get('findChartsUsingGET', '/charts/find', 'Search charts', {
    demands: sharedKnowledge,
    description: 'Charts whose name contains a text; every other query parameter is a filter.',
    query: {
      provider: registryProvider,
      ...alike(maybeText, 'q', 'region', 'account'),
      count: integer.optional().describe('Longest list that is wanted.'),
    },
    forward: { service: 'clouddriver', path: '/{provider}/charts/find', otherQuery: true },
    answer: z.array(Chart),
  }),
  get('findChartTagsUsingGET', '/charts/tags', 'List versions of a chart', {
    demands: sharedKnowledge,
    query: { provider: registryProvider, account: textModel, repository: textModel },
    forward: 'clouddriver /{provider}/charts/tags',
    answer: TextList,
  }),
  get('getChartDetailsUsingGET', '/charts/{account}/{region}/{imageId}', 'Get a chart', {
    demands: readsSharedOfAccount,
    query: { provider: registryProvider },
    forward: 'clouddriver /{provider}/charts/{account}/{region}/{imageId}',
    answer: z.array(Chart),
  }),
]

const ownNames = new Set(['provider', 'q', 'region', 'account', 'count'])

async function findImages({ query, otherQuery }: OperationRequest): Promise<StreamedAnswer> {
  const { provider: wanted, ...search } = query
  const filters = Object.entries(otherQuery).filter(([name]) => !ownNames.has(name.toLowerCase()))
  return new StreamedAnswer('clouddriver', {
    path: pathTo`/${String(wanted)}/images/find`,
    query: { ...Object.fromEntries(filters), ...search },
  })
}

export const bakeryOperations: Operation[] = [
  get('bakeOptionsUsingGET1', '/bakery/options', 'List bake options', {
    core: true,
    demands: sharedKnowledge,
    description:
      'Base images of all cloud providers; those of the configuration while the bakery is off or overridden.',
    handle: listOptions,
    answer: z.array(BakeOptions),
  }),
  get('bakeOptionsUsingGET', '/bakery/options/{cloudProvider}', 'Get bake options of a provider', {
    core: true,
    demands: sharedKnowledge,
    handle: optionsOfProvider,
    answer: BakeOptions,
    errors: { 400: 'The bakery is off and the configuration has no base images of that provider.' },
  }),
  get('lookupLogsUsingGET', '/bakery/logs/{region}/{statusId}', 'Get the log of a bake', {
    core: true,
    demands: demandsNothing(
      'the embedded bakery demands READ on the account of the bake; another one shows its logs to all users',
      'reads',
    ),
    description:
      'The log of a bake, as preformatted text: a JSON string, or a page with `Accept: text/html`.',
    handle: loadLogs,
    answer: textModel,
    errors: { 400: 'The bakery is off.', 404: 'The bake has no log.' },
  }),
]

async function listOptions(
  _request: OperationRequest,
  { upstreams, settings }: Platform,
): Promise<unknown> {
  const isAsked = upstreams.isEnabled('rosco') && !settings.useDefaultBakeOptions
  return isAsked ? new StreamedAnswer('rosco', { path: '/bakeOptions' }) : settings.bakeOptions
}

async function optionsOfProvider(
  request: OperationRequest,
  { upstreams, settings }: Platform,
): Promise<unknown> {
  const provider = request.path['cloudProvider'] as string
  if (upstreams.isEnabled('rosco'))
    return new StreamedAnswer('rosco', { path: pathTo`/bakeOptions/${provider}` })
  const options = settings.bakeOptions.find(
    (option) => isObject(option) && option['cloudProvider'] === provider,
  )
  if (options !== undefined) return options
  throw new GatewayError(
    'BAD_ARGUMENT',
    `The bakery is off, and the configuration has no base images for "${provider}".`,
  )
}

async function loadLogs(request: OperationRequest, { upstreams }: Platform): Promise<unknown> {
  if (!upstreams.isEnabled('rosco'))
    throw new GatewayError('BAD_ARGUMENT', 'The bakery is off: there are no logs of bakes.')
  const { region = '', statusId = '' } = request.path
  const log = readObject(
    await request.call('rosco', {
      path: pathTo`/api/v1/${region}/logs/${statusId}`,
      location: region,
    }),
    'rosco',
  )
  const content = log['logsContent']
  if (typeof content !== 'string')
    throw new GatewayError('NOT_FOUND', `The bake "${statusId}" has no log.`)
  const accept = request.headers.accept
  if (parseAccept(accept, ['json', 'yaml', 'text']) !== 'text') return `<pre>${content}</pre>`
  // As a page of the gateway's own address, the log of a stranger's build must not become markup.
  return /text\/html/i.test(accept ?? '')
    ? new DirectAnswer(200, `<pre>${escapeHtml(content)}</pre>`, {
        'content-type': 'text/html; charset=utf-8',
      })
    : new DirectAnswer(200, `<pre>${content}</pre>`, {
        'content-type': 'text/plain; charset=utf-8',
      })
}

const storedPath = '/artifacts/content-address/{application}/{hash}'

const ArtifactAccount = model('ArtifactAccount', { name: z.string(), types: TextList.nullish() })

const ofCloud = operationsWith({ forward: 'clouddriver' })

export const artifactOperations: Operation[] = [
  ofCloud.get(
    'getArtifactCredentialsUsingGET',
    '/artifacts/credentials',
    'List artifact accounts',
    {
      demands: sharedKnowledge,
      answer: z.array(ArtifactAccount),
    },
  ),
  put('getArtifactUsingPUT', '/artifacts/fetch', 'Fetch an artifact', {
    demands: sharedKnowledge,
    body: { schema: AnyObject, shown: Artifact, required: true },
    handle: async ({ body }) =>
      new StreamedAnswer('clouddriver', {
        method: 'PUT',
        path: '/artifacts/fetch',
        body,
        headers: { accept: '*/*' },
      }),
    answer: bytes.describe('The content of the artifact.'),
    answerType: 'application/octet-stream',
  }),
  ofCloud.get(
    'getArtifactNamesUsingGET',
    '/artifacts/account/{accountName}/names',
    'List artifacts of an account',
    {
      demands: sharedKnowledge,
      query: { type: textModel },
      answer: TextList,
    },
  ),
  ofCloud.get(
    'getArtifactVersionsUsingGET',
    '/artifacts/account/{accountName}/versions',
    'List versions of an artifact',
    {
      demands: sharedKnowledge,
      query: { type: textModel, artifactName: textModel },
      answer: TextList,
    },
  ),
  get(
    'getPackageVersionsUsingGET',
    '/artifacts/{provider}/{packageName}',
    'List versions of a package',
    {
      demands: sharedKnowledge,
      query: { releaseStatus: maybeText },
      forward: 'igor',
      whenDisabled: [],
      answer: TextList,
    },
  ),
  get(
    'getPackageArtifactUsingGET',
    '/artifacts/{provider}/{packageName}/{version}',
    'Get a version of a package',
    {
      demands: sharedKnowledge,
      forward: 'igor',
      missingWhenDisabled: true,
      answer: Artifact,
    },
  ),
  ofCloud.get('getStoredArtifactUsingGET', storedPath, 'Get a stored artifact', {
    demands: readsApplication,
    description: 'An artifact that a pipeline stored, by the hash of its content.',
    answer: Artifact,
  }),
]

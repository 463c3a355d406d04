/** Machine and container images, and Helm charts, which are looked up as images are. */
import { z } from 'zod'
import { alike, described, integer, nothing, TextList, textModel } from '../../json/schemas.ts'
import { pathTo } from '../../net/encode-path.ts'
import { standalone } from '../../settings/standalone.ts'
import { get, operationsWith, put } from '../declare.ts'
import { decidedByService, readsSharedOfAccount, sharedKnowledge } from '../demands.ts'
import { ImageModel } from '../models/infrastructure.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'

const provider = textModel.default('aws')
const { imagesPath, provider: ownProvider } = standalone
const uploadedImage = `${imagesPath}/{name}/{version}`

const registryProvider = textModel.default('aws').describe('Cloud provider whose registries are asked.')

const Chart = described('Chart', 'name', 'account', 'version')

const found = operationsWith({ core: true })
const local = operationsWith({ forward: 'clouddriver' })

export const imageOperations: Operation[] = [
  found.get('findImagesUsingGET', '/images/find', {
    demands: sharedKnowledge,
    summary: 'Search images',
    description: 'Searches images. Every other query parameter is a filter of the cloud provider, such as `tag:stage`.',
    query: {
      provider,
      ...alike(textModel.optional(), 'q', 'region', 'account'),
      count: integer.optional(),
    },
    handle: findImages,
    cost: 5,
    answer: z.array(ImageModel),
  }),
  found.get('findTagsUsingGET', '/images/tags', {
    demands: sharedKnowledge,
    summary: 'List tags of an image',
    query: { provider, account: textModel, repository: textModel },
    forward: { service: 'clouddriver', path: '/{provider}/images/tags' },
    answer: TextList,
  }),
  found.get('getImageDetailsUsingGET', '/images/{account}/{region}/{imageId}', {
    demands: readsSharedOfAccount,
    summary: 'Get an image',
    description: 'One machine image, as a list of normally one element.',
    query: { provider },
    forward: { service: 'clouddriver', path: '/{provider}/images/{account}/{region}/{imageId}' },
    answer: z.array(ImageModel),
  }),
  local.get('listLocalImages', imagesPath, {
    demands: sharedKnowledge,
    summary: 'List images of this machine',
    description: `Images of the provider \`${ownProvider}\`, the newest first.`,
    answer: z.array(ImageModel),
  }),
  local.get('getLocalImage', uploadedImage, {
    demands: sharedKnowledge,
    summary: 'Get an image of this machine',
    answer: ImageModel,
    errors: { 404: 'There is no such image.' },
  }),
  put('putLocalImage', uploadedImage, {
    demands: decidedByService,
    summary: 'Upload an image',
    description:
      `Stores a tar archive, compressed with gzip or not, as an image of the provider \`${ownProvider}\`. Needs ` +
      'WRITE on the accounts that get it. `Content-Digest: sha-256=:…:` (RFC 9530) is checked. Further query parameters are ' +
      '`label:NAME` and `tag:NAME`.',
    query: {
      accounts: textModel.optional().describe('Accounts that get the image, separated by commas. Default: all.'),
      regions: textModel.optional().describe('Regions that get it, separated by commas. Default: all.'),
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
  local.remove('deleteLocalImage', uploadedImage, {
    demands: decidedByService,
    summary: 'Delete an image of this machine',
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
  get('findChartsUsingGET', '/charts/find', {
    demands: sharedKnowledge,
    summary: 'Search charts',
    description: 'Charts whose name contains a text; every other query parameter is a filter.',
    query: {
      provider: registryProvider,
      ...alike(textModel.optional(), 'q', 'region', 'account'),
      count: integer.optional().describe('Longest list that is wanted.'),
    },
    forward: { service: 'clouddriver', path: '/{provider}/charts/find', otherQuery: true },
    answer: z.array(Chart),
  }),
  get('findChartTagsUsingGET', '/charts/tags', {
    demands: sharedKnowledge,
    summary: 'List versions of a chart',
    query: { provider: registryProvider, account: textModel, repository: textModel },
    forward: { service: 'clouddriver', path: '/{provider}/charts/tags' },
    answer: z.array(z.string()),
  }),
  get('getChartDetailsUsingGET', '/charts/{account}/{region}/{imageId}', {
    demands: readsSharedOfAccount,
    summary: 'Get a chart',
    query: { provider: registryProvider },
    forward: { service: 'clouddriver', path: '/{provider}/charts/{account}/{region}/{imageId}' },
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

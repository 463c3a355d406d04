/** Machine and container images. */

import { z } from 'zod'
import { pathTo } from '../../http/encode-path.ts'
import { decidedByService, readsSharedOfAccount, sharedKnowledge } from '../demands.ts'
import { Image } from '../models/infrastructure.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import { integer, nothing, TextList, text } from '../schemas.ts'

const provider = text.default('aws')
const localImage = '/local/images/{name}/{version}'

export const imageOperations: Operation[] = [
  {
    id: 'findImagesUsingGET',
    core: true,
    method: 'GET',
    path: '/images/find',
    demands: sharedKnowledge,
    summary: 'Search images',
    description: 'Searches images. Every other query parameter is a filter of the cloud provider, such as `tag:stage`.',
    query: {
      provider,
      q: text.optional(),
      region: text.optional(),
      account: text.optional(),
      count: integer.optional(),
    },
    handle: findImages,
    cost: 5,
    answer: z.array(Image),
  },
  {
    id: 'findTagsUsingGET',
    core: true,
    method: 'GET',
    path: '/images/tags',
    demands: sharedKnowledge,
    summary: 'List tags of an image',
    query: { provider, account: text, repository: text },
    forward: { service: 'clouddriver', path: '/{provider}/images/tags' },
    answer: TextList,
  },
  {
    id: 'getImageDetailsUsingGET',
    core: true,
    method: 'GET',
    path: '/images/{account}/{region}/{imageId}',
    demands: readsSharedOfAccount,
    summary: 'Get an image',
    description: 'One machine image, as a list of normally one element.',
    query: { provider },
    forward: { service: 'clouddriver', path: '/{provider}/images/{account}/{region}/{imageId}' },
    answer: z.array(Image),
  },
  {
    id: 'listLocalImages',
    method: 'GET',
    path: '/local/images',
    demands: sharedKnowledge,
    summary: 'List images of this machine',
    description: 'Images of the provider `local`, the newest first.',
    forward: 'clouddriver',
    answer: z.array(Image),
  },
  {
    id: 'getLocalImage',
    method: 'GET',
    path: localImage,
    demands: sharedKnowledge,
    summary: 'Get an image of this machine',
    forward: 'clouddriver',
    answer: Image,
    errors: { 404: 'There is no such image.' },
  },
  {
    id: 'putLocalImage',
    method: 'PUT',
    path: localImage,
    demands: decidedByService,
    summary: 'Upload an image',
    description:
      'Stores a tar archive, compressed with gzip or not, as an image of the provider `local`. Needs ' +
      'WRITE on the accounts that get it. `Content-Digest: sha-256=:…:` (RFC 9530) is checked. Further query parameters are ' +
      '`label:NAME` and `tag:NAME`.',
    query: {
      accounts: text.optional().describe('Accounts that get the image, separated by commas. Default: all.'),
      regions: text.optional().describe('Regions that get it, separated by commas. Default: all.'),
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
    answer: Image,
    errors: {
      400: 'The archive is damaged or hostile, or says not how the image runs.',
      409: 'The version exists with another content.',
      413: 'The image is larger than `local.images.max-size` allows.',
      429: 'A user may upload 16 images at a time, and all users 64; `Retry-After` says when to try again.',
    },
  },
  {
    id: 'deleteLocalImage',
    method: 'DELETE',
    path: localImage,
    demands: decidedByService,
    summary: 'Delete an image of this machine',
    description: 'Deletes an image of this machine. Needs WRITE on the accounts that have it.',
    query: {
      accounts: text
        .optional()
        .describe(
          'Of accounts with different images of that version, those whose image is meant, separated by commas. Default: all.',
        ),
    },
    forward: 'clouddriver',
    answer: nothing,
    errors: { 404: 'There is no such image.', 409: 'Something runs it.' },
  },
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

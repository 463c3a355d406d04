/** Machine and container images. */

import { z } from 'zod'
import { pathTo } from '../../http/encode-path.ts'
import { readsSharedOfAccount, sharedKnowledge } from '../demands.ts'
import { Image } from '../models/infrastructure.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import { integer, TextList, text } from '../schemas.ts'

const provider = text.default('aws')

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

/** Data that operators keep in storage of the infrastructure service, passed on as it is. */

import { GatewayError } from '../../errors.ts'
import { encodeSegments, pathTo } from '../../http/encode-path.ts'
import { get } from '../declare.ts'
import { sharedKnowledge } from '../demands.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import { bytes, textModel } from '../schemas.ts'

const content = bytes.describe('The stored bytes, with the content type that the service gives; HTML comes as text.')

export const storedDataOperations: Operation[] = [
  get('getStaticDataUsingGET', '/v1/data/static/{id}', {
    demands: sharedKnowledge,
    summary: 'Get stored data',
    description: 'Data that an operator stored under an id.',
    query: { expectedContentType: textModel.default('application/json') },
    handle: streamStatic,
    answer: content,
    errors: { 400: '`expectedContentType` is not a content type.' },
  }),
  get('getAdhocDataUsingGET', '/v1/data/adhoc/{groupId}/{bucketId}/**', {
    demands: sharedKnowledge,
    summary: 'Get an object of a bucket',
    description: 'An object of a bucket, by its name; slashes belong to the name.',
    handle: streamAdhoc,
    answer: content,
  }),
]

async function streamStatic({ path, query }: OperationRequest): Promise<StreamedAnswer> {
  const { id } = path as { id: string }
  const type = query['expectedContentType'] as string
  if (!/^[\w.+-]+\/[\w.+-]+$/.test(type)) {
    throw new GatewayError('BAD_ARGUMENT', '"expectedContentType" must be a content type such as application/json.')
  }
  return new StreamedAnswer('clouddriver', { path: pathTo`/v1/data/static/${id}`, headers: { accept: `${type}, */*` } })
}

async function streamAdhoc({ path }: OperationRequest): Promise<StreamedAnswer> {
  const { groupId, bucketId, rest } = path as { groupId: string; bucketId: string; rest: string }
  return new StreamedAnswer('clouddriver', {
    path: `${pathTo`/v1/data/adhoc/${groupId}/${bucketId}`}/${encodeSegments(rest)}`,
    headers: { accept: '*/*' },
  })
}

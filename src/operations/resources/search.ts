/** Search in the infrastructure. */
import { z } from 'zod'
import { flagModel, integer, nonEmptyList, textModel } from '../../json/schemas.ts'
import { get } from '../declare.ts'
import { filteredBy } from '../demands.ts'
import { SearchResultSet } from '../models/infrastructure.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'

const minLength = 3

export const searchOperations: Operation[] = [
  get('searchUsingGET', '/search', {
    core: true,
    demands: filteredBy('application', 'account'),
    summary: 'Search',
    description: 'Searches resources of given types. Every other query parameter is a filter. A short query finds nothing: `[]`.',
    query: {
      q: textModel.optional().describe('At least three characters, unless `allowShortQuery`.'),
      type: nonEmptyList.describe('Kinds of resources, repeated or comma-separated.'),
      platform: textModel.optional(),
      pageSize: integer.default(10_000),
      page: integer.default(1),
      allowShortQuery: flagModel.default(false),
    },
    handle: search,
    cost: 5,
    answer: z.array(SearchResultSet),
  }),
]

async function search({ query, otherQuery }: OperationRequest): Promise<StreamedAnswer | []> {
  const { q, allowShortQuery, type, ...rest } = query
  const wanted = String(q ?? '')
  if (wanted.length < minLength && allowShortQuery !== true && !listsServices(q, type)) return []
  return new StreamedAnswer('clouddriver', { path: '/search', query: { ...otherQuery, q: wanted, type, ...rest } })
}

/** The form of a stage that needs a service asks for all of them without naming anything. */
function listsServices(q: unknown, type: unknown): boolean {
  return q === undefined && Array.isArray(type) && type.includes('service')
}

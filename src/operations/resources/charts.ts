/** Helm charts that registries hold, looked up as images are. */

import { z } from 'zod'
import { readsSharedOfAccount, sharedKnowledge } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { described, integer, text } from '../schemas.ts'

const provider = text.default('aws').describe('Cloud provider whose registries are asked.')

const Chart = described('Chart', 'name', 'account', 'version')

export const chartOperations: Operation[] = [
  {
    id: 'findChartsUsingGET',
    method: 'GET',
    path: '/charts/find',
    demands: sharedKnowledge,
    summary: 'Search charts',
    description: 'Charts whose name contains a text; every other query parameter is a filter.',
    query: {
      provider,
      q: text.optional(),
      region: text.optional(),
      account: text.optional(),
      count: integer.optional().describe('Longest list that is wanted.'),
    },
    forward: { service: 'clouddriver', path: '/{provider}/charts/find', otherQuery: true },
    answer: z.array(Chart),
  },
  {
    id: 'findChartTagsUsingGET',
    method: 'GET',
    path: '/charts/tags',
    demands: sharedKnowledge,
    summary: 'List versions of a chart',
    query: { provider, account: text, repository: text },
    forward: { service: 'clouddriver', path: '/{provider}/charts/tags' },
    answer: z.array(z.string()),
  },
  {
    id: 'getChartDetailsUsingGET',
    method: 'GET',
    path: '/charts/{account}/{region}/{imageId}',
    demands: readsSharedOfAccount,
    summary: 'Get a chart',
    query: { provider },
    forward: { service: 'clouddriver', path: '/{provider}/charts/{account}/{region}/{imageId}' },
    answer: z.array(Chart),
  },
]

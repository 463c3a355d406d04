/** Helm charts that registries hold, looked up as images are. */

import { z } from 'zod'
import { get } from '../declare.ts'
import { readsSharedOfAccount, sharedKnowledge } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { alike, described, integer, textModel } from '../schemas.ts'

const provider = textModel.default('aws').describe('Cloud provider whose registries are asked.')

const Chart = described('Chart', 'name', 'account', 'version')

export const chartOperations: Operation[] = [
  get('findChartsUsingGET', '/charts/find', {
    demands: sharedKnowledge,
    summary: 'Search charts',
    description: 'Charts whose name contains a text; every other query parameter is a filter.',
    query: {
      provider,
      ...alike(textModel.optional(), 'q', 'region', 'account'),
      count: integer.optional().describe('Longest list that is wanted.'),
    },
    forward: { service: 'clouddriver', path: '/{provider}/charts/find', otherQuery: true },
    answer: z.array(Chart),
  }),
  get('findChartTagsUsingGET', '/charts/tags', {
    demands: sharedKnowledge,
    summary: 'List versions of a chart',
    query: { provider, account: textModel, repository: textModel },
    forward: { service: 'clouddriver', path: '/{provider}/charts/tags' },
    answer: z.array(z.string()),
  }),
  get('getChartDetailsUsingGET', '/charts/{account}/{region}/{imageId}', {
    demands: readsSharedOfAccount,
    summary: 'Get a chart',
    query: { provider },
    forward: { service: 'clouddriver', path: '/{provider}/charts/{account}/{region}/{imageId}' },
    answer: z.array(Chart),
  }),
]

/** Resources marked for deletion by the clean-up service (swabbie). */
import { z } from 'zod'
import { get } from '../declare.ts'
import { decidedByService } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { described } from '../schemas.ts'

const resourcePath = '/cleanup/resources/{namespace}/{resourceId}'

const MarkedResource = described('MarkedResource', 'resourceId', 'resourceType', 'namespace', 'name')

export const cleanupOperations: Operation[] = [
  get('getMarkedResourceUsingGET', resourcePath, {
    demands: decidedByService,
    summary: 'Get a marked resource',
    description: 'One resource that is marked for deletion.',
    forward: { service: 'swabbie', path: '/resources/marked/{namespace}/{resourceId}' },
    missingWhenDisabled: true,
    answer: MarkedResource,
  }),
  get('optOutUsingGET', `${resourcePath}/optOut`, {
    demands: decidedByService,
    summary: 'Spare a resource from deletion',
    description: 'Spares a resource from deletion. It is a GET that changes something, because mails contain it as a link.',
    forward: { service: 'swabbie', method: 'PUT', path: '/resources/state/{namespace}/{resourceId}/optOut' },
    missingWhenDisabled: true,
    answer: MarkedResource,
  }),
  get('getMarkedResourcesUsingGET', '/cleanup/resources/marked', {
    demands: decidedByService,
    summary: 'List marked resources',
    description: 'All resources that are marked for deletion.',
    forward: { service: 'swabbie', path: '/resources/marked', constants: { list: 'true' } },
    whenDisabled: [],
    answer: z.array(MarkedResource),
  }),
  get('getDeletedResourcesUsingGET', '/cleanup/resources/deleted', {
    demands: decidedByService,
    summary: 'List deleted resources',
    forward: { service: 'swabbie', path: '/resources/deleted' },
    whenDisabled: [],
    answer: z.array(MarkedResource),
  }),
]

/** Resources marked for deletion by the clean-up service (swabbie). */
import { z } from 'zod'
import { described } from '../../json/schemas.ts'
import { operationsWith } from '../declare.ts'
import { decidedByService } from '../demands.ts'
import type { Operation } from '../operation.ts'

const resourcePath = '/cleanup/resources/{namespace}/{resourceId}'

const MarkedResource = described('MarkedResource', 'resourceId', 'resourceType', 'namespace', 'name')

const one = operationsWith({ demands: decidedByService, missingWhenDisabled: true, answer: MarkedResource })
const all = operationsWith({ demands: decidedByService, whenDisabled: [], answer: z.array(MarkedResource) })

export const cleanupOperations: Operation[] = [
  one.get('getMarkedResourceUsingGET', resourcePath, {
    summary: 'Get a marked resource',
    description: 'One resource that is marked for deletion.',
    forward: { service: 'swabbie', path: '/resources/marked/{namespace}/{resourceId}' },
  }),
  one.get('optOutUsingGET', `${resourcePath}/optOut`, {
    summary: 'Spare a resource from deletion',
    description: 'Spares a resource from deletion. It is a GET that changes something, because mails contain it as a link.',
    forward: { service: 'swabbie', method: 'PUT', path: '/resources/state/{namespace}/{resourceId}/optOut' },
  }),
  all.get('getMarkedResourcesUsingGET', '/cleanup/resources/marked', {
    summary: 'List marked resources',
    description: 'All resources that are marked for deletion.',
    forward: { service: 'swabbie', path: '/resources/marked', constants: { list: 'true' } },
  }),
  all.get('getDeletedResourcesUsingGET', '/cleanup/resources/deleted', {
    summary: 'List deleted resources',
    forward: { service: 'swabbie', path: '/resources/deleted' },
  }),
]

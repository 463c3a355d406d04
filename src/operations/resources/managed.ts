/** Managed delivery (keel): queries, reports and chat callbacks. */
import { z } from 'zod'
import { parseAccept, yamlType } from '../../http/parse-accept.ts'
import { AnyObject, described, optionalTextsModel } from '../../json/schemas.ts'
import { pathTo } from '../../net/encode-path.ts'
import { operationsWith, post } from '../declare.ts'
import { decidedByService, provedBySender } from '../demands.ts'
import { type Operation, StreamedAnswer } from '../operation.ts'
import { checkServicePresent, ofOptionalService } from '../optional-service.ts'
import type { Platform } from '../platform.ts'
import { relayCallback } from './notifications.ts'

const GraphqlRequest = z
  .looseObject({ query: z.string().optional(), operationName: z.string().nullish(), variables: AnyObject.nullish() })
  .meta({ id: 'GraphqlRequest' })
const GraphqlAnswer = z
  .looseObject({ data: z.unknown().optional(), errors: z.array(AnyObject).optional() })
  .meta({ id: 'GraphqlAnswer' })

export const DeliveryConfig = z
  .looseObject({
    ...optionalTextsModel('name', 'application', 'serviceAccount'),
    artifacts: z.array(AnyObject).nullish(),
    environments: z.array(AnyObject).nullish(),
  })
  .meta({ id: 'DeliveryConfig' })
export const ManagedResource = z
  .looseObject({ kind: z.string().nullish(), metadata: AnyObject.nullish(), spec: AnyObject.nullish() })
  .meta({ id: 'ManagedResource', description: 'A resource under managed delivery.' })
export const ManagedDiff = described('ManagedDiff', 'status', 'resourceId')

const report = operationsWith({ demands: decidedByService, answer: z.string(), answerType: 'text/plain' })

export const managedOperations: Operation[] = ofOptionalService('keel', '/managed', [
  post('graphqlUsingPOST', '/managed/graphql', {
    demands: decidedByService,
    summary: 'Query managed delivery with GraphQL',
    body: { schema: AnyObject, shown: GraphqlRequest, required: true },
    answer: GraphqlAnswer,
  }),
  report.get('onboardingReportUsingGET', '/managed/reports/onboarding', {
    summary: 'Get the onboarding report',
    description: 'Report on the applications that came under management.',
    handle: async (_request, platform) => streamReport(platform, '/reports/onboarding'),
  }),
  report.get('adoptionReportUsingGET', '/managed/reports/adoption', {
    summary: 'Get the adoption report',
    description: 'Report on how managed delivery is used.',
    handle: async (_request, platform) => streamReport(platform, '/reports/adoption'),
  }),
  post('processManagedNotificationCallbackUsingPOST', '/managed/notifications/callbacks/{source}', {
    demands: provedBySender,
    summary: 'Receive a managed-delivery chat callback',
    description: 'Receives a click on a button of a chat message. Open: the service checks the signature.',
    body: { schema: z.unknown(), required: false, raw: true, mediaType: 'application/x-www-form-urlencoded' },
    handle: async (request, platform) => {
      checkServicePresent(platform, 'keel')
      return relayCallback(request, 'keel', '/slack/notifications/callbacks')
    },
    answer: z.unknown(),
  }),
])

/** Streams what keel has under a name; the ending `.yml` asks for YAML. @throws {GatewayError} NOT_FOUND */
export function streamNamed(platform: Platform, folder: string, name: string): StreamedAnswer {
  checkServicePresent(platform, 'keel')
  const headers = { accept: name.endsWith('.yml') ? yamlType : 'application/json' }
  return new StreamedAnswer('keel', { path: folder + pathTo`${name}`, headers })
}

/** Streams what keel exports: YAML, as from Gate, unless the client accepts JSON alone. @throws {GatewayError} NOT_FOUND */
export function streamExport(platform: Platform, path: string, accepted = '*/*'): StreamedAnswer {
  checkServicePresent(platform, 'keel')
  const isJson = accepted === 'application/json' || parseAccept(accepted, ['yaml']) === undefined
  return new StreamedAnswer('keel', { path, headers: { accept: isJson ? 'application/json' : yamlType } })
}

function streamReport(platform: Platform, path: string): StreamedAnswer {
  checkServicePresent(platform, 'keel')
  return new StreamedAnswer('keel', { path, headers: { accept: '*/*' } })
}

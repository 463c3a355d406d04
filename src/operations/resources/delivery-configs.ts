/** Delivery configurations of managed delivery (keel). */
import { z } from 'zod'
import { parseJson } from '../../json/json.ts'
import { AnyObject, described } from '../../json/schemas.ts'
import { jsonObject, misfit } from '../../upstreams/answer-form.ts'
import { checkDone, upstreamFailed } from '../../upstreams/read-answer.ts'
import { operationsWith, post } from '../declare.ts'
import { application, decidedByService, writesApplicationInBody } from '../demands.ts'
import { DirectAnswer, type Operation, type OperationRequest } from '../operation.ts'
import { checkServicePresent, ofOptionalService } from '../optional-service.ts'
import type { Platform } from '../platform.ts'
import { DeliveryConfig, ManagedDiff, streamNamed } from './managed.ts'

const configsPath = '/managed/delivery-configs'
const configBody = { schema: AnyObject, required: true }

const DeliveryArtifact = described('DeliveryArtifact', 'name', 'type', 'reference')

const decided = operationsWith({ demands: decidedByService })
const checking = operationsWith({ changesNothing: true, demands: application('READ', 'body'), body: configBody })

export const deliveryConfigOperations: Operation[] = ofOptionalService('keel', '/managed', [
  decided.get('getDeliveryConfigUsingGET', `${configsPath}/{name}`, {
    summary: 'Get a delivery configuration',
    description: 'A delivery configuration; as YAML when the name ends in `.yml`.',
    handle: async ({ path }, platform) => streamNamed(platform, '/delivery-configs/', path['name'] as string),
    answer: DeliveryConfig,
  }),
  decided.get('getDeliveryConfigArtifactsUsingGET', `${configsPath}/{name}/artifacts`, {
    summary: 'List artifacts of a delivery configuration',
    description: 'Versions of the artifacts of a delivery configuration, and where they are.',
    answer: z.array(DeliveryArtifact),
  }),
  post('upsertDeliveryConfigUsingPOST', configsPath, {
    demands: writesApplicationInBody,
    summary: 'Save a delivery configuration',
    description: 'Creates or replaces a delivery configuration.',
    body: configBody,
    answer: DeliveryConfig,
  }),
  decided.remove('deleteDeliveryConfigUsingDELETE', `${configsPath}/{name}`, {
    summary: 'Delete a delivery configuration by name',
    answer: DeliveryConfig.optional(),
  }),
  checking.post('validateDeliveryConfigUsingPOST', `${configsPath}/validate`, {
    summary: 'Validate a delivery configuration',
    description: 'Checks a delivery configuration without storing it.',
    handle: validate,
    answer: described('DeliveryConfigFindings', 'message'),
    errors: { 400: 'The configuration is not valid; the body names the place.' },
  }),
  checking.post('diffDeliveryConfigUsingPOST', `${configsPath}/diff`, {
    summary: 'Compare a delivery configuration',
    description: 'Describes what a delivery configuration would change.',
    answer: z.array(ManagedDiff),
  }),
  decided.get('getDeliveryConfigSchemaUsingGET', `${configsPath}/schema`, {
    summary: 'Get the delivery configuration schema',
    description: 'JSON schema of delivery configurations. Open.',
    answer: described('DeliveryConfigSchema', '$id', '$schema', 'type'),
  }),
])

/** Errors that keel finds in a configuration are for its author, and forwarded unchanged. */
async function validate(request: OperationRequest, platform: Platform): Promise<unknown> {
  checkServicePresent(platform, 'keel')
  const answer = await request.call('keel', { method: 'POST', path: '/delivery-configs/validate', body: request.body })
  if (answer.status !== 400) checkDone(answer, 'keel')
  const found = parseFindings(answer.text)
  if (found === undefined && answer.status !== 400) throw misfit(jsonObject, 'keel', 'something that is not JSON')
  if (found === undefined) throw upstreamFailed('keel', answer)
  return new DirectAnswer(answer.status, found)
}

function parseFindings(text: string): object | undefined {
  try {
    const parsed = text.trim() === '' ? {} : parseJson(text)
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined
  } catch {
    return undefined
  }
}

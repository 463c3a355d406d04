/** Triggers: webhooks, what each event has started, and cron expressions. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import {
  AnyObject,
  countModel,
  maybeText,
  millisecondsModel,
  model,
  nullableTexts,
  textModel,
} from '@fairlead/base/json/schemas.ts'
import { isObject, parseObject, textOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { z } from 'zod'
import { get, operationsWith } from '../declare.ts'
import {
  aboutGateway,
  adminOfExecutions,
  open,
  readsEventsOfApplication,
  sharedKnowledge,
} from '../demands.ts'
import { type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { readObject } from '../upstream-shape.ts'

const TriggerOutcome = model(
  'TriggerOutcome',
  'What became of an event for one trigger that waits for such events.',
  {
    application: z.string(),
    pipelineId: z.string(),
    pipeline: z.string().describe('Name of the pipeline.'),
    trigger: z.string().describe('Type of the trigger: git, docker, webhook, …'),
    executionId: z.string().nullish().describe('The run that was started.'),
    reason: z
      .string()
      .nullish()
      .describe('Why nothing was started, or why the run could not begin.'),
  },
)

const outcomes = z.enum(['started', 'nothing', 'failed'])

const TriggerEvent = model('TriggerEvent', {
  id: z.string(),
  time: millisecondsModel,
  type: z.string().describe('git, docker, build, webhook, cron, pipeline, …'),
  source: z.string().describe('Such as `github`, or `poll`.'),
  outcome: outcomes,
  summary: AnyObject.describe('Repository, branch, commit, tag, …'),
  payload: AnyObject.nullish().describe(
    'Part of the body of a webhook, without what proves its sender.',
  ),
  reason: z.string().nullish().describe('Why the event failed, or why no trigger waits for it.'),
  triggers: z
    .array(TriggerOutcome)
    .describe('Triggers that wait for such events; the first 50 of them.'),
})

const filter = {
  type: maybeText.describe('Type of the events.'),
  outcome: outcomes.optional(),
  from: millisecondsModel
    .optional()
    .describe('Only events since then, in milliseconds since the epoch.'),
  limit: countModel.max(200).optional().describe('Default: 50.'),
  cursor: maybeText.describe('Id of the last event of the page before.'),
}

const events = operationsWith({ query: filter, whenDisabled: [], answer: z.array(TriggerEvent) })

const note = 'Only the embedded event service has this operation. Newest first.'

export const triggerEventOperations: Operation[] = [
  events.get('getTriggerEventsUsingGET', '/triggerEvents', 'List events of triggers', {
    demands: adminOfExecutions,
    description: `Events that arrived, with what they started or why they started nothing, also those that no trigger waits for. ${note}`,
    forward: 'echo /events',
  }),
  events.get(
    'getApplicationTriggerEventsUsingGET',
    '/applications/{application}/triggerEvents',
    'List events of an application',
    {
      demands: readsEventsOfApplication,
      description: `Events for which triggers of an application wait, with what they started or why they started nothing. ${note}`,
      query: { pipeline: maybeText.describe('Name or id.'), ...filter },
      forward: { service: 'echo', path: '/events', fromPath: ['application'] },
    },
  ),
]

const CronVerdict = model('CronVerdict', {
  valid: z.boolean(),
  description: z.string().optional().describe('The expression in words, when it is valid.'),
  nextTimes: z
    .array(z.number())
    .optional()
    .describe(
      'When it fires next, in milliseconds since the epoch; from the embedded event service only.',
    ),
  timeZone: z.string().optional().describe('Zone of the schedule, such as `Europe/Berlin`.'),
  message: z.string().optional().describe('What is wrong with it, when it is not.'),
})
type CronVerdict = z.infer<typeof CronVerdict>

export const cronOperations: Operation[] = [
  get('validateCronExpressionUsingGET', '/cron/validate', 'Validate a cron expression', {
    demands: aboutGateway,
    description: 'Checks a cron expression. An invalid one is a result, not an error.',
    query: { expression: textModel },
    handle: validate,
    answer: CronVerdict,
  }),
]

async function validate(request: OperationRequest, platform: Platform): Promise<CronVerdict> {
  if (!platform.upstreams.isEnabled('echo')) {
    return { valid: false, message: 'Timer expressions cannot be checked: echo is switched off.' }
  }
  const answer = await request.call('echo', {
    path: '/validateCronExpression',
    query: { cronExpression: request.query['expression'] },
  })
  if (answer.status === 400) return { valid: false, message: messageOf(answer.text) }
  return { ...readObject(answer, 'echo'), valid: true }
}

function messageOf(body: string): string {
  return textOf(parseObject(body)?.['message']) ?? 'The expression is not valid.'
}

const WebhookAnswer = model('WebhookAnswer', {
  eventProcessed: z
    .boolean()
    .describe('The event was accepted; whether it starts a pipeline is decided afterwards.'),
  eventId: z.string().nullable(),
  reason: z
    .string()
    .optional()
    .describe(
      'Why the body starts nothing: it reports no event, or no trigger waits for it. Only senders with a login hear the latter.',
    ),
})

const PreconfiguredStage = model('PreconfiguredStage', {
  type: z.string(),
  ...nullableTexts('label', 'description'),
  waitForCompletion: z.boolean().nullish(),
  noUserConfigurableFields: z.boolean().nullish(),
  parameters: z.array(AnyObject).nullish(),
})

/** Signatures are made over the bytes of the body, so that these reach the event service unchanged. */
const rawBody = {
  schema: z.unknown().describe('A JSON document; none counts as `{}`.'),
  required: false,
  raw: true,
}

const eventHeaders = [
  'x-hub-signature',
  'x-hub-signature-256',
  'x-github-event',
  'x-github-delivery',
  'x-event-key',
  'x-request-uuid',
  'x-gitlab-event',
  'x-gitlab-token',
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature', 'idempotency-key'],
  ...['gitea', 'forgejo', 'gogs'].flatMap((host) =>
    ['event', 'delivery', 'signature'].map((part) => `x-${host}-${part}`),
  ),
]

const withoutUser = {
  'X-SPINNAKER-ANONYMOUS': 'anonymous',
  'content-type': 'application/json; charset=UTF-8',
}

const event = operationsWith({
  demands: open('signed by sender'),
  body: rawBody,
  answer: WebhookAnswer,
})
const preconfigured = operationsWith({
  demands: sharedKnowledge,
  forward: 'orca',
  answer: z.array(PreconfiguredStage),
})

export const webhookOperations: Operation[] = [
  event.post('webhooksUsingPOST', '/webhooks/{type}/{source}', 'Receive a webhook', {
    description:
      'Receives an event from outside, which may start pipelines. Open unless `security.webhooks` closes it.',
    handle: receiveWebhook,
    errors: {
      400: 'The body is not JSON, or the source is not known.',
      403: 'With permissions, the embedded event service takes builds, images and packages from logged-in users only.',
      415: 'The body is a form.',
      422: 'Matching the event with the patterns of all triggers takes too long.',
    },
  }),
  event.post('webhooksUsingPOST1', '/webhooks/cdevents/{source}', 'Receive a CloudEvent', {
    description: 'Receives a CloudEvent, with its attributes in headers or in the body.',
    handle: receiveCloudEvent,
    errors: { 400: 'The body is not JSON, or holds no event.' },
  }),
  preconfigured.get(
    'preconfiguredWebhooksUsingGET',
    '/webhooks/preconfigured',
    'List preconfigured webhook stages',
    {},
  ),
  preconfigured.get(
    'preconfiguredJobsUsingGET',
    '/jobs/preconfigured',
    'List preconfigured job stages',
    {},
  ),
]

async function receiveWebhook(request: OperationRequest): Promise<StreamedAnswer> {
  const { type, source } = request.path as { type: string; source: string }
  const body = request.body as Buffer | undefined
  refuseForm(request, body)
  const headers: Record<string, string> = {
    ...withoutUser,
    'content-type': contentTypeOf(request, body),
  }
  for (const name of eventHeaders) {
    const value = request.headers[name]
    if (typeof value === 'string') headers[name] = value
  }
  return new StreamedAnswer('echo', {
    method: 'POST',
    path: pathTo`/webhooks/${type}/${source}`,
    rawBody: body ?? '{}',
    headers,
  })
}

/** A JSON object is one under any name; everything else is what its sender calls it. */
function contentTypeOf({ headers }: OperationRequest, body: Buffer | undefined): string {
  const isObject = body === undefined || /^\s*\{/.test(body.toString('latin1', 0, 200))
  return isObject
    ? withoutUser['content-type']
    : (headers['content-type'] ?? withoutUser['content-type'])
}

/**
 * GitHub sends a form unless its settings say otherwise. By default, curl labels JSON as a form, too, so the text decides.
 *
 * @throws {GatewayError} UNSUPPORTED_MEDIA_TYPE
 */
function refuseForm({ headers }: OperationRequest, body: Buffer | undefined): void {
  if (
    body === undefined ||
    !/^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '')
  )
    return
  if (/^[a-z0-9_.[\]%-]+=/i.test(body.toString('latin1', 0, 200))) {
    const message =
      'The body of a webhook is JSON, and this is a form. Set the content type of the webhook to application/json.'
    throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', message)
  }
}

/** The event service takes the attributes of a CloudEvent from headers, and its data from the header `Ce-Data`. */
async function receiveCloudEvent(request: OperationRequest): Promise<StreamedAnswer> {
  const { source } = request.path as { source: string }
  const body = parseEvent(request.body as Buffer | undefined)
  const isWhole = /^application\/cloudevents\+json\b/i.test(
    String(request.headers['content-type'] ?? ''),
  )
  const { data = {}, ...attributes } = isWhole ? body : { data: body }
  const headers: Record<string, string> = { ...withoutUser, 'Ce-Data': toAscii(formatJson(data)) }
  for (const name of ['id', 'specversion', 'type', 'source', 'subject'] as const) {
    const value = (attributes as Record<string, unknown>)[name] ?? request.headers[`ce-${name}`]
    if (typeof value === 'string')
      headers[`Ce-${name[0]?.toUpperCase()}${name.slice(1)}`] = toAscii(value)
  }
  return new StreamedAnswer('echo', {
    method: 'POST',
    path: pathTo`/webhooks/cdevents/${source}`,
    body: data,
    headers,
  })
}

function parseEvent(bytes: Buffer | undefined): Record<string, unknown> {
  if (bytes === undefined) return {}
  try {
    const event = parseJson(bytes.toString('utf8'), { keepsNumerals: true })
    if (isObject(event)) return event
  } catch (cause) {
    throw new GatewayError(
      'UNREADABLE_BODY',
      `The event is not usable JSON: ${(cause as Error).message}`,
      { cause },
    )
  }
  throw new GatewayError('UNREADABLE_BODY', 'The event must be a JSON object.')
}

/** Header values are ASCII; the escapes mean the same inside JSON. */
function toAscii(value: string): string {
  return value.replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

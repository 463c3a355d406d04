/** Services outside the platform that the web UI uses: proxies of the configuration, Slack, PagerDuty and Gremlin. */
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { callProxy } from '../../integrations/proxies.ts'
import { AnyList, AnyObject, ObjectList } from '../../json/schemas.ts'
import { isObject } from '../../json/values.ts'
import { get, operationsWith } from '../declare.ts'
import { aboutGateway, demandsNothing } from '../demands.ts'
import { DirectAnswer, type Method, type Operation, type OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'

const notConfigured = { 404: 'It is not configured.' } as const
const offeredToAll = demandsNothing('the configuration offers the service to all users')

const proxyPaths = ['/proxies/{proxy}/**', '/proxies/{proxy}'] as const
const proxyMethods = ['GET', 'POST', 'PUT', 'DELETE'] as const

/** What comes from elsewhere must not run with the rights of this origin when a browser opens it. */
const unknownContent = { 'content-security-policy': 'sandbox' } as const

function forwarded(method: Method, path: string): Operation {
  return {
    id: `anyUsing${method}${path.endsWith('}') ? '1' : ''}`,
    method,
    path,
    demands: offeredToAll,
    summary: 'Forward to an outside service',
    description: 'Forwards to a service that `proxies` lists, without identity and cookies of the caller.',
    ...(method !== 'GET' && { body: { schema: z.unknown(), required: false, raw: true } }),
    handle: (request, platform) => forward(method, request, platform),
    answer: z.unknown(),
    errors: {
      400: 'No proxy has this id.',
      405: 'The proxy forwards other methods only.',
      502: 'The service failed or is not reached.',
    },
  }
}

const tool = operationsWith({ demands: aboutGateway, errors: notConfigured })

export const outsideOperations: Operation[] = [
  get('proxiesUsingGET', '/proxies', {
    demands: aboutGateway,
    summary: 'List proxies',
    description: 'Outside services to which `/proxies/{id}` forwards.',
    handle: async (_request, { integrations }) => integrations.proxies.map(({ id, uri }) => ({ id, uri })),
    answer: z.array(z.strictObject({ id: z.string(), uri: z.string() })),
  }),
  ...proxyPaths.flatMap((path) => proxyMethods.map((method) => forwarded(method, path))),
  tool.get('getChannelsUsingGET', '/slack/channels', {
    summary: 'List Slack channels',
    description: 'Public channels of Slack, kept for `slack.channel-refresh-interval-millis`.',
    handle: async (_request, { integrations }) => integrations.slackChannels(),
    answer: AnyList,
  }),
  tool.get('getServicesUsingGET', '/pagerDuty/services', {
    summary: 'List PagerDuty services',
    description: 'Services of PagerDuty, kept for five minutes.',
    handle: async (_request, { integrations }) => integrations.pagerDutyServices(),
    answer: ObjectList,
  }),
  tool.get('getOnCallsUsingGET', '/pagerDuty/oncalls', {
    summary: 'List people on call',
    description: 'People on call at PagerDuty by escalation policy, kept for five minutes.',
    handle: async (_request, { integrations }) => integrations.pagerDutyOnCalls(),
    answer: z.record(z.string(), ObjectList),
  }),
  gremlinTemplates('command', 'listCommandTemplatesUsingPOST'),
  gremlinTemplates('target', 'listTargetTemplatesUsingPOST'),
]

function gremlinTemplates(kind: 'command' | 'target', id: string): Operation {
  return {
    id,
    method: 'POST',
    path: `/integrations/gremlin/templates/${kind}`,
    demands: aboutGateway,
    summary: `List Gremlin ${kind} templates`,
    description: `The ${kind} templates of Gremlin for the \`apiKey\` in the body.`,
    body: { schema: AnyObject, required: true },
    handle: async ({ body }, { integrations }) =>
      integrations.gremlinTemplates(kind, String((isObject(body) && body['apiKey']) || '')),
    answer: AnyList,
    errors: notConfigured,
  }
}

async function forward(method: Method, request: OperationRequest, { integrations }: Platform): Promise<DirectAnswer> {
  const { path, search, headers } = request
  const answer = await callProxy(integrations.proxies, {
    id: path['proxy'] ?? '',
    method,
    rest: path['rest'] ?? '',
    query: search,
    contentType: headers['content-type'],
    body: request.body as Buffer | undefined,
  })
  const { status, bytes, url } = answer
  if (status < 200 || status > 599) throw new GatewayError('UPSTREAM_UNREADABLE', 'The service answered with an unknown status.')
  return new DirectAnswer(status >= 500 ? 502 : status, bytes, {
    'content-type': answer.headers['content-type'] ?? 'text/plain',
    'x-proxy-status-code': String(status),
    'x-proxy-url': url.href,
    ...unknownContent,
  })
}

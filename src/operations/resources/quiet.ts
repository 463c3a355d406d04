/** Empty lists for what the web UI requests and this gateway does not have. */

import { aboutGateway } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { AnyList, AnyObject } from '../schemas.ts'

const none = { method: 'GET', handle: async () => [], answer: AnyList } as const

export const quietOperations: Operation[] = [
  {
    ...none,
    id: 'proxiesUsingGET',
    path: '/proxies',
    demands: aboutGateway,
    summary: 'List proxies',
    description: 'Services outside the platform that are passed through to: none.',
  },
  {
    ...none,
    id: 'getChannelsUsingGET',
    path: '/slack/channels',
    demands: aboutGateway,
    summary: 'List Slack channels',
    description: 'Slack channels: none while no token is configured.',
  },
  {
    ...none,
    id: 'getServicesUsingGET',
    path: '/pagerDuty/services',
    demands: aboutGateway,
    summary: 'List PagerDuty services',
    description: 'PagerDuty services: none while no token is configured.',
  },
  {
    ...none,
    id: 'getOnCallsUsingGET',
    path: '/pagerDuty/oncalls',
    demands: aboutGateway,
    summary: 'List people on call',
    description: 'People on call at PagerDuty: none while no token is configured.',
  },
  {
    ...none,
    id: 'listCommandTemplatesUsingPOST',
    method: 'POST',
    path: '/integrations/gremlin/templates/command',
    demands: aboutGateway,
    summary: 'List Gremlin command templates',
    description: 'Gremlin command templates: none, the integration is not offered.',
    body: { schema: AnyObject, required: false },
  },
  {
    ...none,
    id: 'listTargetTemplatesUsingPOST',
    method: 'POST',
    path: '/integrations/gremlin/templates/target',
    demands: aboutGateway,
    summary: 'List Gremlin target templates',
    description: 'Gremlin target templates: none, the integration is not offered.',
    body: { schema: AnyObject, required: false },
  },
]

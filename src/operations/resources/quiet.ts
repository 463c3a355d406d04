/** Empty lists for what the web UI requests and this gateway does not have. */

import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { aboutGateway } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { AnyList, AnyObject } from '../schemas.ts'

const none = { method: 'GET', handle: async () => [], answer: AnyList } as const

export const quietOperations: Operation[] = [
  {
    ...none,
    id: 'getPluginManifestUsingGET',
    path: '/plugins/deck/plugin-manifest.json',
    demands: aboutGateway,
    summary: 'List plugins of the web UI',
    description: 'Plugins that the web UI is to load: none. Open.',
  },
  {
    id: 'getPluginAssetUsingGET',
    method: 'GET',
    path: '/plugins/deck/{pluginId}/{pluginVersion}/{asset}',
    demands: aboutGateway,
    summary: 'Get a web UI plugin file',
    description: 'A file of a plugin of the web UI; as there are no plugins, always 404. Open.',
    handle: async () => {
      throw new GatewayError('NOT_FOUND', 'This gateway serves no plugins of the web UI.')
    },
    answer: z.never(),
  },
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

/** What the web UI asks for at each start although this gateway has none of it: the truthful answer is an empty list. */

import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { aboutGateway } from '../demands.ts'
import type { Operation } from '../operation.ts'
import { AnyList, AnyObject } from '../schemas.ts'

const none = { section: 'beyond', method: 'GET', handle: async () => [], answer: AnyList } as const

export const quietOperations: Operation[] = [
  {
    ...none,
    id: 'getPluginManifestUsingGET',
    path: '/plugins/deck/plugin-manifest.json',
    demands: aboutGateway,
    summary: 'Plugins that the web UI is to load: none. Open.',
  },
  {
    id: 'getPluginAssetUsingGET',
    section: 'beyond',
    method: 'GET',
    path: '/plugins/deck/{pluginId}/{pluginVersion}/{asset}',
    demands: aboutGateway,
    summary: 'A file of a plugin of the web UI; as there are no plugins, always 404. Open.',
    handle: async () => {
      throw new GatewayError('NOT_FOUND', 'This gateway serves no plugins of the web UI.')
    },
    answer: z.never(),
  },
  {
    ...none,
    id: 'getActiveBannersUsingGET',
    path: '/banners',
    demands: aboutGateway,
    summary: 'Announcements to show now: none.',
  },
  {
    ...none,
    id: 'getAllBannersUsingGET',
    path: '/banners/all',
    demands: aboutGateway,
    summary: 'All stored announcements: none.',
  },
  {
    ...none,
    id: 'proxiesUsingGET',
    path: '/proxies',
    demands: aboutGateway,
    summary: 'Services outside the platform that are passed through to: none.',
  },
  {
    ...none,
    id: 'getChannelsUsingGET',
    path: '/slack/channels',
    demands: aboutGateway,
    summary: 'Slack channels: none while no token is configured.',
  },
  {
    ...none,
    id: 'getServicesUsingGET',
    path: '/pagerDuty/services',
    demands: aboutGateway,
    summary: 'PagerDuty services: none while no token is configured.',
  },
  {
    ...none,
    id: 'getOnCallsUsingGET',
    path: '/pagerDuty/oncalls',
    demands: aboutGateway,
    summary: 'People on call at PagerDuty: none while no token is configured.',
  },
  {
    ...none,
    id: 'listCommandTemplatesUsingPOST',
    method: 'POST',
    path: '/integrations/gremlin/templates/command',
    demands: aboutGateway,
    summary: 'Gremlin command templates: none, the integration is not offered.',
    body: { schema: AnyObject, required: false },
  },
  {
    ...none,
    id: 'listTargetTemplatesUsingPOST',
    method: 'POST',
    path: '/integrations/gremlin/templates/target',
    demands: aboutGateway,
    summary: 'Gremlin target templates: none, the integration is not offered.',
    body: { schema: AnyObject, required: false },
  },
]

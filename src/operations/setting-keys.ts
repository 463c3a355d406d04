/** The keys that operators write for single operations: limits, polling, link templates, and the integrations of the web UI. */
import { z } from 'zod'
import { httpAddress, milliseconds, withoutEffect } from '../setting.ts'
import type { ApplicationCacheSettings } from './application-cache.ts'
import type { InsightLink, OperationSettings } from './settings.ts'

const Link = z.strictObject({
  url: z.string().meta({ description: 'Address with placeholders.', template: true }),
  label: z.string().describe('Text of the link.'),
  cloudProvider: z.string().optional().describe('Show it for this provider only.'),
})

const links = z.array(Link).default([])

const BaseImage = z.looseObject({ id: z.string().describe('Name of the image.') })

const BakeOption = z.looseObject({
  cloudProvider: z.string().describe('Provider of the images.'),
  baseImages: z.array(BaseImage).default([]).describe('Images to bake upon.'),
})

export const OperationKeys = z.strictObject({
  'gate.execution.fetch.limit': z.int().min(1).default(10).describe('Executions listed when a request sets no limit.'),
  'task-service.maxNumberOfPolls': z
    .int()
    .min(1)
    .default(32)
    .describe('How often a definition change is asked whether it is done.'),
  'task-service.defaultIntervalBetweenPolls': milliseconds.default(1000).describe('Milliseconds between these questions.'),
  'controller.pipeline.bulksave.maxPollsForTaskCompletion': z
    .int()
    .min(1)
    .default(300)
    .describe('How often a save of many pipelines is asked whether it is done.'),
  'controller.pipeline.bulksave.taskCompletionCheckIntervalMs': milliseconds
    .default(2000)
    .describe('Milliseconds between these questions.'),
  'application.useFront50AsSourceOfTruth': z
    .boolean()
    .default(false)
    .describe('Leave out applications that only clouddriver knows.'),
  'services.front50.applicationRefreshIntervalMs': milliseconds
    .default(5000)
    .describe('Milliseconds between two refreshes of the list of applications.'),
  'services.front50.applicationRefreshInitialDelayMs': withoutEffect('The first refresh begins at once.'),
  'services.front50.canaryConfigStore': z.boolean().default(false).describe('Canary configurations are kept in front50.'),
  'services.kayenta.canaryConfigStore': z.boolean().default(false).describe('Canary configurations are kept in kayenta.'),
  'services.rosco.defaults.bakeOptions': z
    .array(BakeOption)
    .default([])
    .describe('Bake options that are answered when rosco is disabled.'),
  'services.rosco.defaults.useDefaultBakeOptions': z
    .boolean()
    .default(false)
    .describe('Answer with these bake options even when rosco is enabled.'),
  'insights.serverGroup': links.describe('Links shown at server groups.'),
  'insights.instance': links.describe('Links shown at instances.'),
  'insights.loadBalancer': links.describe('Links shown at load balancers.'),
  'insights.job': links.describe('Links shown at jobs.'),
  'slack.token': z.string().optional().describe('Token with which the channels of Slack are listed.'),
  'slack.baseUrl': httpAddress.prefault('https://slack.com/api').describe('Address of Slack.'),
  'pager-duty.token': z.string().optional().describe('Token with which the services of PagerDuty are listed.'),
  'pager-duty.baseUrl': httpAddress.prefault('https://api.pagerduty.com').describe('Address of PagerDuty.'),
  'integrations.gremlin.enabled': z.boolean().default(false).describe('Offer the templates of Gremlin.'),
  'integrations.gremlin.baseUrl': httpAddress.prefault('https://api.gremlin.com/v1').describe('Address of Gremlin.'),
  'global-banner.enabled': z.boolean().default(false).describe('Offer banners that administrators set for everyone.'),
  'global-banner.redis-key-prefix': withoutEffect('Where Gate keeps banners in Redis.'),
  'mcp.server.enabled': withoutEffect('Endpoint for the Model Context Protocol.'),
  'mcp.server.read-only': withoutEffect('Endpoint for the Model Context Protocol.'),
  proxies: withoutEffect('Forwarding to outside services below `/proxies`.'),
})
export type OperationKeys = z.infer<typeof OperationKeys>

/** What other capabilities already know and operations are told as well. */
export interface OperationSurroundings {
  uiUrl: string
  uiHostPattern: RegExp | undefined
  serviceAccountFilter: { enabled: boolean; matchAuthorizations: readonly string[] }
  /** `services.front50.config.includedAccounts`. */
  includedAccounts: readonly string[] | undefined
}

/** The outside services that the web UI reaches through the gateway. */
export interface IntegrationSettings {
  /** Undefined: no token, so the operations do not exist. */
  slack: { token: string; baseUrl: string } | undefined
  pagerDuty: { token: string; baseUrl: string } | undefined
  gremlin: { baseUrl: string } | undefined
  banners: boolean
  canaryConfigStore: 'front50' | 'kayenta' | undefined
}

export function toOperationSettings(keys: OperationKeys, around: OperationSurroundings): OperationSettings {
  return {
    uiUrl: around.uiUrl,
    uiHostPattern: around.uiHostPattern,
    executionLimit: keys['gate.execution.fetch.limit'],
    taskPolls: keys['task-service.maxNumberOfPolls'],
    taskPollIntervalMs: keys['task-service.defaultIntervalBetweenPolls'],
    bulkSavePolls: keys['controller.pipeline.bulksave.maxPollsForTaskCompletion'],
    bulkSavePollIntervalMs: keys['controller.pipeline.bulksave.taskCompletionCheckIntervalMs'],
    insights: {
      serverGroup: toLinks(keys['insights.serverGroup']),
      instance: toLinks(keys['insights.instance']),
      loadBalancer: toLinks(keys['insights.loadBalancer']),
      job: toLinks(keys['insights.job']),
    },
    bakeOptions: keys['services.rosco.defaults.bakeOptions'],
    useDefaultBakeOptions: keys['services.rosco.defaults.useDefaultBakeOptions'],
    filterServiceAccounts: around.serviceAccountFilter.enabled,
    serviceAccountAuthorizations: around.serviceAccountFilter.matchAuthorizations,
  }
}

export function toApplicationCacheSettings(keys: OperationKeys, around: OperationSurroundings): ApplicationCacheSettings {
  return {
    refreshMs: keys['services.front50.applicationRefreshIntervalMs'],
    definitionsOnly: keys['application.useFront50AsSourceOfTruth'],
    includedAccounts: around.includedAccounts,
  }
}

export function toIntegrationSettings(keys: OperationKeys): IntegrationSettings {
  const slack = keys['slack.token']
  const pagerDuty = keys['pager-duty.token']
  return {
    slack: slack ? { token: slack, baseUrl: keys['slack.baseUrl'] } : undefined,
    pagerDuty: pagerDuty ? { token: pagerDuty, baseUrl: keys['pager-duty.baseUrl'] } : undefined,
    gremlin: keys['integrations.gremlin.enabled'] ? { baseUrl: keys['integrations.gremlin.baseUrl'] } : undefined,
    banners: keys['global-banner.enabled'],
    canaryConfigStore: canaryConfigStore(keys),
  }
}

function toLinks(links: OperationKeys['insights.job']): InsightLink[] {
  return links.map(({ url, label, cloudProvider }) => (cloudProvider ? { url, label, cloudProvider } : { url, label }))
}

function canaryConfigStore(keys: OperationKeys): IntegrationSettings['canaryConfigStore'] {
  if (keys['services.kayenta.canaryConfigStore']) return 'kayenta'
  return keys['services.front50.canaryConfigStore'] ? 'front50' : undefined
}

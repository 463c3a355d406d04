/** Setting keys of single operations: limits, polling, link templates. */
import { z } from 'zod'
import type { BannerSettings } from '../banners/banners.ts'
import { milliseconds, type SettingsReport, withoutEffect } from '../setting.ts'
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
    .describe('Maximum number of polls for the end of a definition change.'),
  'task-service.defaultIntervalBetweenPolls': milliseconds.default(1000).describe('Milliseconds between these polls.'),
  'controller.pipeline.bulksave.maxPollsForTaskCompletion': z
    .int()
    .min(1)
    .default(300)
    .describe('Maximum number of polls for the end of a save of many pipelines.'),
  'controller.pipeline.bulksave.taskCompletionCheckIntervalMs': milliseconds
    .default(2000)
    .describe('Milliseconds between these polls.'),
  'application.useFront50AsSourceOfTruth': z.boolean().default(false).describe('Omit applications that only clouddriver knows.'),
  'services.front50.applicationRefreshIntervalMs': milliseconds
    .default(5000)
    .describe('Milliseconds between two refreshes of the list of applications.'),
  'services.front50.applicationRefreshInitialDelayMs': withoutEffect('The first refresh begins at once.'),
  'services.front50.canaryConfigStore': z
    .boolean()
    .default(false)
    .describe('Canary configurations kept in front50. Not offered by this version: they are kept in kayenta.'),
  'services.kayenta.canaryConfigStore': withoutEffect('Canary configurations are always kept in kayenta.'),
  'services.rosco.defaults.bakeOptions': z
    .array(BakeOption)
    .default([])
    .describe('Bake options to return while rosco is disabled.'),
  'services.rosco.defaults.useDefaultBakeOptions': z
    .boolean()
    .default(false)
    .describe('Return these bake options even if rosco is enabled.'),
  'insights.serverGroup': links.describe('Links shown at server groups.'),
  'insights.instance': links.describe('Links shown at instances.'),
  'insights.loadBalancer': links.describe('Links shown at load balancers.'),
  'insights.job': links.describe('Links shown at jobs.'),
  'global-banner.enabled': z
    .boolean()
    .default(true)
    .describe('Offers banners that administrators set for all users, below `/banners`.'),
  'global-banner.refresh-interval-ms': milliseconds
    .default(60_000)
    .describe('Milliseconds until a replica sees banners changed by another one.'),
  'global-banner.max-message-length': z.int().min(1).max(10_000).default(2000).describe('Characters of a banner.'),
  'global-banner.redis-key-prefix': withoutEffect(
    'Where Gate keeps banners in Redis; Fairlead keeps them in `fairlead:banners`.',
  ),
})
export type OperationKeys = z.infer<typeof OperationKeys>

/** Settings of other capabilities that operations use as well. */
interface OperationSurroundings {
  uiUrl: string
  uiUnknown: boolean
  uiHostPattern: RegExp | undefined
  servesConsole: boolean
  /** `services.front50.config.includedAccounts`. */
  includedAccounts: readonly string[] | undefined
}

/** What Gate offers and this version does not: switching it on is reported, since lists would stay empty. */
const notOffered = ['services.front50.canaryConfigStore'] as const

export function noteNotOffered(keys: OperationKeys, report: SettingsReport): void {
  for (const key of notOffered) {
    if (keys[key]) report.notice(`${key} has no effect in this version; see the reference of settings.`)
  }
}

export function toOperationSettings(keys: OperationKeys, around: OperationSurroundings): OperationSettings {
  return {
    uiUrl: around.uiUrl,
    uiUnknown: around.uiUnknown,
    uiHostPattern: around.uiHostPattern,
    servesConsole: around.servesConsole,
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
  }
}

export function toApplicationCacheSettings(keys: OperationKeys, around: OperationSurroundings): ApplicationCacheSettings {
  return {
    refreshMs: keys['services.front50.applicationRefreshIntervalMs'],
    definitionsOnly: keys['application.useFront50AsSourceOfTruth'],
    includedAccounts: around.includedAccounts,
  }
}

export function toBannerSettings(keys: OperationKeys): BannerSettings {
  return {
    enabled: keys['global-banner.enabled'],
    refreshMs: keys['global-banner.refresh-interval-ms'],
    maxMessageLength: keys['global-banner.max-message-length'],
  }
}

function toLinks(links: OperationKeys['insights.job']): InsightLink[] {
  return links.map(({ url, label, cloudProvider }) => (cloudProvider ? { url, label, cloudProvider } : { url, label }))
}

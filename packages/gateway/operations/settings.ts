/** Settings of single operations: limits, polling, link templates. */

import {
  milliseconds,
  off,
  on,
  optionalText,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  whole,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

const Link = z.strictObject({
  url: z.string().meta({ description: 'Address with placeholders.', template: true }),
  label: z.string().describe('Text of the link.'),
  cloudProvider: optionalText.describe('Show it for this provider only.'),
})

const links = z.array(Link).default([])

const BaseImage = z.looseObject({ id: z.string().describe('Name of the image.') })

const BakeOption = z.looseObject({
  cloudProvider: z.string().describe('Provider of the images.'),
  baseImages: z.array(BaseImage).default([]).describe('Images to bake upon.'),
})

export const operationKeys = settings(
  {
    operations: {
      executionLimit: setting('gate.execution.fetch.limit', whole(1).default(10)).describe(
        'Executions listed when a request sets no limit.',
      ),
      taskPolls: setting('task-service.maxNumberOfPolls', whole(1).default(32)).describe(
        'Maximum number of polls for the end of a definition change.',
      ),
      taskPollIntervalMs: setting(
        'task-service.defaultIntervalBetweenPolls',
        milliseconds.default(1000),
      ).describe('Milliseconds between these polls.'),
      bulkSavePolls: setting(
        'controller.pipeline.bulksave.maxPollsForTaskCompletion',
        whole(1).default(300),
      ).describe('Maximum number of polls for the end of a save of many pipelines.'),
      bulkSavePollIntervalMs: setting(
        'controller.pipeline.bulksave.taskCompletionCheckIntervalMs',
        milliseconds.default(2000),
      ).describe('Milliseconds between these polls.'),
      bakeOptions: setting(
        'services.rosco.defaults.bakeOptions',
        z.array(BakeOption).default([]),
      ).describe('Bake options to return while rosco is disabled.'),
      useDefaultBakeOptions: setting('services.rosco.defaults.useDefaultBakeOptions', off).describe(
        'Return these bake options even if rosco is enabled.',
      ),
      insights: {
        serverGroup: setting('insights.serverGroup', links).describe(
          'Links shown at server groups.',
        ),
        instance: setting('insights.instance', links).describe('Links shown at instances.'),
        loadBalancer: setting('insights.loadBalancer', links).describe(
          'Links shown at load balancers.',
        ),
        job: setting('insights.job', links).describe('Links shown at jobs.'),
      },
    },
    applicationCache: {
      definitionsOnly: setting('application.useFront50AsSourceOfTruth', off).describe(
        'Omit applications that only clouddriver knows.',
      ),
      refreshMs: setting(
        'services.front50.applicationRefreshIntervalMs',
        milliseconds.default(5000),
      ).describe('Milliseconds between two refreshes of the list of applications.'),
    },
    canaryConfigStore: setting('services.front50.canaryConfigStore', off).describe(
      'Canary configurations kept in front50. Not offered by this version: they are kept in kayenta.',
    ),
    banners: {
      enabled: setting('global-banner.enabled', on).describe(
        'Offers banners that administrators set for all users, below `/banners`.',
      ),
      refreshMs: setting(
        'global-banner.refresh-interval-ms',
        milliseconds.default(60_000),
      ).describe('Milliseconds until a replica sees banners changed by another one.'),
      maxMessageLength: setting(
        'global-banner.max-message-length',
        whole(1, 10_000).default(2000),
      ).describe('Characters of a banner.'),
    },
  },
  {
    'services.front50.applicationRefreshInitialDelayMs': 'The first refresh begins at once.',
    'services.kayenta.canaryConfigStore': 'Canary configurations are always kept in kayenta.',
    'global-banner.redis-key-prefix':
      'Where Gate keeps banners in Redis; Fairlead keeps them in `fairlead:banners`.',
  },
)

/** A link template of `insights.*`: `${name}` is filled from the resource, unknown names become the text null. */
export type InsightLink = z.infer<typeof Link>

export interface OperationSurroundings {
  readonly uiUrl: string
  /** No web UI is configured, and the embedded back ends include none: its default address leads nowhere. */
  readonly uiUnknown: boolean
  readonly uiHostPattern: RegExp | undefined
  readonly servesConsole: boolean
}

export type OperationSettings = ReturnType<typeof toOperationSettings>

export function toOperationSettings(
  { operations, canaryConfigStore }: SettingsOf<typeof operationKeys>,
  surroundings: OperationSurroundings,
  report: SettingsReport,
) {
  // Gate offers it and this version does not: lists would stay empty.
  if (canaryConfigStore) {
    report.notice(
      'services.front50.canaryConfigStore has no effect in this version; see the reference of settings.',
    )
  }
  return { ...surroundings, ...operations }
}

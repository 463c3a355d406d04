/** Settings of notifications: their channels, and where their links lead. */

import {
  httpAddress,
  type SettingsReport,
  setting,
  settings,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import type { SharedValues } from './notification-type.ts'
import { NotificationTypeKeys, toNotificationTypeSettings } from './types/all.ts'

const linkKeys = settings({
  baseUrl: setting('spinnaker.base-url', httpAddress.optional()).describe(
    'Address of Deck, for links in notifications. Default: `services.deck.baseUrl` where it is set; else links lead to the console.',
  ),
})

export const NotificationKeys = z.strictObject({
  ...linkKeys.keys.shape,
  ...NotificationTypeKeys.shape,
})

export interface NotificationServiceSettings {
  /** Settings of the kinds that are switched on, by their ids. */
  readonly types: Readonly<Record<string, object>>
  readonly links?: LinkTarget
}

export interface LinkTarget {
  readonly ui: 'deck' | 'console'
  /** Without a slash at its end. */
  readonly baseUrl: string
}

/** @param known Addresses of the web UIs, as far as the configuration has them, and values of other capabilities */
export function toNotificationSettings(
  keys: object,
  report: SettingsReport,
  known: SharedValues & {
    readonly deckUrl?: string
    readonly consoleUrl?: string
  } = {},
): NotificationServiceSettings {
  const deckUrl = linkKeys.read(keys).baseUrl ?? known.deckUrl
  return {
    types: toNotificationTypeSettings(keys, report, known),
    links: toLinks(deckUrl, known.consoleUrl),
  }
}

function toLinks(
  deckUrl: string | undefined,
  consoleUrl: string | undefined,
): LinkTarget | undefined {
  if (deckUrl !== undefined) return { ui: 'deck', baseUrl: deckUrl }
  return consoleUrl === undefined ? undefined : { ui: 'console', baseUrl: consoleUrl }
}

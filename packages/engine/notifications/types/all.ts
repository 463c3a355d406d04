/** All kinds of notifications. */

import { keysOf, type SettingsReport, settingsById } from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import type { NotificationType, SharedValues } from '../notification-type.ts'
import { googleChatNotifications, microsoftTeamsNotifications } from './chat-webhook.ts'
import { commitStatusNotifications } from './commit-status.ts'
import { emailNotifications } from './email.ts'
import { slackNotifications } from './slack.ts'
import { webhookNotifications } from './webhook.ts'

export const notificationTypes: readonly NotificationType[] = [
  emailNotifications,
  slackNotifications,
  microsoftTeamsNotifications,
  googleChatNotifications,
  webhookNotifications,
  ...commitStatusNotifications,
]

export const NotificationTypeKeys = z.strictObject(keysOf(notificationTypes))

/** By the id of the type, of those that are switched on. */
export function toNotificationTypeSettings(
  keys: object,
  report: SettingsReport,
  shared: SharedValues,
): Readonly<Record<string, object>> {
  return settingsById(notificationTypes, (type) => type.toSettings(keys, report, shared))
}

/** Definitions write the id in any case. */
export function notificationTypeOf(id: string): NotificationType | undefined {
  return notificationTypes.find((type) => type.id.toLowerCase() === id.toLowerCase())
}

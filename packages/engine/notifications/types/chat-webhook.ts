/** Chats that take messages at a webhook, whose address the notification has. */
import { off, setting, settings } from '@fairlead/base/settings/setting.ts'
import { postJson } from '../http-delivery.ts'
import type { Notice, NotificationType } from '../notification-type.ts'

interface WebhookChat {
  /** Also the prefix of its key. */
  readonly id: string
  readonly label: string
  /** What a webhook posts to: `channel`. */
  readonly room: string
  readonly toBody: (notice: Notice) => object
}

export function chatWebhookType({ id, label, room, toBody }: WebhookChat): NotificationType {
  const enabledBy = `${id}.enabled`
  const keys = settings({
    enabled: setting(enabledBy, off).describe(`Send notifications to ${label}, to the webhooks that notifications name.`),
  })
  return {
    id,
    label,
    enabledBy,
    keys: keys.keys,
    address: { label: 'Webhook', description: `Address of the webhook of a ${room}.` },
    isKnownToDeck: true,
    toSettings: (bound) => (keys.read(bound).enabled ? {} : undefined),
    open(_settings, tools) {
      return { send: async (notice) => void (await postJson(tools.call, { url: notice.address, body: toBody(notice) })) }
    },
  }
}

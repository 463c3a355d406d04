/** Chats that take messages at a webhook, whose address the notification has. */
import { off, setting, settings } from '@fairlead/base/settings/setting.ts'
import { postJson } from '../http-delivery.ts'
import type { Notice, NotificationType } from '../notification-type.ts'
import { detailsOf, escapeChat } from './chat-text.ts'

interface WebhookChat {
  /** Also the prefix of its key. */
  readonly id: string
  readonly label: string
  /** What a webhook posts to: `channel`. */
  readonly room: string
  readonly toBody: (notice: Notice) => object
}

function chatWebhookType({ id, label, room, toBody }: WebhookChat): NotificationType {
  const enabledBy = `${id}.enabled`
  const keys = settings({
    enabled: setting(enabledBy, off).describe(
      `Send notifications to ${label}, to the webhooks that notifications name.`,
    ),
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
      return {
        send: async (notice) =>
          void (await postJson(tools.call, { url: notice.address, body: toBody(notice) })),
      }
    },
  }
}

export const googleChatNotifications = chatWebhookType({
  id: 'googlechat',
  label: 'Google Chat',
  room: 'space',
  toBody: (notice) => ({ text: formatText(notice) }),
})

function formatText(notice: Notice): string {
  const { subject, link } = notice
  const details = detailsOf(notice)
  const lines = [`*${escapeChat(subject)}*`, ...(details === '' ? [] : [escapeChat(details)])]
  return link === undefined ? lines.join('\n') : [...lines, `<${link}|Open>`].join('\n')
}

export const microsoftTeamsNotifications = chatWebhookType({
  id: 'microsoftteams',
  label: 'Microsoft Teams',
  room: 'channel',
  toBody: toCard,
})

const colors = {
  starting: 'accent',
  complete: 'good',
  failed: 'attention',
  waiting: 'warning',
} as const

/** An adaptive card, which workflows and connectors take. */
function toCard(notice: Notice): object {
  const { subject, link, phase } = notice
  const details = detailsOf(notice)
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      { type: 'TextBlock', text: subject, weight: 'bolder', wrap: true, color: colors[phase] },
      ...(details === '' ? [] : [{ type: 'TextBlock', text: details, wrap: true }]),
    ],
    ...(link !== undefined && { actions: [{ type: 'Action.OpenUrl', title: 'Open', url: link }] }),
  }
  return {
    type: 'message',
    summary: subject,
    attachments: [
      { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content },
    ],
  }
}

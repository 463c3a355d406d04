/** Google Chat, by the webhook of a space. */
import type { Notice } from '../notification-type.ts'
import { detailsOf, escapeChat } from './chat-text.ts'
import { chatWebhookType } from './chat-webhook.ts'

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

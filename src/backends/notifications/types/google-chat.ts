/** Google Chat, by the webhook of a space. */
import { off, setting, settings } from '../../../settings/setting.ts'
import { postJson } from '../http-delivery.ts'
import type { Notice, NotificationType } from '../notification-type.ts'
import { detailsOf, escapeChat } from './chat-text.ts'

const googleChatKeys = settings({
  enabled: setting('googlechat.enabled', off).describe(
    'Send notifications to Google Chat, to the webhooks that notifications name.',
  ),
})

export const googleChatNotifications: NotificationType = {
  id: 'googlechat',
  label: 'Google Chat',
  enabledBy: 'googlechat.enabled',
  keys: googleChatKeys.keys,
  address: { label: 'Webhook', description: 'Address of the webhook of a space.' },
  isKnownToDeck: true,
  toSettings: (keys) => (googleChatKeys.read(keys).enabled ? {} : undefined),
  open(_settings, tools) {
    const call = tools.callsTo()
    return { send: async (notice) => void (await postJson(call, { url: notice.address, body: { text: formatText(notice) } })) }
  },
}

function formatText(notice: Notice): string {
  const { subject, link } = notice
  const details = detailsOf(notice)
  const lines = [`*${escapeChat(subject)}*`, ...(details === '' ? [] : [escapeChat(details)])]
  return link === undefined ? lines.join('\n') : [...lines, `<${link}|Open>`].join('\n')
}

/** Microsoft Teams, by the webhook of a channel. */
import { off, setting, settings } from '../../../settings/setting.ts'
import { postJson } from '../http-delivery.ts'
import type { Notice, NotificationType } from '../notification-type.ts'
import { detailsOf } from './chat-text.ts'

const teamsKeys = settings({
  enabled: setting('microsoftteams.enabled', off).describe(
    'Send notifications to Microsoft Teams, to the webhooks that notifications name.',
  ),
})

export const microsoftTeamsNotifications: NotificationType = {
  id: 'microsoftteams',
  label: 'Microsoft Teams',
  enabledBy: 'microsoftteams.enabled',
  keys: teamsKeys.keys,
  address: { label: 'Webhook', description: 'Address of the webhook of a channel.' },
  isKnownToDeck: true,
  toSettings: (keys) => (teamsKeys.read(keys).enabled ? {} : undefined),
  open(_settings, tools) {
    const call = tools.callsTo()
    return { send: async (notice) => void (await postJson(call, { url: notice.address, body: toCard(notice) })) }
  },
}

const colors = { starting: 'accent', complete: 'good', failed: 'attention', waiting: 'warning' } as const

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
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  }
}

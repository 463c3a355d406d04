/** Microsoft Teams, by the webhook of a channel. */
import type { Notice } from '../notification-type.ts'
import { detailsOf } from './chat-text.ts'
import { chatWebhookType } from './chat-webhook.ts'

export const microsoftTeamsNotifications = chatWebhookType({
  id: 'microsoftteams',
  label: 'Microsoft Teams',
  room: 'channel',
  toBody: toCard,
})

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

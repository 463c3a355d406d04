/** A webhook of any program: JSON with a signature. */
import { createHmac } from 'node:crypto'
import { formatJson } from '@fairlead/base/json/json.ts'
import { usePermissions } from '@fairlead/base/outside/outside-account.ts'
import {
  off,
  optionalText,
  type SettingsOf,
  setting,
  settings,
} from '@fairlead/base/settings/setting.ts'
import { postJson } from '../http-delivery.ts'
import type { Notice, NotificationType } from '../notification-type.ts'

const webhookKeys = settings({
  enabled: setting('webhook-notifications.enabled', off).describe(
    'Send notifications to the webhooks that they name.',
  ),
  permissions: setting('webhook-notifications.permissions', usePermissions),
  secret: setting('webhook-notifications.secret', optionalText).describe(
    'Key of the signature, which receivers check: HMAC with SHA-256 of the body.',
  ),
})

type WebhookSettings = SettingsOf<typeof webhookKeys>

export const webhookNotifications: NotificationType = {
  id: 'webhook',
  label: 'Webhook',
  enabledBy: 'webhook-notifications.enabled',
  keys: webhookKeys.keys,
  address: { label: 'Address', description: 'Receives JSON by POST.' },
  isKnownToDeck: false,
  toSettings(keys, report): WebhookSettings | undefined {
    const values = webhookKeys.read(keys)
    if (!values.enabled) return undefined
    if (values.secret === undefined)
      report.problem(
        'webhook-notifications.secret',
        'is needed with webhook-notifications.enabled, so that receivers can check the sender',
      )
    return values
  },
  open(settings, tools) {
    const { secret = '' } = settings as WebhookSettings
    return {
      async send(notice) {
        const body = formatJson(toBody(notice))
        const signature = createHmac('sha256', secret).update(body).digest('hex')
        const headers = {
          'x-fairlead-signature-256': `sha256=${signature}`,
          'idempotency-key': notice.id,
        }
        await postJson(tools.call, { url: notice.address, headers, body })
      },
    }
  },
}

function toBody({ address: _address, cc: _cc, ...told }: Notice): object {
  return told
}

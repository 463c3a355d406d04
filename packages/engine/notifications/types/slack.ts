/** Slack, by the token of a bot or an incoming webhook, with the keys of Spinnaker's echo. */
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { fieldOf, textOf } from '@fairlead/base/json/values.ts'
import { operatorAddress } from '@fairlead/base/outside/call-outside.ts'
import { usePermissions } from '@fairlead/base/outside/outside-account.ts'
import {
  httpAddress,
  off,
  optionalText,
  type SettingsOf,
  setting,
  settings,
} from '@fairlead/base/settings/setting.ts'
import { postJson } from '../http-delivery.ts'
import {
  type ChannelTools,
  DeliveryError,
  type Notice,
  type NoticeChannel,
  type NotificationType,
} from '../notification-type.ts'
import { detailsOf, escapeChat } from './chat-text.ts'

const slackKeys = settings({
  enabled: setting('slack.enabled', off).describe(
    'Send notifications to Slack. `slack.token` is that of a bot with the right `chat:write`, or the last three parts of the address of ' +
      'an incoming webhook.',
  ),
  permissions: setting('slack.permissions', usePermissions),
  botName: setting('slack.bot-name', optionalText).describe(
    'Name that messages come from. Default: that of the bot.',
  ),
  iconUrl: setting('slack.default-icon-url', optionalText).describe(
    'Address of the picture of the sender.',
  ),
  usesWebhook: setting('slack.force-use-incoming-webhook', off).describe(
    'Use an incoming webhook also where the token does not look like one.',
  ),
  hooksUrl: setting(
    'slack.hooks-base-url',
    httpAddress.prefault('https://hooks.slack.com'),
  ).describe('Address of the incoming webhooks of Slack.'),
})

interface SlackSettings extends Partial<SettingsOf<typeof slackKeys>> {
  readonly token: string
  /** URL of the API. */
  readonly baseUrl: string
}

/** Errors of Slack that pass. */
const passingErrors: ReadonlySet<string> = new Set([
  'fatal_error',
  'internal_error',
  'ratelimited',
  'rate_limited',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
])

export const slackNotifications: NotificationType = {
  id: 'slack',
  label: 'Slack',
  enabledBy: 'slack.enabled',
  keys: slackKeys.keys,
  address: {
    label: 'Channel',
    description: 'Name or id of a channel. An incoming webhook has its own.',
  },
  isKnownToDeck: true,
  toSettings(keys, report, { slack }): SlackSettings | undefined {
    const values = slackKeys.read(keys)
    if (!values.enabled) return undefined
    if (slack?.token === undefined) report.problem('slack.token', 'is needed with slack.enabled')
    return { ...values, token: slack?.token ?? '', baseUrl: slack?.baseUrl ?? '' }
  },
  open: (settings, tools) => openSlack(settings as SlackSettings, tools),
}

function openSlack(
  { token, baseUrl, hooksUrl = '', botName, iconUrl, usesWebhook = false }: SlackSettings,
  tools: ChannelTools,
): NoticeChannel {
  const sender = {
    ...(botName !== undefined && { username: botName }),
    ...(iconUrl !== undefined && { icon_url: iconUrl }),
  }
  if (usesWebhook || token.split('/').length > 2) {
    const url = operatorAddress(hooksUrl, `/services/${token.replace(/^\/+/, '')}`)
    return {
      send: async (notice) =>
        void (await postJson(tools.call, { url, body: { ...sender, text: formatSlack(notice) } })),
    }
  }
  const url = operatorAddress(baseUrl, '/chat.postMessage')
  const headers = { authorization: `Bearer ${token}` }
  return {
    async send(notice) {
      const body = {
        ...sender,
        channel: toChannel(notice.address),
        text: formatSlack(notice),
        unfurl_links: false,
      }
      const answer = await postJson(tools.call, { url, headers, body })
      checkAnswer(answer.text)
    },
  }
}

/** Slack answers with 200 also when it refuses. @throws {DeliveryError} */
function checkAnswer(text: string): void {
  const body = parseIfJson(text)
  if (fieldOf(body, 'ok') === true) return
  const error = textOf(fieldOf(body, 'error')) ?? 'no error'
  const word = /^[a-z_]{1,60}$/.test(error) ? error : 'an unknown error'
  throw new DeliveryError(`Slack refused the message: ${word}.`, {
    isFinal: !passingErrors.has(word) && word !== 'an unknown error',
  })
}

/** Spinnaker's rule: what is neither an id nor a name with its mark is the name of a channel. */
function toChannel(address: string): string {
  const channel = address.trim()
  return /^[#@]/.test(channel) || /^[CDGU][A-Z0-9]{7,}$/.test(channel) ? channel : `#${channel}`
}

function formatSlack(notice: Notice): string {
  const { subject, link } = notice
  const details = detailsOf(notice)
  const title =
    link === undefined
      ? `*${escapeChat(subject)}*`
      : `<${link}|${escapeChat(subject).replaceAll('|', '¦')}>`
  return details === '' ? title : `${title}\n${escapeChat(details)}`
}

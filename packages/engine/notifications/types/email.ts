/** E-mail over SMTP, with the keys of Spinnaker's echo. */

import { usePermissions } from '@fairlead/base/outside/outside-account.ts'
import {
  off,
  optionalFlag,
  optionalText,
  port,
  type SettingsOf,
  setting,
  settings,
} from '@fairlead/base/settings/setting.ts'
import { readAuthorities } from '@fairlead/base/tls/read-authorities.ts'
import type { Transporter } from 'nodemailer'
import {
  DeliveryError,
  type Notice,
  type NoticeChannel,
  type NotificationType,
} from '../notification-type.ts'

const smtp = 'spring.mail.properties.mail.smtp'

const emailKeys = settings(
  {
    enabled: setting('mail.enabled', off).describe(
      'Send notifications by e-mail, through the server of `spring.mail`.',
    ),
    permissions: setting('mail.permissions', usePermissions),
    from: setting('mail.from', optionalText).describe(
      'Sender of e-mails, such as `Fairlead <fairlead@example.com>`.',
    ),
    caFile: setting('mail.ca-file', optionalText).describe(
      'PEM file with the authorities that the mail server is trusted by, in place of the usual ones; read at the start.',
    ),
    host: setting('spring.mail.host', optionalText).describe('Host of the mail server.'),
    port: setting('spring.mail.port', port.optional()).describe(
      'Its port. Default: 465 with `smtp.ssl.enable`, else 587.',
    ),
    username: setting('spring.mail.username', optionalText).describe(
      'User at the mail server; without one there is no login.',
    ),
    password: setting('spring.mail.password', optionalText).describe('Its password.'),
    isTls: setting(`${smtp}.ssl.enable`, off).describe(
      'Begin with TLS. Without it, STARTTLS is used where the server offers it.',
    ),
    requiresTls: setting(`${smtp}.starttls.required`, optionalFlag).describe(
      'Send nothing without TLS. Default: true with a user, whose password would be readable.',
    ),
  },
  {
    [`${smtp}.auth`]: 'Follows from `spring.mail.username`.',
    [`${smtp}.starttls.enable`]: 'STARTTLS is used where the server offers it.',
  },
)

type EmailSettings = SettingsOf<typeof emailKeys> & { readonly authorities?: string }

const timeouts = {
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 20_000,
  dnsTimeout: 10_000,
}

export const emailNotifications: NotificationType = {
  id: 'email',
  label: 'E-mail',
  enabledBy: 'mail.enabled',
  keys: emailKeys.keys,
  address: { label: 'E-mail address', description: 'One or several, separated by commas.' },
  isKnownToDeck: true,
  toSettings(keys, report): EmailSettings | undefined {
    const values = emailKeys.read(keys)
    if (!values.enabled) return undefined
    if (values.host === undefined) report.problem('spring.mail.host', 'is needed with mail.enabled')
    if (values.from === undefined) report.problem('mail.from', 'is needed with mail.enabled')
    if (values.username !== undefined && values.password === undefined)
      report.problem('spring.mail.password', 'is needed with spring.mail.username')
    return { ...values, authorities: readAuthorities(values.caFile, 'mail.ca-file', report) }
  },
  open: (settings) => openEmail(settings as EmailSettings),
}

function openEmail(settings: EmailSettings): NoticeChannel {
  let opened: Promise<Transporter> | undefined
  return {
    async send(notice) {
      opened ??= openTransport(settings)
      const transport = await opened
      try {
        const { rejected = [] } = await transport.sendMail({
          ...toMail(notice),
          from: settings.from,
        })
        if (rejected.length > 0) {
          throw new DeliveryError(
            `The mail server refused ${rejected.map(String).join(', ')}; other recipients were accepted.`,
            {
              isFinal: true,
            },
          )
        }
      } catch (error) {
        throw toDeliveryError(error as SmtpError)
      }
    },
    close: () => void opened?.then((transport) => transport.close()),
  }
}

/** Loaded when the first e-mail is sent: most installations send none. */
async function openTransport({
  host,
  port: chosenPort,
  isTls,
  username,
  password,
  authorities,
  ...settings
}: EmailSettings): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  return createTransport({
    host: host ?? '',
    port: chosenPort ?? (isTls ? 465 : 587),
    secure: isTls,
    requireTLS: !isTls && (settings.requiresTls ?? username !== undefined),
    ...(username !== undefined && { auth: { user: username, pass: password ?? '' } }),
    tls: { ...(authorities !== undefined && { ca: authorities }), minVersion: 'TLSv1.2' as const },
    disableFileAccess: true,
    disableUrlAccess: true,
    ...timeouts,
  })
}

function toMail({ id, address, cc, subject, text, link }: Notice) {
  return {
    to: address,
    ...(cc !== undefined && { cc }),
    subject,
    text: link === undefined ? text : `${text}\n\n${link}\n`,
    // The same for a repetition, so that mail programs show it once.
    messageId: `<${id}@fairlead>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
  }
}

interface SmtpError extends Error {
  readonly code?: string
  readonly responseCode?: number
}

const loginFaults: ReadonlySet<string> = new Set(['EAUTH', 'ENOAUTH', 'EOAUTH2'])

/** A refused login or certificate waits for the operator, so that it is tried again. */
function toDeliveryError(error: SmtpError): DeliveryError {
  if (error instanceof DeliveryError) return error
  const { code = 'error', responseCode = 0 } = error
  if (code === 'EENVELOPE' && responseCode === 0)
    return new DeliveryError('The address is no e-mail address.', { isFinal: true })
  if (loginFaults.has(code))
    return new DeliveryError(`The mail server refused the login (${responseCode || code}).`)
  if (responseCode === 0)
    return new DeliveryError(`The mail server cannot be used (${code}): ${error.message}`)
  return new DeliveryError(`The mail server answered with ${responseCode}.`, {
    isFinal: responseCode >= 500,
  })
}

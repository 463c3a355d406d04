/** Settings of outgoing calls by stages, and of webhook stages from the configuration. */
import { z } from 'zod'
import { findRegexProblem } from '../regex/bounded-regex.ts'
import { SandboxChoice } from '../sandbox/settings.ts'
import { isNetworkRange } from '../settings/network-range.ts'
import {
  defaultsOf,
  on,
  optionalFlag,
  optionalText,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  texts,
} from '../settings/setting.ts'

const Parameter = z.strictObject({
  name: z.string().min(1).describe('Name, as in `${parameterValues.name}`.'),
  label: optionalText.describe('Label in the web UI.'),
  description: optionalText.describe('Help text.'),
  type: z.literal('string').default('string').describe('Type: a text.'),
  defaultValue: optionalText.describe('Value of stages that give none.'),
  order: z.int().optional().describe('Place in the form.'),
})

export const PreconfiguredWebhook = z.strictObject({
  type: z.string().min(1).describe('Stage type.'),
  label: z.string().min(1).describe('Name of the stage type in the web UI.'),
  description: z.string().default('').describe('Description in the web UI.'),
  enabled: on.describe('Offer the stage type.'),
  url: optionalText.meta({ description: 'Address to call.', template: true }),
  method: optionalText.describe('HTTP method.'),
  customHeaders: z
    .record(
      z.string(),
      z.unknown().meta({ description: 'Value, or a list of them.', template: true }),
    )
    .optional()
    .describe(
      'Headers of calls to the hosts in `url` and `cancelEndpoint`, as they are written here; other hosts get none of them.',
    ),
  payload: z
    .unknown()
    .optional()
    .meta({ description: 'Body: JSON, or a text that holds JSON.', template: true }),
  waitForCompletion: optionalFlag.describe('Poll until the work is done.'),
  statusUrlResolution: z
    .enum(['getMethod', 'locationHeader', 'webhookResponse'])
    .optional()
    .describe('Where the status address is.'),
  statusUrlJsonPath: optionalText.describe('Path of the status address in the response.'),
  statusJsonPath: optionalText.describe('Path of the status in its response.'),
  progressJsonPath: optionalText.describe('Path of a progress message.'),
  successStatuses: optionalText.describe('Statuses of success, separated by commas.'),
  canceledStatuses: optionalText.describe('Statuses of a cancellation, separated by commas.'),
  terminalStatuses: optionalText.describe('Statuses of a failure, separated by commas.'),
  cancelEndpoint: optionalText.meta({
    description: 'Address to call when the stage is cancelled.',
    template: true,
  }),
  cancelMethod: optionalText.describe('Its HTTP method.'),
  cancelPayload: z.unknown().optional().meta({ description: 'Its body.', template: true }),
  parameters: z
    .array(Parameter)
    .default([])
    .describe('Fields that the author of a stage fills in.'),
  permissions: z
    .record(z.string(), z.array(z.string()))
    .optional()
    .describe('Roles that may use it: `READ` and `WRITE`.'),
})
export type PreconfiguredWebhook = z.infer<typeof PreconfiguredWebhook>

const restrictions = 'user-configured-url-restrictions'

export const outsideKeys = settings({
  preconfigured: setting(
    'webhook.preconfigured',
    z
      .array(PreconfiguredWebhook)
      .default([])
      .transform((all) => all.filter(({ enabled }) => enabled)),
  ).describe(
    'Webhook stages that the embedded engine adds. Stages fill in `${parameterValues.name}`.',
  ),
  sandbox: setting('sandbox', SandboxChoice.default('auto')).describe(
    'What keeps programs apart that read what authors wrote (Helm, Kustomize, Helmfile, Git, unpackers, builds, bakes, commands): ' +
      '`bwrap` (bubblewrap), `unshare` (the same namespaces of the kernel by util-linux), or `none`: they have all rights of their user, ' +
      'which is that of Fairlead unless an account has its own. Default: the first of the first two that works; where neither does, such ' +
      'programs do not run.',
  ),
  hostNames: setting(`${restrictions}.allowedHostnamesRegex`, z.string().default('.*')).describe(
    'Regular expression for whole host names that stages may call.',
  ),
  excluded: setting(`${restrictions}.excludedDomains`, texts).describe(
    'Domains whose hosts stages must not call, such as `corp.example`. Local names are refused without it.',
  ),
  excludedVariables: setting(`${restrictions}.excludedDomainsFromEnvironment`, texts).describe(
    'Environment variables whose values are further excluded domains, such as `POD_NAMESPACE`.',
  ),
  patternVariables: setting(`${restrictions}.extraExcludedPatternsFromEnvironment`, texts).describe(
    'Environment variables whose values are regular expressions for whole host names that stages must not call.',
  ),
  schemes: setting(
    `${restrictions}.allowedSchemes`,
    z.array(z.enum(['http', 'https'])).default(['http', 'https']),
  ).describe('Schemes that stages may call.'),
  allowed: setting(`${restrictions}.allowedAddresses`, texts).describe(
    'Networks in CIDR notation that stages may call although they are internal, such as `127.0.0.1/32`.',
  ),
  rejected: setting(`${restrictions}.rejectedIps`, texts).describe(
    'Further networks in CIDR notation that stages must not call.',
  ),
  rejects: {
    localhost: setting(`${restrictions}.rejectLocalhost`, on).describe(
      'Reject addresses of this machine.',
    ),
    linkLocal: setting(`${restrictions}.rejectLinkLocal`, on).describe(
      'Reject link-local addresses, which serve credentials in clouds.',
    ),
    verbatim: setting(`${restrictions}.rejectVerbatimIps`, on).describe(
      'Reject addresses that are written as numbers.',
    ),
    private: setting(`${restrictions}.rejectPrivateNetworks`, on).describe(
      'Reject private networks, such as 10.0.0.0/8.',
    ),
  },
})

export type OutsideSettings = SettingsOf<typeof outsideKeys> & {
  /** Patterns of whole host names that stages must not call. */
  readonly excludedPatterns?: readonly string[]
}

/** Origins that the configuration fixes, without parameters: only they get the webhook's headers. */
export function fixedOrigins({
  url,
  cancelEndpoint,
}: Pick<PreconfiguredWebhook, 'url' | 'cancelEndpoint'>): ReadonlySet<unknown> {
  const origins = [url, cancelEndpoint].flatMap((address = '') => {
    const [authority = ''] = /^https?:\/\/[^/?#\\]*/i.exec(address) ?? []
    return authority.includes('${') ? [] : (URL.parse(authority)?.origin ?? [])
  })
  return new Set(origins)
}

export function toOutsideSettings(
  values: OutsideSettings,
  report: SettingsReport,
): OutsideSettings {
  if (values.sandbox === 'none')
    report.notice(
      'Warning: Helm, Kustomize and Git read what authors wrote with all rights of the user of Fairlead (sandbox: none).',
    )
  const types = new Set<string>()
  for (const webhook of values.preconfigured) {
    const { type, customHeaders } = webhook
    if (customHeaders !== undefined && fixedOrigins(webhook).size === 0)
      report.notice(
        `webhook.preconfigured: "${type}" sends no customHeaders: write the host of its url without parameters.`,
      )
    if (types.has(type))
      report.problem('webhook.preconfigured', `the stage type "${type}" is listed twice`)
    types.add(type)
  }
  const valuesOf = (names: readonly string[]) =>
    names.flatMap((name) => report.variable?.(name) ?? [])
  const excludedPatterns = valuesOf(values.patternVariables)
  for (const [name, patterns] of [
    ['allowedHostnamesRegex', [values.hostNames]],
    ['extraExcludedPatternsFromEnvironment', excludedPatterns],
  ] as const)
    if (patterns.some((pattern) => findRegexProblem(pattern) !== undefined))
      report.problem(`${restrictions}.${name}`, 'must be a regular expression')
  for (const [name, networks] of [
    ['allowedAddresses', values.allowed],
    ['rejectedIps', values.rejected],
  ] as const) {
    for (const network of networks) {
      if (!isNetworkRange(network)) {
        report.problem(
          `${restrictions}.${name}`,
          `"${network}" is not a network such as 10.0.0.0/8 or an address`,
        )
      }
    }
  }
  const excluded = [...values.excluded, ...valuesOf(values.excludedVariables)]
  return { ...values, excluded, excludedPatterns }
}

export const defaultOutsideSettings: OutsideSettings = defaultsOf(outsideKeys)

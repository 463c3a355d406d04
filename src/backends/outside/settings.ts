/** Settings of outgoing calls by stages, and of webhook stages from the configuration. */
import { z } from 'zod'
import { isNetworkRange } from '../../network-range.ts'
import type { SettingsReport } from '../../setting.ts'
import { findRegexProblem } from '../regex/bounded-regex.ts'

const Parameter = z.strictObject({
  name: z.string().min(1).describe('Name, as in `${parameterValues.name}`.'),
  label: z.string().optional().describe('Label in the web UI.'),
  description: z.string().optional().describe('Help text.'),
  type: z.literal('string').default('string').describe('Type: a text.'),
  defaultValue: z.string().optional().describe('Value of stages that give none.'),
  order: z.int().optional().describe('Place in the form.'),
})

const PreconfiguredWebhook = z.strictObject({
  type: z.string().min(1).describe('Stage type.'),
  label: z.string().min(1).describe('Name of the stage type in the web UI.'),
  description: z.string().default('').describe('Description in the web UI.'),
  enabled: z.boolean().default(true).describe('Offer the stage type.'),
  url: z.string().optional().meta({ description: 'Address to call.', template: true }),
  method: z.string().optional().describe('HTTP method.'),
  customHeaders: z
    .record(z.string(), z.unknown().meta({ description: 'Value, or a list of them.', template: true }))
    .optional()
    .describe('Headers of the call.'),
  payload: z.unknown().optional().meta({ description: 'Body: JSON, or a text that holds JSON.', template: true }),
  waitForCompletion: z.boolean().optional().describe('Poll until the work is done.'),
  statusUrlResolution: z
    .enum(['getMethod', 'locationHeader', 'webhookResponse'])
    .optional()
    .describe('Where the status address is.'),
  statusUrlJsonPath: z.string().optional().describe('Path of the status address in the response.'),
  statusJsonPath: z.string().optional().describe('Path of the status in its response.'),
  progressJsonPath: z.string().optional().describe('Path of a progress message.'),
  successStatuses: z.string().optional().describe('Statuses of success, separated by commas.'),
  canceledStatuses: z.string().optional().describe('Statuses of a cancellation, separated by commas.'),
  terminalStatuses: z.string().optional().describe('Statuses of a failure, separated by commas.'),
  cancelEndpoint: z.string().optional().meta({ description: 'Address to call when the stage is cancelled.', template: true }),
  cancelMethod: z.string().optional().describe('Its HTTP method.'),
  cancelPayload: z.unknown().optional().meta({ description: 'Its body.', template: true }),
  parameters: z.array(Parameter).default([]).describe('Fields that the author of a stage fills in.'),
  permissions: z.record(z.string(), z.array(z.string())).optional().describe('Roles that may use it: `READ` and `WRITE`.'),
})
export type PreconfiguredWebhook = z.infer<typeof PreconfiguredWebhook>

const restrictions = 'user-configured-url-restrictions'

export const OutsideKeys = z.strictObject({
  'webhook.preconfigured': z
    .array(PreconfiguredWebhook)
    .default([])
    .describe('Webhook stages that the embedded engine adds. Stages fill in `${parameterValues.name}`.'),
  [`${restrictions}.allowedHostnamesRegex`]: z
    .string()
    .default('.*')
    .describe('Regular expression for whole host names that stages may call.'),
  [`${restrictions}.allowedSchemes`]: z
    .array(z.enum(['http', 'https']))
    .default(['http', 'https'])
    .describe('Schemes that stages may call.'),
  [`${restrictions}.allowedAddresses`]: z
    .array(z.string())
    .default([])
    .describe('Networks in CIDR notation that stages may call although they are internal, such as `127.0.0.1/32`.'),
  [`${restrictions}.rejectedIps`]: z
    .array(z.string())
    .default([])
    .describe('Further networks in CIDR notation that stages must not call.'),
  [`${restrictions}.rejectLocalhost`]: z.boolean().default(true).describe('Reject addresses of this machine.'),
  [`${restrictions}.rejectLinkLocal`]: z
    .boolean()
    .default(true)
    .describe('Reject link-local addresses, which serve credentials in clouds.'),
  [`${restrictions}.rejectVerbatimIps`]: z.boolean().default(true).describe('Reject addresses that are written as numbers.'),
  [`${restrictions}.rejectPrivateNetworks`]: z.boolean().default(true).describe('Reject private networks, such as 10.0.0.0/8.'),
})
export type OutsideKeys = z.infer<typeof OutsideKeys>

/** Plain data, for the worker thread. */
export interface OutsideSettings {
  readonly preconfigured: readonly PreconfiguredWebhook[]
  readonly hostNames: string
  readonly schemes: readonly string[]
  readonly allowed: readonly string[]
  readonly rejected: readonly string[]
  readonly rejects: {
    readonly localhost: boolean
    readonly linkLocal: boolean
    readonly verbatim: boolean
    readonly private: boolean
  }
}

export function toOutsideSettings(keys: OutsideKeys, report: SettingsReport): OutsideSettings {
  const types = new Set<string>()
  for (const { type, enabled } of keys['webhook.preconfigured']) {
    if (enabled && types.has(type)) report.problem('webhook.preconfigured', `the stage type "${type}" is listed twice`)
    types.add(type)
  }
  const hostNames = keys[`${restrictions}.allowedHostnamesRegex`]
  if (findRegexProblem(hostNames) !== undefined)
    report.problem(`${restrictions}.allowedHostnamesRegex`, 'must be a regular expression')
  for (const name of ['allowedAddresses', 'rejectedIps'] as const) {
    for (const network of keys[`${restrictions}.${name}`]) {
      if (!isNetworkRange(network)) {
        report.problem(`${restrictions}.${name}`, `"${network}" is not a network such as 10.0.0.0/8 or an address`)
      }
    }
  }
  return {
    preconfigured: keys['webhook.preconfigured'].filter(({ enabled }) => enabled),
    hostNames,
    schemes: keys[`${restrictions}.allowedSchemes`],
    allowed: keys[`${restrictions}.allowedAddresses`],
    rejected: keys[`${restrictions}.rejectedIps`],
    rejects: {
      localhost: keys[`${restrictions}.rejectLocalhost`],
      linkLocal: keys[`${restrictions}.rejectLinkLocal`],
      verbatim: keys[`${restrictions}.rejectVerbatimIps`],
      private: keys[`${restrictions}.rejectPrivateNetworks`],
    },
  }
}

export const defaultOutsideSettings: OutsideSettings = toOutsideSettings(OutsideKeys.parse({}), {
  problem: () => {},
  notice: () => {},
  isSet: () => false,
})

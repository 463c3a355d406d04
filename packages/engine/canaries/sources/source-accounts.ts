/** Accounts at sources of metrics: their settings, by the names of kayenta, and their calls over HTTP. */
import http from 'node:http'
import https from 'node:https'
import { setImmediate } from 'node:timers/promises'
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { list, shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import { CallError } from '@fairlead/base/net/call.ts'
import {
  createOutsideCalls,
  type OutsideAnswer,
  operatorAddress,
} from '@fairlead/base/outside/call-outside.ts'
import { useKeys } from '@fairlead/base/outside/outside-account.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { httpAddress, optionalFlag, setting, settings } from '@fairlead/base/settings/setting.ts'
import { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { z } from 'zod'
import { MetricError, type MetricSourceType, type OpenAccount } from '../metric-source.ts'
import type { MetricAccountSettings } from '../settings.ts'

/** Fields of every account. */
export const sourceAccountFields = {
  name: z.string().min(1).describe('Name, as stages choose it.'),
  ...useKeys,
  supportedTypes: z
    .array(z.string())
    .optional()
    .describe('Without effect: the account has metrics.'),
}

export const accountSecret = z.string().min(1).optional()

export const endpointField = z
  .strictObject({ baseUrl: httpAddress.describe('Its address.') })
  .describe('Where the source is.')

interface SourceDefinition<Account extends z.ZodObject> {
  readonly id: string
  /** For people: `Prometheus`. */
  readonly title: string
  readonly account: Account
  open(account: z.infer<Account>, context: BackendContext): OpenAccount
}

/** A source whose accounts are settings. */
export function metricSource<Account extends z.ZodObject>({
  id,
  title,
  account,
  open,
}: SourceDefinition<Account>): MetricSourceType {
  const accountsKey = `kayenta.${id}.accounts`
  const group = settings({
    enabled: setting(`kayenta.${id}.enabled`, optionalFlag).describe(
      `Canary analysis with metrics of ${title}. Default: on where it has accounts.`,
    ),
    accounts: setting(accountsKey, z.array(account).default([])).describe(
      `Metrics accounts of ${title}.`,
    ),
  })
  return {
    id,
    keys: group.keys,
    toSettings(keys, report) {
      const { enabled, accounts } = group.read(keys) as {
        enabled?: boolean
        accounts: MetricAccountSettings[]
      }
      if (enabled === true && accounts.length === 0)
        report.notice(`${accountsKey} is empty: there are no metrics of ${title}.`)
      return enabled === false ? [] : accounts
    },
    open: (accounts, context) =>
      accounts.map((each) => ({
        ...open(each as z.infer<Account>, context),
        name: each.name,
        type: id,
        use: each,
      })),
  }
}

interface SourceRequest {
  /** Below the address of the account, with its query. */
  readonly path: string
  readonly method?: 'GET' | 'POST'
  readonly body?: string
  /** Besides those of the account. */
  readonly headers?: Readonly<Record<string, string>>
}

/** @returns the parsed body of a success @throws {MetricError} */
export type SourceCall = (request: SourceRequest) => Promise<unknown>

const bounds = { maxAnswerBytes: 32 * 1024 ** 2, timeoutMs: 30_000, caller: 'Metrics accounts' }

interface SourceAddress {
  readonly account: string
  /** For messages. */
  readonly title: string
  readonly baseUrl: string
  /** Credentials of the account. */
  readonly headers?: () => Promise<Readonly<Record<string, string>>>
}

export function createSourceCalls(
  context: BackendContext,
  { account, title, baseUrl, headers: own }: SourceAddress,
) {
  const agents = {
    'http:': new http.Agent({ keepAlive: true }),
    'https:': new https.Agent({ keepAlive: true }),
  }
  const callOutside = createOutsideCalls(context.settings.outside, { ...bounds, agents })
  const name = `The metrics account "${account}" (${title})`
  // Answers that come together are each read for milliseconds, in which others would wait.
  const reading = new ConcurrencyLimit(1)
  const call: SourceCall = async ({ path, method = 'GET', body, headers = {} }) => {
    const sent = { accept: 'application/json', ...headers, ...(await own?.()) }
    const request = { method, url: operatorAddress(baseUrl, path), headers: sent, body }
    const answer = await callOutside(request).catch((error: unknown) => {
      if (!(error instanceof CallError)) throw error
      throw new MetricError(
        `${name} cannot be asked: ${error.message}`,
        error.fault !== 'forbidden',
      )
    })
    await reading.run(() => setImmediate())
    return parseAnswer(answer, name)
  }
  return { call, close: () => Object.values(agents).forEach((agent) => void agent.destroy()) }
}

/** Values in place of references such as `secret:datadog-key`. @throws {MetricError} */
export async function revealFor<T>(
  context: BackendContext,
  account: string,
  fields: T,
): Promise<T> {
  try {
    const use = { account, user: 'canary analysis', place: `metrics account ${account}` }
    return (await context.ports.secrets.reveal(fields, use)).value
  } catch (error) {
    if (!(error instanceof PortError)) throw error
    throw new MetricError(error.message, error.status >= 500)
  }
}

function parseAnswer({ status, text }: OutsideAnswer, name: string): unknown {
  const body = parseIfJson(text)
  if (status >= 200 && status < 300) {
    if (body !== undefined) return body
    throw new MetricError(
      `${name} answered with something that is no JSON. Is its address that of the API?`,
    )
  }
  const advice =
    status === 401 || status === 403
      ? ' Correct its credentials, or allow them to read metrics.'
      : ''
  const reason = reasonIn(body)
  const isPassing = status >= 500 || status === 429 || status === 408
  throw new MetricError(
    `${name} answered with ${status}${reason === undefined ? '' : `: ${reason}`}.${advice}`,
    isPassing,
  )
}

const toMessage = shape({ message: textOf })
const toRefusal = shape({
  error: textOf,
  errors: list((one) => textOf(one) ?? toMessage(one).message),
  message: textOf,
})

function reasonIn(body: unknown): string | undefined {
  const { error, errors, message } = toRefusal(body)
  return (error ?? errors[0] ?? message)?.slice(0, 500).replace(/\.$/, '')
}

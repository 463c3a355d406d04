/** The metrics accounts of canary analysis, as the embedded service reaches them with their secrets. */

import { GatewayError } from '@fairlead/base/errors.ts'
import {
  type Check,
  createCheck,
  type Finding,
  type Reporter,
  type Timeouts,
} from '@fairlead/base/findings/finding.ts'
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { or, shape } from '@fairlead/base/json/shape.ts'
import { numberOf, textOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { anonymousIdentity } from '@fairlead/gateway/upstreams/identity.ts'
import type { Config } from '../config/config.ts'
import { type CheckedService, findEmbedded, notRunning } from './check-services.ts'
import { openQuestions } from './open-questions.ts'

const toHealth = shape({ message: textOf, metrics: or(numberOf, 0) })

export function checkMetricsAccounts(
  config: Pick<Config, 'upstreams' | 'backends'>,
  { checkMs }: Timeouts,
): Check[] {
  if (config.upstreams.services.kayenta.kind !== 'embedded') return []
  return Object.entries(config.backends.canaries?.accounts ?? {}).flatMap(([source, accounts]) =>
    accounts.map(({ name }) =>
      createCheck(`Metrics account ${name}`, async (report) => {
        const target = await findEmbedded('kayenta', config)
        // Its own timeout says more than that of the check.
        return [
          target === undefined
            ? notRunning(report)
            : await tryAccount(target, { name, source, report, answerMs: checkMs - 1000 }),
        ]
      }),
    ),
  )
}

interface CheckedAccount {
  readonly name: string
  readonly source: string
  readonly report: Reporter
  readonly answerMs: number
}

async function tryAccount(
  { service, address, tls }: CheckedService,
  { name, source, report, answerMs }: CheckedAccount,
): Promise<Finding> {
  const upstreams = openQuestions({ okHttpClient: { tls } }, { [service]: address }, answerMs)
  const tried = 'list its metrics, with its credentials'
  const problem = (found: string) =>
    report.problem(
      tried,
      found,
      `correct its address and credentials below kayenta.${source}.accounts, or see whether it can be reached from here`,
    )
  try {
    const path = pathTo`/accounts/${name}/health`
    const { status, text } = await upstreams.call(service, { path }, anonymousIdentity)
    const { message, metrics } = toHealth(parseIfJson(text))
    if (status !== 200) return problem(message ?? `the canary service answers ${status}`)
    return report.ok(tried, `it names ${metrics}`)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return problem(`no answer within ${answerMs / 1000} s: ${error.message}`)
  } finally {
    await upstreams.close()
  }
}

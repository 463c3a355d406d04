/** Metrics of Datadog: its API for queries of time series. */

import { list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { numberOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { formatQuery } from '@fairlead/base/net/encode-path.ts'
import { httpAddress } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { z } from 'zod'
import {
  MetricError,
  type MetricQuestion,
  type MetricSeries,
  type OpenAccount,
} from '../metric-source.ts'
import { expandedTemplate } from '../query-template.ts'
import { toValues } from '../series.ts'
import {
  createSourceCalls,
  metricSource,
  revealFor,
  sourceAccountFields,
} from './source-accounts.ts'

const Account = z.strictObject({
  ...sourceAccountFields,
  endpoint: z
    .strictObject({
      baseUrl: httpAddress
        .default('https://api.datadoghq.com')
        .describe('Its address; other sites have others.'),
    })
    .prefault({})
    .describe('Where Datadog is.'),
  apiKey: z.string().min(1).describe('API key; may be a reference such as `secret:datadog-api`.'),
  applicationKey: z
    .string()
    .min(1)
    .describe('Application key that may read time series; may be a reference.'),
})
type Account = z.infer<typeof Account>

const hourSeconds = 3600

type Series = ShapeOf<typeof toAnswer>['series'][number]
const toAnswer = shape({
  status: textOf,
  error: or(textOf, 'it gives no reason'),
  series: list(
    shape({ pointlist: list(list(numberOf)), tag_set: textsOf, interval: or(numberOf, 1) }),
  ),
})
const toNames = shape({ metrics: textsOf })
/** A metric of a configuration. */
const toMetric = shape({ metricName: textOf, metricType: textOf, tags: textsOf })

export const datadogSource = metricSource({
  id: 'datadog',
  title: 'Datadog',
  account: Account,
  open: openAccount,
})

function openAccount(account: Account, context: BackendContext): OpenAccount {
  const { name, endpoint } = account
  const headers = async () => {
    const { apiKey, applicationKey } = await revealFor(context, name, account)
    return { 'dd-api-key': apiKey, 'dd-application-key': applicationKey }
  }
  const { call, close } = createSourceCalls(context, {
    account: name,
    title: 'Datadog',
    baseUrl: endpoint.baseUrl,
    headers,
  })
  return {
    async fetch(question) {
      const { startMs, endMs } = question.scope
      const query = toQuery(question)
      const times = { from: Math.floor(startMs / 1000), to: Math.floor(endMs / 1000) }
      const { status, error, series } = toAnswer(
        await call({ path: `/api/v1/query${formatQuery({ ...times, query })}` }),
      )
      if (status === 'error') throw new MetricError(`Datadog rejects the query ${query}: ${error}.`)
      return series.map((each) => toSeries(each, query))
    },
    async metricNames() {
      const from = Math.floor(context.now() / 1000) - hourSeconds
      return toNames(await call({ path: `/api/v1/metrics${formatQuery({ from })}` })).metrics
    },
    close,
  }
}

function toQuery(question: MetricQuestion): string {
  const { query, scope } = question
  const own = expandedTemplate(question)
  if (own !== undefined) return own
  const { metricName: metric, metricType, tags } = toMetric(query)
  if (metric === undefined)
    throw new MetricError('The query needs a "metricName", or a "customInlineTemplate".')
  const gauge = `${metric}{${[scope.scope, ...tags].join(',')}}`
  return metricType === 'count' || metricType === 'COUNT' ? `sum:${gauge}.as_count()` : gauge
}

function toSeries({ pointlist, tag_set, interval }: Series, query: string): MetricSeries {
  const points = pointlist.flatMap(([atMs, value]) =>
    atMs === undefined || value === undefined ? [] : [{ atMs, value }],
  )
  const tags = tag_set.map((tag): [string, string] => {
    const colon = tag.indexOf(':')
    return colon < 0 ? [tag, ''] : [tag.slice(0, colon), tag.slice(colon + 1)]
  })
  // Datadog chooses it by the length of time.
  const stepMs = interval * 1000
  return { ...toValues(points, { stepMs }), stepMs, tags: Object.fromEntries(tags), query }
}

/** Metrics of Amazon CloudWatch. */

import { list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { signAws } from '@fairlead/base/net/aws-signature.ts'
import { httpAddress } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { z } from 'zod'
import {
  MetricError,
  type MetricQuestion,
  type MetricSeries,
  type OpenAccount,
} from '../metric-source.ts'
import { bindingsOf, expandedTemplate, fillIn } from '../query-template.ts'
import { toValues } from '../series.ts'
import {
  accountSecret,
  createSourceCalls,
  metricSource,
  revealFor,
  sourceAccountFields,
} from './source-accounts.ts'

const Account = z.strictObject({
  ...sourceAccountFields,
  region: z.string().min(1).describe('Region of the metrics.'),
  awsAccessKeyId: z
    .string()
    .min(1)
    .describe('Access key; may be a reference such as `secret:aws-key`.'),
  awsSecretAccessKey: z.string().min(1).describe('Secret of the access key; may be a reference.'),
  awsSessionToken: accountSecret.describe(
    'Session token of temporary credentials; may be a reference.',
  ),
  endpoint: z
    .strictObject({ baseUrl: httpAddress.describe('Its address.') })
    .optional()
    .describe('Default: CloudWatch of the region.'),
})
type Account = z.infer<typeof Account>

const target = 'GraniteServiceVersion20100801'
const mostPages = 20
const finePeriods: readonly number[] = [1, 5, 10, 30]

const toPage = shape({
  MetricDataResults: list(
    shape({
      StatusCode: textOf,
      Label: String,
      Timestamps: list(toMs),
      Values: list(or(numberOf, Number.NaN)),
    }),
  ),
  NextToken: textOf,
})
type Results = ShapeOf<typeof toPage>['MetricDataResults']
const toNames = shape({ Metrics: list(shape({ MetricName: String })) })
/** A metric of a configuration. */
const toStat = shape({
  metricStat: shape({
    metric: shape({
      namespace: textOf,
      metricName: textOf,
      dimensions: list(shape({ name: String, value: String })),
    }),
    unit: textOf,
    stat: or(textOf, 'Average'),
  }),
})

export const cloudWatchSource = metricSource({
  id: 'cloudwatch',
  title: 'CloudWatch',
  account: Account,
  open: openAccount,
})

function openAccount(account: Account, context: BackendContext): OpenAccount {
  const ask = createAsk(account, context)
  return {
    async fetch(question) {
      const { startMs, endMs, stepMs } = question.scope
      const period = periodOf(stepMs / 1000)
      const { query, shown } = toQuery(question, period)
      const times = {
        StartTime: Math.floor(startMs / 1000),
        EndTime: Math.floor(endMs / 1000),
        ScanBy: 'TimestampAscending',
      }
      const results = await allPages((page) =>
        ask.call('GetMetricData', { ...times, MetricDataQueries: [query], ...page }),
      )
      return toSeries(results, { stepMs: period * 1000, query: shown })
    },
    async metricNames() {
      const { Metrics } = toNames(await ask.call('ListMetrics', {}))
      return [...new Set(Metrics.map(({ MetricName }) => MetricName))]
    },
    close: ask.close,
  }
}

/** @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html */
function createAsk(account: Account, context: BackendContext) {
  const { name, region } = account
  const baseUrl = account.endpoint?.baseUrl ?? `https://monitoring.${region}.amazonaws.com`
  const { call, close } = createSourceCalls(context, {
    account: name,
    title: 'CloudWatch',
    baseUrl,
  })
  return {
    close,
    async call(action: string, content: JsonObject): Promise<unknown> {
      const {
        awsAccessKeyId: accessKeyId,
        awsSecretAccessKey: secretAccessKey,
        awsSessionToken,
      } = await revealFor(context, name, account)
      const body = JSON.stringify(content)
      const { host: _host, ...headers } = signAws({
        url: new URL('/', baseUrl),
        service: 'monitoring',
        region,
        body,
        now: new Date(context.now()),
        credentials: { accessKeyId, secretAccessKey, sessionToken: awsSessionToken },
        headers: {
          'content-type': 'application/x-amz-json-1.0',
          'x-amz-target': `${target}.${action}`,
        },
      })
      return call({ path: '/', method: 'POST', body, headers })
    },
  }
}

async function allPages(ask: (page: JsonObject) => Promise<unknown>): Promise<Results> {
  const results: Results = []
  let page: JsonObject = {}
  for (let pages = 0; pages < mostPages; pages++) {
    const { MetricDataResults: found, NextToken } = toPage(await ask(page))
    const faulty = found
      .map(({ StatusCode }) => StatusCode)
      .find((code) => code === 'InternalError' || code === 'Forbidden')
    if (faulty !== undefined)
      throw new MetricError(`CloudWatch answers "${faulty}".`, faulty === 'InternalError')
    results.push(...found)
    if (NextToken === undefined) return results
    page = { NextToken }
  }
  throw new MetricError(
    `CloudWatch answers with more than ${mostPages} pages: choose a larger step.`,
  )
}

/** One that CloudWatch knows. */
function periodOf(seconds: number): number {
  return finePeriods.includes(seconds) ? seconds : Math.ceil(seconds / 60) * 60
}

/** A statistic of a metric, or an expression of metric math. @throws {MetricError} */
function toQuery(question: MetricQuestion, period: number): { query: JsonObject; shown: string } {
  const { query, scope } = question
  const expression = expandedTemplate(question)
  if (expression !== undefined)
    return { query: { Id: 'q', Expression: expression, Period: period }, shown: expression }
  const bindings = bindingsOf(query, scope)
  const fill = <T extends string | undefined>(text: T) =>
    text === undefined ? text : fillIn(text, bindings)
  const { metric: given, unit, stat } = toStat(query).metricStat
  const [namespace, metric] = [fill(given.namespace), fill(given.metricName)]
  if (namespace === undefined || metric === undefined)
    throw new MetricError(
      'The query needs "metricStat" with a "metric" of "namespace" and "metricName", or a "customInlineTemplate".',
    )
  const dimensions = given.dimensions.map(({ name, value }) => ({
    Name: name,
    Value: fillIn(value, bindings),
  }))
  const metricStat = {
    Metric: { Namespace: namespace, MetricName: metric, Dimensions: dimensions },
    Period: period,
    Stat: fillIn(stat, bindings),
    ...(unit !== undefined && { Unit: fillIn(unit, bindings) }),
  }
  const where = dimensions.map(({ Name, Value }) => `${Name}=${Value}`).join(', ')
  return {
    query: { Id: 'q', MetricStat: metricStat },
    shown: `${metricStat.Stat} of ${namespace} ${metric} (${where})`,
  }
}

/** Pages of a series have its label. */
function toSeries(
  results: Results,
  { stepMs, query }: Pick<MetricSeries, 'stepMs' | 'query'>,
): MetricSeries[] {
  const byLabel = Map.groupBy(results, ({ Label }) => Label)
  const tagsOf = (label: string): Record<string, string> => (byLabel.size > 1 ? { label } : {})
  return [...byLabel].flatMap(([label, pages]) => {
    const points = pages.flatMap(({ Timestamps, Values }) =>
      Timestamps.map((atMs, index) => ({ atMs, value: Values[index] ?? Number.NaN })),
    )
    return points.length === 0
      ? []
      : [{ ...toValues(points, { stepMs }), stepMs, tags: tagsOf(label), query }]
  })
}

/** Seconds since the epoch, or ISO 8601. */
function toMs(at: unknown): number {
  const seconds = numberOf(at)
  return seconds === undefined ? Date.parse(String(at)) : seconds * 1000
}

/** Metrics of Prometheus, and of stores with its API. */
import { readFile } from 'node:fs/promises'
import { list, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { formatQuery } from '@fairlead/base/net/encode-path.ts'
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
  accountSecret,
  createSourceCalls,
  endpointField,
  metricSource,
  revealFor,
  sourceAccountFields,
} from './source-accounts.ts'

const Account = z.strictObject({
  ...sourceAccountFields,
  endpoint: endpointField,
  username: accountSecret.describe('User of basic authentication.'),
  password: accountSecret.describe('Its password; may be a reference such as `secret:prometheus`.'),
  usernamePasswordFile: accountSecret.describe('File with `user:password` instead of both.'),
  bearerToken: accountSecret.describe('Token instead of a password; may be a reference.'),
  scopeLabel: z
    .string()
    .min(1)
    .default('instance')
    .describe('Label with the instance, for the resource type `gce_instance`.'),
})
type Account = z.infer<typeof Account>

const completeQuery = 'PromQL:'

type Series = ShapeOf<typeof toAnswer>['data']['result'][number]
const toAnswer = shape({
  data: shape({ result: list(shape({ metric: objectOf, values: list(list(Number)) })) }),
})
const toNames = shape({ data: textsOf })
/** A metric of a configuration. */
const toMetric = shape({
  metricName: textOf,
  labelBindings: textsOf,
  groupByFields: textsOf,
  resourceType: textOf,
})

export const prometheusSource = metricSource({
  id: 'prometheus',
  title: 'Prometheus',
  account: Account,
  open: openAccount,
})

function openAccount(account: Account, context: BackendContext): OpenAccount {
  const { name, endpoint } = account
  const { baseUrl } = endpoint
  const headers = async () => authorizationOf(await revealFor(context, name, account))
  const { call, close } = createSourceCalls(context, {
    account: name,
    title: 'Prometheus',
    baseUrl,
    headers,
  })
  return {
    async fetch(question) {
      const { startMs, endMs, stepMs } = question.scope
      const query = toPromQl(question, account.scopeLabel)
      const times = {
        start: String(startMs / 1000),
        end: String(endMs / 1000),
        step: String(stepMs / 1000),
      }
      const body = await call({ path: `/api/v1/query_range${formatQuery({ query, ...times })}` })
      return toAnswer(body).data.result.map((series) => toSeries(series, query, stepMs))
    },
    async metricNames() {
      return toNames(await call({ path: '/api/v1/label/__name__/values' })).data
    },
    close,
  }
}

async function authorizationOf(account: Account): Promise<Record<string, string>> {
  const { bearerToken, username, password = '', usernamePasswordFile } = account
  if (bearerToken !== undefined) return { authorization: `Bearer ${bearerToken}` }
  const login =
    usernamePasswordFile === undefined ? undefined : await loadLogin(usernamePasswordFile)
  const pair = login ?? (username === undefined ? undefined : `${username}:${password}`)
  return pair === undefined
    ? {}
    : { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

async function loadLogin(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new MetricError(`The file with user and password cannot be read: ${error.message}.`)
  })
  return text.trim()
}

function toSeries({ metric, values }: Series, query: string, stepMs: number): MetricSeries {
  // The infinite values of Prometheus have names that JavaScript does not know: gaps, as kayenta has them.
  const points = values.map(([seconds = Number.NaN, value = Number.NaN]) => ({
    atMs: Math.round(seconds * 1000),
    value,
  }))
  const tags = Object.entries(metric).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return { ...toValues(points, { stepMs }), stepMs, tags: Object.fromEntries(tags), query }
}

/** @throws {MetricError} */
function toPromQl(question: MetricQuestion, scopeLabel = 'instance'): string {
  const { query } = question
  const filter = expandedTemplate(question)
  if (filter?.startsWith(completeQuery)) return filter.slice(completeQuery.length).trim()
  const { metricName, labelBindings: labels, groupByFields: groups } = toMetric(query)
  if (metricName === undefined)
    throw new MetricError(
      `The query needs a "metricName", or a whole query after "${completeQuery}" as "customInlineTemplate".`,
    )
  const filters =
    filter === undefined
      ? [...labels, ...filtersByType(question, scopeLabel)]
      : [...filter.split(','), ...labels]
  return `avg(${metricName}{${filters.join(',')}})${groups.length === 0 ? '' : ` by (${groups.join(',')})`}`
}

/** Labels as Prometheus has them by default for machines of Google and Amazon. @throws {MetricError} */
function filtersByType(
  { query, scope: { scope, location, parameters } }: MetricQuestion,
  scopeLabel: string,
): string[] {
  const type = toMetric(query).resourceType ?? parameters['resourceType']
  if (type === undefined)
    throw new MetricError('The query needs a filter ("customInlineTemplate") or a "resourceType".')
  if (type !== 'gce_instance' && type !== 'aws_ec2_instance')
    throw new MetricError(
      `The resource type "${type}" is unknown: use gce_instance, aws_ec2_instance, or a filter ("customInlineTemplate").`,
    )
  if (location === undefined)
    throw new MetricError(`The resource type ${type} needs the location of the scope.`)
  if (type === 'aws_ec2_instance') return [`asg_groupName="${scope}"`, `zone=~"${location}.{1}"`]
  const project = parameters['project']
  const zone = `.+/${project === undefined ? '' : `projects/${project}/`}zones/${location}-.{1}`
  return [`${scopeLabel}=~"${scope}-.{4}"`, `zone=~"${zone}"`]
}

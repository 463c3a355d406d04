/** Kinds of checks of `verify`: what one look at a deployment tells. */
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { list, shape } from '@fairlead/base/json/shape.ts'
import { listOf, textOf } from '@fairlead/base/json/values.ts'
import { CallError } from '@fairlead/base/net/call.ts'
import { formatQuery } from '@fairlead/base/net/encode-path.ts'
import {
  hrefOf,
  type OperatorAddress,
  type OutsideAnswer,
  operatorAddress,
} from '@fairlead/base/outside/call-outside.ts'
import { createRegexMeter, occursIn } from '@fairlead/base/regex/bounded-regex.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { checkFields } from '@fairlead/model/stage-types/verification.ts'
import { StageError } from '../../machine/failure.ts'
import { maskCopies } from '../../secrets.ts'
import { comparisonOf } from '../infrastructure/comparison.ts'
import { requireServerGroup } from '../infrastructure/server-groups.ts'
import type { TaskContext } from '../stage-type.ts'
import { headersOf } from '../webhook.ts'
import { type DeployedGroup, deployedGroups } from './deployed-groups.ts'

interface Look {
  /** `open`: it tells nothing yet. A check that stays open fails at its end. */
  readonly result: 'good' | 'bad' | 'open'
  /** A sentence: what was seen. */
  readonly text: string
  /** Nothing more can come. */
  readonly isFinal?: boolean
}

/** @param check One of the `checks` of a stage `verify` */
export function readCheck(check: unknown) {
  return readFields(checkFields, check)
}

export type VerificationCheck = ReturnType<typeof readCheck>

interface CheckKind {
  /** Names the check where its author does not. */
  describe(check: VerificationCheck): string
  /** @throws {StageError} when the check cannot be made */
  look(context: TaskContext, check: VerificationCheck): Promise<Look>
}

export const checkKinds: Readonly<Record<string, CheckKind>> = {
  http: {
    describe: ({ url, path }) => `${url ?? path ?? 'An address'} answers`,
    look: lookAtAddresses,
  },
  prometheus: {
    describe: (check) => `${check.query ?? 'A query'} ${bounds(check)}`,
    look: lookAtQuery,
  },
  metric: { describe: (check) => `${check.metric} ${bounds(check)}`, look: lookAtMetric },
  logs: {
    describe: ({ appears, pattern }) => `The output has ${appears ? '' : 'no '}"${pattern}"`,
    look: lookAtLogs,
  },
}

/** The bad ones first: one bad look makes all of them bad, and one open look leaves them open. */
function worst(looks: readonly Look[]): Look {
  const first = (result: Look['result']) => looks.find((look) => look.result === result)
  return (
    first('bad') ??
    first('open') ??
    first('good') ?? { result: 'open', text: 'There is nothing to look at.' }
  )
}

/** @throws {StageError} when there are none */
function requireGroups(context: TaskContext): DeployedGroup[] {
  const groups = deployedGroups(context)
  if (groups.length > 0) return groups
  throw new StageError([
    'No stage ahead has deployed a server group: name one by serverGroupName, credentials and region.',
  ])
}

async function lookAtAddresses(context: TaskContext, check: VerificationCheck): Promise<Look> {
  const { url, path } = check
  if (url !== undefined) return probe(context, url, check)
  if (path === undefined)
    throw new StageError(['The check names no address: set "url", or "path" for all instances.'])
  const addresses = await Promise.all(
    requireGroups(context).map((group) => addressesOf(context, group)),
  )
  // The infrastructure has chosen the addresses; the author chooses no more than the path.
  return worst(
    await Promise.all(
      addresses.flat().map((base) => probe(context, belowInstance(base, path), check)),
    ),
  )
}

/** @throws {StageError} for a path that leads elsewhere */
function belowInstance(base: string, path: string): OperatorAddress {
  try {
    return operatorAddress(
      base,
      /^[\w.%~-]/.test(path) && !path.includes('://') ? `/${path}` : path,
    )
  } catch (error) {
    throw new StageError([(error as Error).message])
  }
}

/** @throws {StageError} for instances whose addresses Fairlead does not know */
async function addressesOf(context: TaskContext, group: DeployedGroup): Promise<string[]> {
  if (group.provider !== standalone.provider || !context.infrastructure.hasOwnInstances) {
    throw new StageError([
      `Instances of ${group.provider} are not called by their path: set "url" instead of "path".`,
    ])
  }
  const { instances } = await requireServerGroup(context, group)
  return instances.flatMap(({ health }) => {
    const { ipAddress, port } =
      health.find(({ discoveryType }) => discoveryType === 'readiness') ?? {}
    return ipAddress === undefined ? [] : [`http://${String(ipAddress)}:${String(port)}`]
  })
}

async function probe(
  context: TaskContext,
  address: string | OperatorAddress,
  check: VerificationCheck,
): Promise<Look> {
  const url = hrefOf(address)
  const startedMs = performance.now()
  const { value: headers, secrets } = await context.reveal(headersOf(check.customHeaders))
  try {
    const answer = await context.callOutside({
      method: 'GET',
      url: address,
      headers,
      body: undefined,
    })
    return classifyAnswer(
      maskCopies({ ...answer, bytes: '' }, secrets),
      Math.round(performance.now() - startedMs),
      {
        url,
        check,
      },
    )
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    if (error.fault === 'forbidden') throw new StageError([error.message])
    return { result: 'bad', text: maskCopies(`${url}: ${error.message}`, secrets) }
  }
}

function classifyAnswer(
  { status, text }: Pick<OutsideAnswer, 'status' | 'text'>,
  ms: number,
  { url, check }: { readonly url: string; readonly check: VerificationCheck },
): Look {
  const { status: wanted, contains: contained, withinMs } = check
  const seen = `${url} answered ${status} in ${ms} ms`
  if (wanted === undefined ? status >= 400 : status !== wanted) {
    return { result: 'bad', text: `${seen}, wanted ${wanted ?? 'a status below 400'}.` }
  }
  if (contained !== undefined && !text.includes(contained))
    return { result: 'bad', text: `${seen}, without "${contained}".` }
  if (withinMs !== undefined && ms > withinMs)
    return { result: 'bad', text: `${seen}, wanted at most ${withinMs} ms.` }
  return { result: 'good', text: `${seen}.` }
}

function bounds({ comparison, bound }: VerificationCheck): string {
  return `${comparison} ${bound}`
}

/** @param value Undefined or NaN: the source has no value yet @throws {StageError} without a bound */
function compareValue(check: VerificationCheck, subject: string, value: number | undefined): Look {
  const { bound, comparison, holds } = comparisonOf(check, { bound: 'bound', byDefault: '<=' })
  if (value === undefined || Number.isNaN(value))
    return { result: 'open', text: `${subject} has no value yet.` }
  const text = `${subject} is ${Number(value.toPrecision(6))}, wanted ${comparison} ${bound}.`
  return { result: holds(value, bound) ? 'good' : 'bad', text }
}

/** Each series of the answer must be within the bound. */
async function lookAtQuery(context: TaskContext, check: VerificationCheck): Promise<Look> {
  const { url: address, query, customHeaders } = check
  if (address === undefined || query === undefined)
    throw new StageError(['The check needs the address of Prometheus ("url") and a "query".'])
  const url = `${address.replace(/\/$/, '')}/api/v1/query${formatQuery({ query })}`
  const { value: headers, secrets } = await context.reveal(headersOf(customHeaders))
  const answer = await context
    .callOutside({ method: 'GET', url, headers, body: undefined })
    .catch((error: unknown) => {
      if (!(error instanceof CallError) || error.fault === 'forbidden')
        throw new StageError([(error as Error).message])
      return error
    })
  if ('fault' in answer)
    return { result: 'bad', text: maskCopies(`Prometheus: ${answer.message}`, secrets) }
  const { error = answer.status, data } = toQueryAnswer(parseIfJson(answer.text))
  if (answer.status !== 200)
    throw new StageError([maskCopies(`Prometheus refuses the query: ${error}`, secrets)])
  const values =
    data.resultType === 'scalar' ? [data.scalar] : data.result.map(({ value }) => value)
  return values.length === 0
    ? compareValue(check, query, undefined)
    : worst(values.map((value) => compareValue(check, query, value)))
}

/** A sample is a list of a time and a value. */
function toSample(value: unknown): number {
  return Number(listOf(value)[1])
}

const toQueryAnswer = shape({
  error: textOf,
  data: shape({
    resultType: textOf,
    scalar: [toSample, 'result'],
    result: list(shape({ value: toSample })),
  }),
})

/** The metric of every server group, since the check began. */
async function lookAtMetric(context: TaskContext, check: VerificationCheck): Promise<Look> {
  const { minRequests: least } = check
  const metric = String(check.metric)
  const looks = requireGroups(context).map(async (group) => {
    const requests =
      least > 0 || metric === 'errorPercent'
        ? await metricOf(context, group, 'requests')
        : undefined
    if ((requests ?? 0) < least) {
      return {
        result: 'open' as const,
        text: `${group.name} has got ${requests ?? 0} requests of ${least} that tell something.`,
      }
    }
    const value =
      metric === 'errorPercent'
        ? shareOf(await metricOf(context, group, 'errors'), requests)
        : await metricOf(context, group, metric)
    return compareValue(check, `${metric} of ${group.name}`, value)
  })
  return worst(await Promise.all(looks))
}

function shareOf(errors: number | undefined, requests: number | undefined): number | undefined {
  return errors === undefined || !requests ? undefined : (errors / requests) * 100
}

/** The sum of what is counted, the average of all else. Undefined: nothing is known. @throws {StageError} for an unknown metric */
async function metricOf(
  context: TaskContext,
  { provider, account, region, name }: DeployedGroup,
  metric: string,
): Promise<number | undefined> {
  const found = await context.infrastructure.statistics({
    provider,
    account,
    region,
    metric,
    serverGroup: name,
  })
  if (found === undefined)
    throw new StageError([`There is no metric "${metric}" of ${name} in ${account}/${region}.`])
  const since = context.stage.startTime ?? context.now
  const points = [...found.datapoints, found.latest].filter(({ atMs = 0 }) => atMs > since)
  const values = points.flatMap(({ value }) => value ?? [])
  if (values.length === 0) return undefined
  const total = values.reduce((all, value) => all + value, 0)
  return found.unit === 'Count' ? total : total / values.length
}

/** The latest output of every instance. */
async function lookAtLogs(
  context: TaskContext,
  { pattern, appears }: VerificationCheck,
): Promise<Look> {
  if (pattern === undefined) throw new StageError(['The check names no text: set "pattern".'])
  const groups = await Promise.all(
    requireGroups(context).map(async (target) => ({
      target,
      group: await requireServerGroup(context, target),
    })),
  )
  const instances = groups.flatMap(({ target, group }) =>
    group.instances.map(({ id }) => ({ ...target, id })),
  )
  const found = await Promise.all(
    instances.map((instance) => hasOutput(context, instance, pattern)),
  )
  const position = found.indexOf(true)
  if (!appears) {
    if (position >= 0)
      return { result: 'bad', text: `The output of ${instances[position]?.id} has "${pattern}".` }
    return { result: 'good', text: `No output has "${pattern}".` }
  }
  if (position >= 0)
    return {
      result: 'good',
      text: `The output of ${instances[position]?.id} has "${pattern}".`,
      isFinal: true,
    }
  return { result: 'open', text: `No output of ${instances.length} instances has "${pattern}".` }
}

async function hasOutput(
  context: TaskContext,
  { provider, account, region, id }: DeployedGroup & { readonly id: string },
  pattern: string,
): Promise<boolean> {
  const texts = await context.infrastructure.output({ provider, account, region, id })
  return texts.some((text) => occursIn(pattern, text, createRegexMeter()))
}

/** Kinds of checks of `verify`: what one look at a deployment tells. */
import { parseIfJson } from '../../../../json/json.ts'
import { fieldAt, fieldOf, type JsonObject, listOf, numberOf, objectOf, objectsOf, textOf } from '../../../../json/values.ts'
import { CallError } from '../../../../net/call.ts'
import { formatQuery } from '../../../../net/encode-path.ts'
import { standalone } from '../../../../settings/standalone.ts'
import { hrefOf, type OperatorAddress, type OutsideAnswer, operatorAddress } from '../../../outside/call-outside.ts'
import { createRegexMeter, occursIn } from '../../../regex/bounded-regex.ts'
import { StageError } from '../../machine/failure.ts'
import { maskCopies } from '../../secrets.ts'
import { comparisonOf } from '../infrastructure/comparison.ts'
import { requireServerGroup } from '../infrastructure/server-groups.ts'
import type { TaskContext } from '../stage-type.ts'
import { headersOf } from '../webhook.ts'
import { type DeployedGroup, deployedGroups } from './deployed-groups.ts'

export interface Look {
  /** `open`: it tells nothing yet. A check that stays open fails at its end. */
  readonly verdict: 'good' | 'bad' | 'open'
  /** A sentence: what was seen. */
  readonly text: string
  /** Nothing more can come. */
  readonly isFinal?: boolean
}

interface CheckKind {
  /** Names the check where its author does not. */
  describe(check: JsonObject): string
  /** @throws {StageError} when the check cannot be made */
  look(context: TaskContext, check: JsonObject): Promise<Look>
}

export const checkKinds: Readonly<Record<string, CheckKind>> = {
  http: {
    describe: (check) => `${textOf(check['url']) ?? textOf(check['path']) ?? 'An address'} answers`,
    look: lookAtAddresses,
  },
  prometheus: { describe: (check) => `${textOf(check['query']) ?? 'A query'} ${bounds(check)}`, look: lookAtQuery },
  metric: { describe: (check) => `${String(check['metric'])} ${bounds(check)}`, look: lookAtMetric },
  logs: { describe: (check) => `The output has ${misses(check) ? 'no ' : ''}"${String(check['pattern'])}"`, look: lookAtLogs },
}

/** The bad ones first: one bad look makes all of them bad, and one open look leaves them open. */
function worst(looks: readonly Look[]): Look {
  const first = (verdict: Look['verdict']) => looks.find((look) => look.verdict === verdict)
  return first('bad') ?? first('open') ?? first('good') ?? { verdict: 'open', text: 'There is nothing to look at.' }
}

/** @throws {StageError} when there are none */
function requireGroups(context: TaskContext): DeployedGroup[] {
  const groups = deployedGroups(context)
  if (groups.length > 0) return groups
  throw new StageError(['No stage ahead has deployed a server group: name one by serverGroupName, credentials and region.'])
}

async function lookAtAddresses(context: TaskContext, check: JsonObject): Promise<Look> {
  const url = textOf(check['url'])
  if (url !== undefined) return probe(context, url, check)
  const path = textOf(check['path'])
  if (path === undefined) throw new StageError(['The check names no address: set "url", or "path" for all instances.'])
  const addresses = await Promise.all(requireGroups(context).map((group) => addressesOf(context, group)))
  // The infrastructure has chosen the addresses; the author chooses no more than the path.
  return worst(await Promise.all(addresses.flat().map((base) => probe(context, belowInstance(base, path), check))))
}

/** @throws {StageError} for a path that leads elsewhere */
function belowInstance(base: string, path: string): OperatorAddress {
  try {
    return operatorAddress(base, /^[\w.%~-]/.test(path) && !path.includes('://') ? `/${path}` : path)
  } catch (error) {
    throw new StageError([(error as Error).message])
  }
}

/** @throws {StageError} for instances whose addresses Fairlead does not know */
async function addressesOf(context: TaskContext, group: DeployedGroup): Promise<string[]> {
  if (group.provider !== standalone.provider || !context.isEmbedded('clouddriver')) {
    throw new StageError([`Instances of ${group.provider} are not called by their path: set "url" instead of "path".`])
  }
  const { instances } = await requireServerGroup(context, group)
  return instances.flatMap(({ health }) => {
    const { ipAddress, port } = health.find(({ discoveryType }) => discoveryType === 'readiness') ?? {}
    return ipAddress === undefined ? [] : [`http://${String(ipAddress)}:${String(port)}`]
  })
}

async function probe(context: TaskContext, address: string | OperatorAddress, check: JsonObject): Promise<Look> {
  const url = hrefOf(address)
  const startedMs = performance.now()
  const { value: headers, secrets } = await context.reveal(headersOf(check['customHeaders']))
  try {
    const answer = await context.callOutside({ method: 'GET', url: address, headers, body: undefined })
    return judgeAnswer(maskCopies({ ...answer, bytes: '' }, secrets), Math.round(performance.now() - startedMs), { url, check })
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    if (error.fault === 'forbidden') throw new StageError([error.message])
    return { verdict: 'bad', text: maskCopies(`${url}: ${error.message}`, secrets) }
  }
}

function judgeAnswer(
  { status, text }: Pick<OutsideAnswer, 'status' | 'text'>,
  ms: number,
  { url, check }: { readonly url: string; readonly check: JsonObject },
): Look {
  const [wanted, contained, withinMs] = [numberOf(check['status']), textOf(check['contains']), numberOf(check['withinMs'])]
  const seen = `${url} answered ${status} in ${ms} ms`
  if (wanted === undefined ? status >= 400 : status !== wanted) {
    return { verdict: 'bad', text: `${seen}, wanted ${wanted ?? 'a status below 400'}.` }
  }
  if (contained !== undefined && !text.includes(contained)) return { verdict: 'bad', text: `${seen}, without "${contained}".` }
  if (withinMs !== undefined && ms > withinMs) return { verdict: 'bad', text: `${seen}, wanted at most ${withinMs} ms.` }
  return { verdict: 'good', text: `${seen}.` }
}

function bounds(check: JsonObject): string {
  return `${textOf(check['comparison']) ?? '<='} ${String(check['bound'])}`
}

/** @param value Undefined or NaN: the source has no value yet @throws {StageError} without a bound */
function judgeValue(check: JsonObject, subject: string, value: number | undefined): Look {
  const { bound, comparison, holds } = comparisonOf(check, { bound: 'bound', byDefault: '<=' })
  if (value === undefined || Number.isNaN(value)) return { verdict: 'open', text: `${subject} has no value yet.` }
  const text = `${subject} is ${Number(value.toPrecision(6))}, wanted ${comparison} ${bound}.`
  return { verdict: holds(value, bound) ? 'good' : 'bad', text }
}

/** Each series of the answer must be within the bound. */
async function lookAtQuery(context: TaskContext, check: JsonObject): Promise<Look> {
  const [address, query] = [textOf(check['url']), textOf(check['query'])]
  if (address === undefined || query === undefined)
    throw new StageError(['The check needs the address of Prometheus ("url") and a "query".'])
  const url = `${address.replace(/\/$/, '')}/api/v1/query${formatQuery({ query })}`
  const { value: headers, secrets } = await context.reveal(headersOf(check['customHeaders']))
  const answer = await context.callOutside({ method: 'GET', url, headers, body: undefined }).catch((error: unknown) => {
    if (!(error instanceof CallError) || error.fault === 'forbidden') throw new StageError([(error as Error).message])
    return error
  })
  if ('fault' in answer) return { verdict: 'bad', text: maskCopies(`Prometheus: ${answer.message}`, secrets) }
  const body = parseIfJson(answer.text)
  if (answer.status !== 200) {
    throw new StageError([
      maskCopies(`Prometheus refuses the query: ${textOf(fieldOf(body, 'error')) ?? answer.status}`, secrets),
    ])
  }
  const result = fieldAt(body, 'data', 'result')
  const series = fieldAt(body, 'data', 'resultType') === 'scalar' ? [{ value: result }] : objectsOf(result)
  const values = series.map(({ value }) => Number(listOf(value)[1]))
  return values.length === 0 ? judgeValue(check, query, undefined) : worst(values.map((value) => judgeValue(check, query, value)))
}

/** The metric of every server group, since the check began. */
async function lookAtMetric(context: TaskContext, check: JsonObject): Promise<Look> {
  const metric = String(check['metric'])
  const looks = requireGroups(context).map(async (group) => {
    const least = numberOf(check['minRequests']) ?? 0
    const requests = least > 0 || metric === 'errorPercent' ? await metricOf(context, group, 'requests') : undefined
    if ((requests ?? 0) < least) {
      return {
        verdict: 'open' as const,
        text: `${group.name} has got ${requests ?? 0} requests of ${least} that tell something.`,
      }
    }
    const value =
      metric === 'errorPercent'
        ? shareOf(await metricOf(context, group, 'errors'), requests)
        : await metricOf(context, group, metric)
    return judgeValue(check, `${metric} of ${group.name}`, value)
  })
  return worst(await Promise.all(looks))
}

function shareOf(errors: number | undefined, requests: number | undefined): number | undefined {
  return errors === undefined || !requests ? undefined : (errors / requests) * 100
}

/** The sum of what is counted, the average of all else. Undefined: nothing is known. @throws {StageError} for an unknown metric */
async function metricOf(context: TaskContext, group: DeployedGroup, metric: string): Promise<number | undefined> {
  const { provider, account, region, name } = group
  const found = await context.infrastructure.statistics({ provider, account, region, metric, serverGroup: name })
  if (found === undefined) throw new StageError([`There is no metric "${metric}" of ${name} in ${account}/${region}.`])
  const since = context.stage.startTime ?? context.now
  const reported = [...objectsOf(found['datapoints']), objectOf(found['latest'])]
  const points = reported.filter(({ timestamp }) => (numberOf(timestamp) ?? 0) > since)
  const values = points.flatMap(({ sum, average }) => numberOf(sum) ?? numberOf(average) ?? [])
  if (values.length === 0) return undefined
  const total = values.reduce((all, value) => all + value, 0)
  return found['unit'] === 'Count' ? total : total / values.length
}

/** Whether the text must not appear. */
function misses({ appears }: JsonObject): boolean {
  return appears === false || appears === 'false'
}

/** The latest output of every instance. */
async function lookAtLogs(context: TaskContext, check: JsonObject): Promise<Look> {
  const pattern = textOf(check['pattern'])
  if (pattern === undefined) throw new StageError(['The check names no text: set "pattern".'])
  const groups = await Promise.all(
    requireGroups(context).map(async (target) => ({ target, group: await requireServerGroup(context, target) })),
  )
  const instances = groups.flatMap(({ target, group }) => group.instances.map(({ id }) => ({ ...target, id })))
  const found = await Promise.all(instances.map((instance) => hasOutput(context, instance, pattern)))
  const position = found.indexOf(true)
  if (misses(check)) {
    if (position >= 0) return { verdict: 'bad', text: `The output of ${instances[position]?.id} has "${pattern}".` }
    return { verdict: 'good', text: `No output has "${pattern}".` }
  }
  if (position >= 0) return { verdict: 'good', text: `The output of ${instances[position]?.id} has "${pattern}".`, isFinal: true }
  return { verdict: 'open', text: `No output of ${instances.length} instances has "${pattern}".` }
}

async function hasOutput(
  context: TaskContext,
  { provider, account, region, id }: DeployedGroup & { readonly id: string },
  pattern: string,
): Promise<boolean> {
  const texts = await context.infrastructure.output({ provider, account, region, id })
  return texts.some((text) => occursIn(pattern, text, createRegexMeter()))
}

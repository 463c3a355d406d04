/**
 * Lists of pipeline executions: of an application, of pipelines, of a project, by search.
 * @see docs/contracts/orchestration.md#lists-of-executions
 */

import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BoundedMap } from '../../../caches/bounded-map.ts'
import { pathTo } from '../../../http/encode-path.ts'
import { fieldAt, type JsonObject, objectsOf, textOf, textsOf } from '../../../json/values.ts'
import { type BackendContext, BackendError, type Caller, trustedCallerOf } from '../../backend.ts'
import { createRegexMeter } from '../../regex/bounded-regex.ts'
import { isUnchanged } from '../../requests/unchanged.ts'
import { StoredLists } from '../../stores/stored-lists.ts'
import type { Engine } from '../engine.ts'
import { executionView, unexpandedView } from '../execution-view.ts'
import type { Execution, Trigger } from '../model.ts'
import { maskExecution } from '../secrets.ts'
import type { Status } from '../statuses.ts'
import { type ExecutionKey, formatStored } from '../store.ts'
import { matchesTrigger, parseTriggerPattern } from '../trigger-match.ts'
import { historyMs, sendRecord, sendRecords, textList, wantedStatuses, wholeNumber } from './answers.ts'
import type { KeptTexts } from './kept-texts.ts'

type Query<Name extends string> = Partial<Record<Name, string>>
type ListQuery = Query<'limit' | 'statuses' | 'expand'>
type ApplicationQuery = ListQuery & Query<'pipelineNameFilter' | 'pipelineLimit'>
type ConfigQuery = ListQuery & Query<'pipelineConfigIds' | 'executionIds'>
type TriggerQuery = Query<'triggerTypes' | 'eventId' | 'trigger' | 'triggerTimeStartBoundary' | 'triggerTimeEndBoundary'>
type SearchQuery = TriggerQuery & Query<'pipelineName' | 'user' | 'statuses' | 'startIndex' | 'size' | 'reverse' | 'expand'>

const maxKept = 1000

export function listRoutes(app: FastifyInstance, engine: Engine, context: BackendContext, texts: KeptTexts): void {
  const { store } = engine.options
  const { now } = context
  const stored = new StoredLists({ toEntry: toStored })

  /** What polled lists have found, as long as nothing happens. */
  const listed = new BoundedMap<string, { moment: string; ids: readonly string[] }>(maxKept)

  const send = (
    request: FastifyRequest,
    reply: FastifyReply,
    ids: readonly string[],
    view: (execution: Execution) => JsonObject,
  ) => {
    const form = view === unexpandedView ? 'unexpanded' : 'expanded'
    if (isUnchanged(request, reply, engine.changes.versionOfAll(ids, form))) return reply
    const write = (id: string) => {
      const execution = store.load(id)
      return execution?.type === 'PIPELINE' ? formatStored(view(execution)) : undefined
    }
    return sendRecords(reply, ids, (id) => texts.get(`${form} ${id}`, engine.changes.versionOf(id), () => write(id)))
  }

  const newestOf = (configIds: readonly string[], limit: number, statuses: Status[] | undefined, cutOff: boolean): string[] => {
    if (limit <= 0) return []
    const found = [...new Set(configIds)].flatMap((configId) => {
      const newest = store.newestOfConfig(configId, limit, statuses)
      return cutOff ? withinHistory(newest, now()) : newest
    })
    return found.sort(byStartTime).map(({ id }) => id)
  }

  for (const path of ['/v2/applications/:application/pipelines', '/applications/:application/pipelines']) {
    app.get<{ Params: { application: string }; Querystring: ApplicationQuery }>(path, async (request, reply) => {
      const { query } = request
      const limit = wholeNumber(query.limit, 'limit', 5)
      const statuses = wantedStatuses(query.statuses)
      if (limit <= 0) return sendRecord(reply, [])
      const view = viewFor(query.expand, true)
      const { user, accounts } = trustedCallerOf(request)
      const key = JSON.stringify([request.url, user, accounts])
      const moment = momentOf(engine, context)
      const known = listed.get(key)
      if (known !== undefined && known.moment === moment) return send(request, reply, known.ids, view)
      const { application } = request.params
      const configIds = await configIdsOf(application, query, trustedCallerOf(request), { context, stored })
      const most = wholeNumber(query.pipelineLimit, 'pipelineLimit', Infinity)
      const ids = newestOf(configIds ?? store.configIds(application).slice(0, most), limit, statuses, true)
      if (configIds !== undefined && moment !== undefined) listed.set(key, { moment, ids })
      return send(request, reply, ids, view)
    })
  }

  app.get<{ Querystring: ConfigQuery }>('/pipelines', (request, reply) => {
    const { query } = request
    const [configIds, executionIds] = [textList(query.pipelineConfigIds), textList(query.executionIds)]
    if (configIds.length > 0 && executionIds.length > 0) {
      throw new BackendError(400, 'Give either "pipelineConfigIds" or "executionIds", not both.')
    }
    const view = viewFor(query.expand, true)
    if (executionIds.length > 0) return send(request, reply, executionIds, view)
    const statuses = wantedStatuses(query.statuses)
    return send(request, reply, newestOf(configIds, wholeNumber(query.limit, 'limit', 1), statuses, true), view)
  })

  app.get<{ Params: { projectId: string }; Querystring: ListQuery }>('/projects/:projectId/pipelines', async (request, reply) => {
    const limit = wholeNumber(request.query.limit, 'limit', 5)
    const statuses = wantedStatuses(request.query.statuses)
    if (limit <= 0) return sendRecord(reply, [])
    const path = pathTo`/v2/projects/${request.params.projectId}`
    const answer = await context.call('front50', { method: 'GET', path, headers: trustedCallerOf(request).identity })
    if (answer.status !== 200 && answer.status !== 404) throw new BackendError(500, 'The project could not be read.')
    return send(request, reply, newestOf(projectConfigIds(answer.body), limit, statuses, false), executionView)
  })

  app.get<{ Params: { application: string }; Querystring: SearchQuery }>(
    '/applications/:application/pipelines/search',
    async (request, reply) => {
      const found = await search(engine, request.params.application, request.query)
      return send(request, reply, found, viewFor(request.query.expand, false))
    },
  )
}

/** What is shown of a pipeline that has not run for longer. */
const oldOnesShown = 2

/** @param executions Those of one pipeline, newest first. */
function withinHistory(executions: readonly ExecutionKey[], now: number): ExecutionKey[] {
  const recent = executions.filter(({ startTime }) => startTime === undefined || startTime >= now - historyMs)
  return recent.length > 0 ? recent : executions.slice(0, oldOnesShown)
}

/** Not-started first, then by start time; ties by id, newest first. */
function byStartTime(one: ExecutionKey, other: ExecutionKey): number {
  const difference = (one.startTime ?? 0) - (other.startTime ?? 0)
  if (difference !== 0) return difference
  return one.id < other.id ? 1 : one.id > other.id ? -1 : 0
}

function viewFor(expand: string | undefined, otherwise: boolean): (execution: Execution) => JsonObject {
  const isExpanded = expand === undefined || expand === '' ? otherwise : expand.toLowerCase() === 'true'
  return isExpanded ? executionView : unexpandedView
}

/**
 * Ids of the pipelines and strategies now stored for the application. Undefined while the definition store cannot be asked: those
 * of which there are runs stand in for them then, since an empty list would look like lost executions.
 */
async function configIdsOf(
  application: string,
  query: ApplicationQuery,
  caller: Caller,
  { context, stored }: { context: BackendContext; stored: StoredLists<Stored> },
): Promise<string[] | undefined> {
  const most = wholeNumber(query.pipelineLimit, 'pipelineLimit', Infinity)
  const wanted = (query.pipelineNameFilter ?? '').toLowerCase()
  try {
    const kinds = ['pipelines', 'strategies']
    const lists = await Promise.all(
      kinds.map((kind) => stored.load(context.call, `${pathTo`/${kind}/${application}`}?refresh=false`, caller)),
    )
    const named = lists.flat().filter((each) => each.name.toLowerCase().includes(wanted))
    return named.slice(0, most).flatMap(({ id }) => id ?? [])
  } catch (error) {
    context.log.warn({ err: error, application }, 'the definitions of an application could not be read')
    return undefined
  }
}

const historyStepMs = 60_000

/** Differs when a list may: after each change of an execution or a definition, and as runs become too old for it. */
function momentOf({ changes }: Engine, { versionOf, now }: BackendContext): string | undefined {
  const definitions = versionOf('front50')
  return definitions && `${changes.version()} ${definitions} ${Math.floor(now() / historyStepMs)}`
}

/** What lists of executions need of a pipeline or strategy. */
type Stored = ReturnType<typeof toStored>

function toStored({ id, name }: JsonObject) {
  return { id: typeof id === 'string' ? id : undefined, name: String(name ?? '') }
}

function projectConfigIds(project: unknown): string[] {
  return textsOf(objectsOf(fieldAt(project, 'config', 'pipelineConfigs')).map((each) => each['pipelineConfigId']))
}

/** Rows that are looked at before others have their turn; the trigger of each may hold a whole execution. */
const pageSize = 8

/** Ids of what a search finds. */
async function search(engine: Engine, application: string, query: SearchQuery): Promise<string[]> {
  const from = wholeNumber(query.triggerTimeStartBoundary, 'triggerTimeStartBoundary', 0)
  const to = boundary(query.triggerTimeEndBoundary)
  const startIndex = wholeNumber(query.startIndex, 'startIndex', 0)
  const size = wholeNumber(query.size, 'size', 10)
  if (from < 0 || to < from)
    throw new BackendError(400, 'The time boundaries must not be negative, and the end not before the start.')
  if (startIndex < 0 || size <= 0) throw new BackendError(400, '"startIndex" must not be negative, and "size" must be positive.')
  const types = textList(query.triggerTypes)
  const pattern = parseTriggerPattern(query.trigger)
  const meter = createRegexMeter()
  const oldestFirst = query.reverse?.toLowerCase() === 'true'
  const statuses = wantedStatuses(query.statuses)
  const found: string[] = []
  const wanted = {
    application: application === '*' ? undefined : application,
    name: textOf(query.pipelineName),
    user: textOf(query.user),
    ...{ from, to, statuses, oldestFirst },
  }
  const isFound = (trigger: Trigger): boolean =>
    (types.length === 0 || types.includes('*') || types.includes(trigger.type)) &&
    (query.eventId === undefined || query.eventId === '' || trigger['eventId'] === query.eventId) &&
    (pattern === undefined || matchesTrigger(trigger, pattern, meter))
  const { store } = engine.options
  /** A search must not find out what a view masks. */
  const isFoundMasked = (id: string): boolean => {
    const execution = pattern === undefined ? undefined : store.load(id)
    return execution === undefined || matchesTrigger(maskExecution(execution).trigger, pattern, meter)
  }
  let page = store.searchPage(wanted, undefined, pageSize)
  while (page.length > 0) {
    for (const { id, trigger } of page) {
      if (isFound(trigger()) && isFoundMasked(id)) found.push(id)
      if (found.length >= startIndex + size) return found.slice(startIndex)
    }
    await setImmediate()
    page = store.searchPage(wanted, page.at(-1), pageSize)
  }
  return found.slice(startIndex)
}

/** Callers send the largest 64-bit number for "no end". */
function boundary(text: string | undefined): number {
  if (text === undefined || text === '') return Number.MAX_SAFE_INTEGER
  if (!/^-?\d+$/.test(text)) throw new BackendError(400, '"triggerTimeEndBoundary" must be a whole number.')
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}

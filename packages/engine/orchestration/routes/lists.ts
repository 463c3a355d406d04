/**
 * Lists of pipeline executions: of an application, of pipelines, of a project, by search.
 * @see docs/contracts/orchestration.md#lists-of-executions
 */
import { setImmediate } from 'node:timers/promises'
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { fieldAt, type JsonObject, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { createRegexMeter } from '@fairlead/base/regex/bounded-regex.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { trustedCallerOf } from '@fairlead/ports/requests/request-caller.ts'
import { StoredLists } from '@fairlead/ports/stored-lists.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Engine } from '../engine.ts'
import { executionView, unexpandedView } from '../execution-view.ts'
import type { Trigger } from '../model.ts'
import { authorMarksFor, searchTermsOf, searchTextOf } from '../search-text.ts'
import { maskExecution } from '../secrets.ts'
import type { Status } from '../statuses.ts'
import type { ExecutionKey, ExecutionStore, SearchRow } from '../store.ts'
import { matchesTrigger, parseTriggerPattern } from '../trigger-match.ts'
import { historyMs, sendRecord, textList, wantedStatuses, wholeNumber } from './answers.ts'
import type { KeptTexts } from './kept-texts.ts'
import { sendViews } from './records.ts'

type Query<Name extends string> = Partial<Record<Name, string>>
type RunListQuery = Query<'limit' | 'statuses' | 'expand'>
type ApplicationQuery = RunListQuery & Query<'pipelineNameFilter' | 'pipelineLimit'>
type ConfigQuery = RunListQuery & Query<'pipelineConfigIds' | 'executionIds'>
type TriggerQuery = Query<
  'triggerTypes' | 'eventId' | 'trigger' | 'triggerTimeStartBoundary' | 'triggerTimeEndBoundary'
>
type RunSearchQuery = TriggerQuery &
  Query<
    | 'pipelineName'
    | 'user'
    | 'parameter'
    | 'text'
    | 'authors'
    | 'statuses'
    | 'startIndex'
    | 'size'
    | 'reverse'
    | 'expand'
  >

const maxKept = 1000

export function listRoutes(
  app: FastifyInstance,
  engine: Engine,
  context: BackendContext,
  texts: KeptTexts,
): void {
  const lists = new ExecutionLists(engine, context, texts)
  for (const path of [
    '/v2/applications/:application/pipelines',
    '/applications/:application/pipelines',
  ])
    app.get<InApplication<ApplicationQuery>>(path, (request, reply) =>
      lists.ofApplication(request, reply),
    )

  app.get<{ Querystring: ConfigQuery }>('/pipelines', ({ query }, reply) =>
    lists.ofPipelines(query, reply),
  )

  app.get<{ Params: { projectId: string }; Querystring: RunListQuery }>(
    '/projects/:projectId/pipelines',
    ({ params, query }, reply) => lists.ofProject(params.projectId, query, reply),
  )

  app.get<InApplication<RunSearchQuery>>(
    '/applications/:application/pipelines/search',
    async ({ params, query }, reply) =>
      lists.send(reply, await search(engine, params.application, query), query.expand, false),
  )
}

interface InApplication<Query> {
  Params: { application: string }
  Querystring: Query
}

class ExecutionLists {
  readonly #engine: Engine
  readonly #context: BackendContext
  readonly #texts: KeptTexts
  readonly #stored = new StoredLists({ toEntry: toStored })
  /** What polled lists have found, as long as nothing happens. */
  readonly #listed = new BoundedMap<string, { moment: string; ids: readonly string[] }>(maxKept)

  constructor(engine: Engine, context: BackendContext, texts: KeptTexts) {
    this.#engine = engine
    this.#context = context
    this.#texts = texts
  }

  async ofApplication(
    request: FastifyRequest<InApplication<ApplicationQuery>>,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { query } = request
    const { application } = request.params
    const limit = wholeNumber(query.limit, 'limit', 5)
    const statuses = wantedStatuses(query.statuses)
    if (limit <= 0) return sendRecord(reply, [])
    const caller = trustedCallerOf(request)
    const key = JSON.stringify([request.url, caller.user, caller.accounts])
    const moment = this.#moment()
    const known = this.#listed.get(key)
    if (known !== undefined && known.moment === moment)
      return this.send(reply, known.ids, query.expand)
    const most = wholeNumber(query.pipelineLimit, 'pipelineLimit', Infinity)
    const configIds = await this.#configIds(application, query.pipelineNameFilter, caller)
    const shown = (configIds ?? this.#engine.options.store.configIds(application)).slice(0, most)
    const ids = this.#newestOf(shown, limit, statuses)
    if (configIds !== undefined && moment !== undefined) this.#listed.set(key, { moment, ids })
    return this.send(reply, ids, query.expand)
  }

  ofPipelines(
    { pipelineConfigIds, executionIds, expand, limit, statuses }: ConfigQuery,
    reply: FastifyReply,
  ): FastifyReply {
    const [configIds, ids] = [textList(pipelineConfigIds), textList(executionIds)]
    if (configIds.length > 0 && ids.length > 0) {
      throw new PortError(400, 'Give either "pipelineConfigIds" or "executionIds", not both.')
    }
    if (ids.length > 0) return this.send(reply, ids, expand)
    const wanted = wantedStatuses(statuses)
    return this.send(
      reply,
      this.#newestOf(configIds, wholeNumber(limit, 'limit', 1), wanted),
      expand,
    )
  }

  async ofProject(id: string, query: RunListQuery, reply: FastifyReply): Promise<FastifyReply> {
    const limit = wholeNumber(query.limit, 'limit', 5)
    const statuses = wantedStatuses(query.statuses)
    if (limit <= 0) return sendRecord(reply, [])
    const project = await this.#context.ports.definitions.project(
      id,
      trustedCallerOf(reply.request),
    )
    return this.send(
      reply,
      this.#newestOf(projectConfigIds(project), limit, statuses, false),
      undefined,
    )
  }

  send(
    reply: FastifyReply,
    ids: readonly string[],
    expand: string | undefined,
    otherwise = true,
  ): FastifyReply {
    const isExpanded =
      expand === undefined || expand === '' ? otherwise : expand.toLowerCase() === 'true'
    const form = isExpanded
      ? { form: 'expanded', view: executionView }
      : { form: 'unexpanded', view: unexpandedView }
    return sendViews(
      reply,
      ids,
      { ...form, type: 'PIPELINE' },
      { engine: this.#engine, texts: this.#texts },
    )
  }

  #newestOf(
    configIds: readonly string[],
    limit: number,
    statuses: Status[] | undefined,
    cutOff = true,
  ): string[] {
    if (limit <= 0) return []
    const found = [...new Set(configIds)].flatMap((configId) => {
      const newest = this.#engine.options.store.newestOfConfig(configId, limit, statuses)
      return cutOff ? withinHistory(newest, this.#context.now()) : newest
    })
    return found.sort(byStartTime).map(({ id }) => id)
  }

  /**
   * Ids of the pipelines and strategies now stored for the application. Undefined while the definition store cannot be asked: those
   * of which there are runs stand in for them then, since an empty list would look like lost executions.
   */
  async #configIds(
    application: string,
    nameFilter: string | undefined,
    caller: Caller,
  ): Promise<string[] | undefined> {
    const { ports, log } = this.#context
    const { definitions } = ports
    const wanted = (nameFilter ?? '').toLowerCase()
    try {
      const key = JSON.stringify([caller.user, application])
      const stored = await this.#stored.load(definitions, { key, kind: 'pipelines' }, async () => {
        const reads = [
          definitions.pipelinesOf(application, caller),
          definitions.strategies(application, caller),
        ]
        return (await Promise.all(reads)).flat()
      })
      return stored.flatMap(({ id, name }) =>
        name.toLowerCase().includes(wanted) ? (id ?? []) : [],
      )
    } catch (error) {
      log.warn({ err: error, application }, 'the definitions of an application could not be read')
      return undefined
    }
  }

  /** Differs when a list may: after each change of an execution or a definition, and as runs become too old for it. */
  #moment(): string | undefined {
    const { ports, now } = this.#context
    const definitions = ports.definitions.version('pipelines')
    return (
      definitions &&
      `${this.#engine.changes.version()} ${definitions} ${Math.floor(now() / historyStepMs)}`
    )
  }
}

/** What is shown of a pipeline that has not run for longer. */
const oldOnesShown = 2

/** @param executions Those of one pipeline, newest first. */
function withinHistory(executions: readonly ExecutionKey[], now: number): ExecutionKey[] {
  const recent = executions.filter(
    ({ startTime }) => startTime === undefined || startTime >= now - historyMs,
  )
  return recent.length > 0 ? recent : executions.slice(0, oldOnesShown)
}

/** Not-started first, then by start time; ties by id, newest first. */
function byStartTime(one: ExecutionKey, other: ExecutionKey): number {
  const difference = (one.startTime ?? 0) - (other.startTime ?? 0)
  if (difference !== 0) return difference
  return one.id < other.id ? 1 : one.id > other.id ? -1 : 0
}

const historyStepMs = 60_000

/** What lists of executions need of a pipeline or strategy. */
function toStored({ id, name }: JsonObject) {
  return { id: typeof id === 'string' ? id : undefined, name: String(name ?? '') }
}

function projectConfigIds(project: unknown): string[] {
  return textsOf(
    objectsOf(fieldAt(project, 'config', 'pipelineConfigs')).map(
      (each) => each['pipelineConfigId'],
    ),
  )
}

/** Rows of which only the indexes and the search text are read at once, growing from what is wanted; SQLite has the process meanwhile. */
const maxPageSize = 2000
/** Runs that are read whole, with all that started them, before others have their turn. */
const readsPerTurn = 8

async function search(
  engine: Engine,
  application: string,
  query: RunSearchQuery,
): Promise<string[]> {
  const { startIndex, size, ...times } = boundsOf(query)
  const types = textList(query.triggerTypes)
  const terms = searchTermsOf(query.parameter, query.text)
  const wanted = {
    application: application === '*' ? undefined : application,
    name: textOf(query.pipelineName),
    eventId: textOf(query.eventId),
    user: textOf(query.user),
    types: types.includes('*') ? [] : types,
    statuses: wantedStatuses(query.statuses),
    oldestFirst: query.reverse?.toLowerCase() === 'true',
    ...times,
    terms,
    authors: authorMarksFor(query.authors),
  }
  const { store } = engine.options
  const isFound = createRunMatcher(store, query, terms)
  // Who is an author by several marks is one all the same.
  const found = new Set<string>()
  let [reads, limit] = [0, Math.min(500, startIndex + size)]
  for (let page = store.searchPage(wanted, undefined, limit); page.length > 0; ) {
    for (const row of page.filter(({ matches }) => matches)) {
      if (isFound !== undefined && ++reads % readsPerTurn === 0) await setImmediate()
      if (isFound?.(row) !== false) found.add(row.id)
      if (found.size >= startIndex + size) return [...found].slice(startIndex)
    }
    await setImmediate()
    limit = Math.min(maxPageSize, 2 * limit)
    page = store.searchPage(wanted, page.at(-1), limit)
  }
  return [...found].slice(startIndex)
}

/** What the store cannot decide by itself; undefined where it can. A search must not find out what a view masks. */
function createRunMatcher(store: ExecutionStore, query: RunSearchQuery, terms: readonly string[]) {
  const pattern = parseTriggerPattern(query.trigger)
  const eventId = textOf(query.eventId)
  if (pattern === undefined && eventId === undefined && terms.length === 0) return undefined
  const meter = createRegexMeter()
  const fits = (trigger: Trigger | undefined) =>
    trigger !== undefined &&
    (eventId === undefined || trigger['eventId'] === eventId) &&
    (pattern === undefined || matchesTrigger(trigger, pattern, meter))
  return ({ id, trigger }: SearchRow): boolean => {
    if ((pattern !== undefined || eventId !== undefined) && !fits(trigger())) return false
    const execution = pattern === undefined && terms.length === 0 ? undefined : store.load(id)
    if (execution === undefined) return true
    const shown = maskExecution(execution)
    const text =
      terms.length === 0
        ? ''
        : `${shown.id} ${shown.application}`.toLowerCase() + searchTextOf(shown)
    return (
      terms.every((term) => text.includes(term)) &&
      (pattern === undefined || matchesTrigger(shown.trigger, pattern, meter))
    )
  }
}

function boundsOf(query: RunSearchQuery): Record<'from' | 'to' | 'startIndex' | 'size', number> {
  const from = wholeNumber(query.triggerTimeStartBoundary, 'triggerTimeStartBoundary', 0)
  const to = boundary(query.triggerTimeEndBoundary)
  const startIndex = wholeNumber(query.startIndex, 'startIndex', 0)
  const size = wholeNumber(query.size, 'size', 10)
  if (from < 0 || to < from)
    throw new PortError(
      400,
      'The time boundaries must not be negative, and the end not before the start.',
    )
  if (startIndex < 0 || size <= 0)
    throw new PortError(400, '"startIndex" must not be negative, and "size" must be positive.')
  return { from, to, startIndex, size }
}

/** Callers send the largest 64-bit number for "no end". */
function boundary(text: string | undefined): number {
  if (text === undefined || text === '') return Number.MAX_SAFE_INTEGER
  if (!/^-?\d+$/.test(text))
    throw new PortError(400, '"triggerTimeEndBoundary" must be a whole number.')
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}

/** Deployments of an application, read from its runs at the orchestrator. */
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import type { Account } from '@fairlead/model/environments/accounts.ts'
import { factsOf, mayDeploy, type RunFacts } from '@fairlead/model/environments/delivery.ts'
import { type Environments, environmentsOf } from '@fairlead/model/environments/derivation.ts'
import type { UpstreamAnswer } from '../upstreams/answer-form.ts'
import type { UpstreamCall } from '../upstreams/upstream-call.ts'
import { readList, readListIfAny, readObject } from './upstream-shape.ts'

export type CallUpstream = (service: ServiceName, call: UpstreamCall) => Promise<UpstreamAnswer>

export interface Delivery {
  readonly environments: Environments | undefined
  readonly runs: readonly RunFacts[]
  /** False: there are more runs than are read, which are the newest. */
  readonly isComplete: boolean
  readonly sinceMs: number
}

interface Listed extends Pick<Delivery, 'isComplete' | 'sinceMs'> {
  readonly ids: readonly string[]
  readonly tasks: readonly RunFacts[]
}

const endedStatuses = 'SUCCEEDED,TERMINAL,CANCELED,STOPPED,FAILED_CONTINUE'
const maxKept = 20_000
const runsOfPage = 50
const maxPages = 40
/** Records with the contexts of their stages are large. */
const runsOfBatch = 20
const maxTasks = 200
const hourMs = 3_600_000
const keptLists = 100
/** Times the duration of a read for which its list is kept: readers cost the orchestrator a tenth of its time at most. */
const keptFactor = 10

/** Runs that have ended do not change, so each is read once. */
export class DeliveryReader {
  readonly #facts = new BoundedMap<string, RunFacts>(maxKept)
  readonly #lists = new BoundedMap<string, { readonly listed: Listed; readonly untilMs: number }>(
    keptLists,
  )

  async read(
    call: CallUpstream,
    application: string,
    { sinceMs, accounts }: { sinceMs: number; accounts: readonly Account[] },
  ): Promise<Delivery> {
    const [stored, pipelines, listed] = await Promise.all([
      call('front50', { path: pathTo`/v2/applications/${application}` }),
      call('front50', { path: pathTo`/pipelines/${application}`, query: { refresh: 'false' } }),
      this.#list(call, application, sinceMs - (sinceMs % hourMs)),
    ])
    const runs = [...(await this.#readRuns(call, listed.ids)), ...listed.tasks].filter(
      ({ steps }) => steps.length > 0,
    )
    const isKnown = stored.status !== 404
    const { environments: attribute } = isKnown ? readObject(stored, 'front50') : ({} as JsonObject)
    const definitions = readListIfAny(pipelines, 'front50')
    const used = [...new Set(runs.flatMap(({ steps }) => steps.map(({ account }) => account)))]
    const environments = environmentsOf(attribute, { accounts, pipelines: definitions, used })
    const { isComplete } = listed
    const known = { runs, isComplete, sinceMs: isComplete ? sinceMs : listed.sinceMs }
    return { environments: isKnown || runs.length > 0 ? environments : undefined, ...known }
  }

  async #list(call: CallUpstream, application: string, sinceMs: number): Promise<Listed> {
    const key = `${application} ${sinceMs}`
    const begunMs = performance.now()
    const kept = this.#lists.get(key)
    if (kept !== undefined && begunMs < kept.untilMs) return kept.listed
    const [{ runs, isComplete }, tasks] = await Promise.all([
      listRuns(call, application, sinceMs),
      listTasks(call, application, sinceMs),
    ])
    const ids = runs.filter(mayDeploy).map(({ id }) => String(id))
    const oldestMs = toListed(runs.at(-1)).buildTime ?? sinceMs
    const listed = {
      ids,
      isComplete,
      sinceMs: isComplete ? sinceMs : oldestMs,
      tasks: tasks.map((task) => this.#keep(task)),
    }
    const endedMs = performance.now()
    this.#lists.set(key, { listed, untilMs: endedMs + keptFactor * (endedMs - begunMs) })
    return listed
  }

  async #readRuns(call: CallUpstream, ids: readonly string[]): Promise<RunFacts[]> {
    const unknown = ids.filter((id) => !this.#facts.has(id))
    for (let at = 0; at < unknown.length; at += runsOfBatch) {
      const query = { executionIds: unknown.slice(at, at + runsOfBatch).join(','), expand: true }
      for (const run of readList(await call('orca', { path: '/pipelines', query }), 'orca'))
        this.#keep(run)
    }
    return ids.flatMap((id) => this.#facts.get(id) ?? [])
  }

  #keep(run: JsonObject): RunFacts {
    const id = String(run['id'])
    const known = this.#facts.get(id)
    if (known !== undefined) return known
    const facts = factsOf(run)
    this.#facts.set(id, facts)
    return facts
  }
}

const toListed = shape({ id: textOf, buildTime: numberOf })

export async function listRuns(
  call: CallUpstream,
  application: string,
  sinceMs: number,
): Promise<{ runs: JsonObject[]; isComplete: boolean }> {
  const runs: JsonObject[] = []
  for (let page = 0; page < maxPages; page++) {
    const query = {
      triggerTimeStartBoundary: String(sinceMs),
      statuses: endedStatuses,
      expand: false,
      startIndex: page * runsOfPage,
      size: runsOfPage,
    }
    const answer = await call('orca', {
      path: pathTo`/applications/${application}/pipelines/search`,
      query,
    })
    const found = readList(answer, 'orca')
    runs.push(...found.filter((run) => toListed(run).id !== undefined))
    if (found.length < runsOfPage) return { runs, isComplete: true }
  }
  return { runs, isComplete: false }
}

/** Deployments and rollbacks by hand, in the form of runs. @param application `*` for all */
export async function listTasks(
  call: CallUpstream,
  application: string,
  sinceMs: number,
): Promise<JsonObject[]> {
  const path = application === '*' ? '/tasks' : pathTo`/applications/${application}/tasks`
  const answer = await call('orca', {
    path,
    query: { limit: maxTasks, statuses: 'SUCCEEDED,TERMINAL' },
  })
  const tasks = readListIfAny(answer, 'orca')
  return tasks.map(taskAsRun).filter((task) => Number(task.startTime) >= sinceMs && mayDeploy(task))
}

export function taskAsRun(task: JsonObject): JsonObject {
  const { id, name, status, startTime, execution, application } = task
  return { ...objectOf(execution), id, name, status, startTime, application, isTask: true }
}

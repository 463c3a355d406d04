/** Checks, before anything is changed, that the caller has what an operation demands, and filters what is listed. */
import { storedTemplate } from '../backends/pipeline-templates/inheritance.ts'
import { pathTo } from '../http/encode-path.ts'
import { decide, type Need } from '../permissions/decide.ts'
import { foldName } from '../permissions/fold-name.ts'
import { permissionDenied, requireAll } from '../permissions/permission-denied.ts'
import { isListed } from '../permissions/permission-view.ts'
import type { Authorization, PermissionView } from '../permissions/permissions.ts'
import { jsonList, objectOrList } from '../upstreams/answer-form.ts'
import type { ServiceName } from '../upstreams/services.ts'
import { readJson } from '../upstreams/upstreams.ts'
import { isDecided, loadView } from './application-access.ts'
import { checksAtGateway, type Demand, type FilterField } from './demands.ts'
import { type JobNeeds, needsOfDefinition, needsOfJobs, needsOfStart } from './job-needs.ts'
import type { Operation, OperationRequest } from './operation.ts'
import type { Platform } from './platform.ts'
import { loadTemplates, needsOfTemplateChange, needsOfTemplateRead } from './template-scopes.ts'
import { type Fields, isFields } from './upstream-shape.ts'

const maxRemembered = 10_000

/** What has to be done for each request of an operation. */
interface Plan {
  /** Whether the gateway itself checks, as far as permissions decide at all; otherwise the service behind it does. */
  readonly atGateway: boolean
  /** Those that are known without the body. */
  readonly ahead: readonly Demand[]
  readonly aboutBody: readonly Demand[]
  readonly fields: readonly FilterField[]
}

export class Guard {
  readonly #platform: Platform
  /** Applications of executions and tasks, which never move, by service path. */
  readonly #owners = new Map<string, string>()
  readonly #plans = new WeakMap<Operation, Plan>()

  constructor(platform: Platform) {
    this.#platform = platform
  }

  /** Whether the gateway itself checks this operation; otherwise the service behind it does. */
  checks(operation: Operation): boolean {
    return this.#planFor(operation).atGateway && isDecided(this.#platform)
  }

  /** Whether the body has to be read, because it says what is needed. */
  readsBody(operation: Operation): boolean {
    return this.#planFor(operation).aboutBody.length > 0 && this.checks(operation)
  }

  /** Everything but the body. @throws {GatewayError} PERMISSION_DENIED, PERMISSIONS_UNAVAILABLE */
  async check(operation: Operation, request: OperationRequest): Promise<void> {
    const { ahead } = this.#planFor(operation)
    if (ahead.length === 0 || !this.checks(operation)) return
    const view = await loadView(request.state, this.#platform)
    for (const demand of ahead) {
      requireAll(view, await this.#needsOf(demand, request, view))
    }
  }

  /** @throws {GatewayError} PERMISSION_DENIED, PERMISSIONS_UNAVAILABLE */
  async checkBody(operation: Operation, request: OperationRequest, body: unknown): Promise<void> {
    if (!this.readsBody(operation)) return
    const view = await loadView(request.state, this.#platform)
    for (const demand of this.#planFor(operation).aboutBody) await this.#checkBodyOf(demand, request, body, view)
  }

  /** A function that leaves out what the caller may not read; undefined when nothing has to be left out. */
  async filterOf(operation: Operation, request: OperationRequest): Promise<((answer: unknown) => unknown) | undefined> {
    const { fields } = this.#planFor(operation)
    if (fields.length === 0 || !this.checks(operation)) return undefined
    const view = await loadView(request.state, this.#platform)
    return view?.admin === true ? undefined : (answer) => filterAnswer(answer, fields, view)
  }

  #planFor(operation: Operation): Plan {
    const known = this.#plans.get(operation)
    if (known !== undefined) return known
    const { permissions, upstreams } = this.#platform
    const { demands } = operation
    const isEmbedded = (service: ServiceName) => upstreams.isEmbedded(service)
    const plan: Plan = {
      atGateway: checksAtGateway(operation, { enforcement: permissions.enforcement, isEmbedded }),
      ahead: demands.filter((demand) => !isAboutBody(demand) && demand.kind !== 'filter'),
      aboutBody: demands.filter(isAboutBody),
      fields: demands.flatMap((demand) => (demand.kind === 'filter' ? demand.by : [])),
    }
    this.#plans.set(operation, plan)
    return plan
  }

  async #needsOf(demand: Demand, request: OperationRequest, view: PermissionView | undefined): Promise<Need[]> {
    switch (demand.kind) {
      case 'admin':
      case 'account-manager':
        return [{ kind: demand.kind }]
      case 'named-application':
        return [{ kind: 'application', name: demand.application, authorization: demand.authorization }]
      case 'account':
        return named(valuesOf(request, ['account', 'accountName']), 'account', demand.authorization)
      case 'build-service':
        return named(valuesOf(request, [demand.parameter]), 'build-service', demand.authorization)
      case 'application':
        return named(await this.#applicationsOf(demand, request), 'application', demand.authorization)
      case 'template':
        return needsOfTemplates(
          await templatesAt(request, templateIdsOf(demand, request), demand.authorization),
          demand.authorization,
          view,
        )
      default:
        return []
    }
  }

  async #applicationsOf(demand: Extract<Demand, { kind: 'application' }>, request: OperationRequest): Promise<string[]> {
    const { of, parameter = 'id' } = demand
    switch (of) {
      case 'path':
        return ['application', 'applicationName'].flatMap((name) => request.path[name] ?? [])
      case 'query':
        return valuesOf(request, ['application'])
      case 'execution':
      case 'task':
        return this.#ownersOf(request, of === 'task' ? '/tasks' : '/pipelines', valuesOf(request, [parameter]))
      case 'definition':
        return flat(valuesOf(request, [parameter]).map((id) => ownerOfDefinition(request, id)))
      case 'strategy':
        return flat(valuesOf(request, [parameter]).map((id) => ownerOfStrategy(request, id)))
      default:
        return []
    }
  }

  /** What the orchestrator does not know belongs to nobody: it says 404 itself. */
  async #ownersOf(request: OperationRequest, path: '/tasks' | '/pipelines', ids: readonly string[]): Promise<string[]> {
    return flat(
      ids.map(async (id) => {
        const key = `${path} ${id}`
        const known = this.#owners.get(key)
        if (known !== undefined) return [known]
        const owner = await ownerAt(request, 'orca', path === '/tasks' ? pathTo`/tasks/${id}` : pathTo`/pipelines/${id}`)
        for (const name of owner) this.#owners.set(key, name)
        if (this.#owners.size > maxRemembered) this.#owners.clear()
        return owner
      }),
    )
  }

  async #checkBodyOf(demand: Demand, request: OperationRequest, body: unknown, view: PermissionView | undefined): Promise<void> {
    const fields = isFields(body) ? body : {}
    switch (demand.kind) {
      case 'application': {
        if (demand.of === 'started') return this.#refuseUnless(needsOfStart(fields), request, view)
        return requireAll(view, named(texts(fields['application']), 'application', demand.authorization))
      }
      case 'account':
        return requireAll(view, named(texts(fields['name'] ?? fields['account']), 'account', demand.authorization))
      case 'template': {
        const templates = [fields, ...(await templatesAt(request, texts(fields['id']), 'WRITE'))]
        return requireAll(view, needsOfTemplates(templates, demand.authorization, view))
      }
      case 'definitions':
        return this.#checkDefinitions(request, body, view)
      case 'jobs': {
        requireAll(view, ownerNeeds(view, texts(fields['application'])))
        const jobs = fields['job'] ?? fields['stages'] ?? []
        return this.#refuseUnless(needsOfJobs(Array.isArray(jobs) ? jobs : [jobs]), request, view)
      }
      default:
    }
  }

  async #checkDefinitions(request: OperationRequest, body: unknown, view: PermissionView | undefined): Promise<void> {
    requireAll(view, ownerNeeds(view, valuesOf(request, ['application'])))
    const definitions = (Array.isArray(body) ? body : [body]).filter(isFields)
    for (const definition of definitions) {
      const { idsToIndices } = definition
      const ids = [...valuesOf(request, ['id']), ...Object.keys(isFields(idsToIndices) ? idsToIndices : {})]
      const needs = needsOfDefinition(definition)
      needs.definitions.push(...ids.map((id) => ({ id, authorization: 'WRITE' as const })))
      await this.#refuseUnless(needs, request, view)
    }
  }

  async #refuseUnless(found: JobNeeds, request: OperationRequest, view: PermissionView | undefined): Promise<void> {
    requireAll(view, found.needs)
    for (const { id, template } of found.templates) {
      const templates = [...(template === undefined ? [] : [template]), ...(await templatesAt(request, texts(id), 'WRITE'))]
      requireAll(view, needsOfTemplates(templates, 'WRITE', view))
    }
    for (const name of found.creates) await this.#checkCreation(request, name, view)
    for (const { id, authorization } of new Map(
      found.definitions.map((one) => [`${one.authorization} ${one.id}`, one]),
    ).values()) {
      const owners = await flat([ownerOfDefinition(request, id, false), ownerOfStrategy(request, id, false)])
      requireAll(view, named(owners, 'application', authorization))
    }
  }

  /** An application that exists is changed by its creation; whether a new one may be created, the permission service says. */
  async #checkCreation(request: OperationRequest, name: string, view: PermissionView | undefined): Promise<void> {
    const { user } = request.state
    if (view === undefined || user === undefined || isListed(view, name)) {
      return requireAll(view, [{ kind: 'application', name, authorization: 'WRITE' }])
    }
    if (view.admin || view.legacyFallback === true) return
    if (await this.#platform.permissions.mayCreateApplication(user, name)) return
    throw permissionDenied({ kind: 'application', name, authorization: 'CREATE' })
  }
}

function isAboutBody(demand: Demand): boolean {
  if (demand.kind === 'definitions' || demand.kind === 'jobs') return true
  if (demand.kind === 'account' || demand.kind === 'template') return demand.of === 'body'
  return demand.kind === 'application' && (demand.of === 'body' || demand.of === 'started')
}

/** A task may be filed under a name that is no application, such as that of the platform. */
function ownerNeeds(view: PermissionView | undefined, applications: readonly string[]): Need[] {
  const known = applications.filter((name) => view === undefined || isListed(view, name))
  return named(known, 'application', 'WRITE')
}

function templateIdsOf({ of }: Extract<Demand, { kind: 'template' }>, request: OperationRequest): string[] {
  if (of !== 'source') return valuesOf(request, ['id'])
  return valuesOf(request, ['source']).flatMap((source) => storedTemplate(source)?.name ?? [])
}

async function templatesAt(request: OperationRequest, ids: readonly string[], purpose: 'READ' | 'WRITE'): Promise<Fields[]> {
  return (await Promise.all(ids.map((id) => loadTemplates(request, id, purpose)))).flat()
}

function needsOfTemplates(
  templates: readonly Fields[],
  authorization: 'READ' | 'WRITE',
  view: PermissionView | undefined,
): Need[] {
  return templates.flatMap((template) =>
    authorization === 'WRITE' ? needsOfTemplateChange(template) : needsOfTemplateRead(template, view),
  )
}

function named(
  names: readonly string[],
  kind: 'application' | 'account' | 'build-service',
  authorization: Authorization,
): Need[] {
  return names.map((name) => ({ kind, name, authorization }))
}

/** Values of parameters of the path or the query, lists included, without blank ones. */
function valuesOf({ path, query }: OperationRequest, names: readonly string[]): string[] {
  return names
    .flatMap((name) => path[name] ?? query[name] ?? [])
    .map(String)
    .filter((value) => value.trim() !== '')
}

function texts(value: unknown): string[] {
  // Services read a number as the text of it.
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text.trim() !== '' ? [text] : []
}

async function flat(lists: readonly Promise<string[]>[]): Promise<string[]> {
  return (await Promise.all(lists)).flat()
}

/** A definition may have been moved or deleted a moment ago, so nothing is remembered. A deleted one lives on in its history. */
async function ownerOfDefinition(request: OperationRequest, id: string, deleted = true): Promise<string[]> {
  const live = await ownerAt(request, 'front50', pathTo`/pipelines/${id}/get`)
  return live.length > 0 || !deleted ? live : ownerAt(request, 'front50', pathTo`/pipelines/${id}/history`)
}

async function ownerOfStrategy(request: OperationRequest, id: string, deleted = true): Promise<string[]> {
  if (deleted) return ownerAt(request, 'front50', pathTo`/strategies/${id}/history`)
  const answer = await request.call('front50', { path: '/strategies' })
  const strategies = answer.status === 404 ? [] : readJson(answer, 'front50', jsonList)
  const wanted = foldName(id)
  const found = (Array.isArray(strategies) ? strategies : []).filter(
    (one) => isFields(one) && foldName(String(one['id'])) === wanted,
  )
  return found.flatMap((one: Fields) => texts(one['application']))
}

async function ownerAt(request: OperationRequest, service: ServiceName, path: string): Promise<string[]> {
  const answer = await request.call(service, { path })
  if (answer.status === 404) return []
  const body = readJson(answer, service, objectOrList)
  const entry = Array.isArray(body) ? body[0] : body
  return isFields(entry) ? texts(entry['application']) : []
}

/**
 * Pages of a search have their entries in `results`; a map has lists of them at any depth.
 *
 * @throws {GatewayError} PERMISSION_DENIED for a single resource instead of a map by account
 */
function filterAnswer(answer: unknown, fields: readonly FilterField[], view: PermissionView | undefined): unknown {
  if (fields.includes('key-account') && isFields(answer)) {
    const { accountName } = answer
    if (typeof accountName === 'string') {
      requireAll(view, [{ kind: 'account', name: accountName, authorization: 'READ' }])
      return answer
    }
    return Object.fromEntries(Object.entries(answer).filter(([account]) => mayRead(view, 'account', account)))
  }
  if (fields.includes('scopes') && isFields(answer)) {
    const lists = Object.entries(answer).map(([id, list]) => [id, filterAnswer(list, fields, view)] as const)
    return Object.fromEntries(lists.filter(([, list]) => !Array.isArray(list) || list.length > 0))
  }
  if (fields.includes('application') && isFields(answer)) {
    return Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, filterAnswer(value, fields, view)]))
  }
  if (!Array.isArray(answer)) return answer
  return answer.flatMap((entry: unknown) => {
    if (isFields(entry) && Array.isArray(entry['results'])) {
      return [{ ...entry, results: filterAnswer(entry['results'], fields, view) }]
    }
    return fields.every((field) => mayReadEntry(view, field, entry)) ? [entry] : []
  })
}

function mayReadEntry(view: PermissionView | undefined, field: FilterField, entry: unknown): boolean {
  if (field === 'build-service') {
    const name = isFields(entry) ? entry['name'] : entry
    return typeof name !== 'string' || mayRead(view, field, name)
  }
  if (field === 'scopes') return !isFields(entry) || needsOfTemplateRead(entry, view).length === 0
  if (field === 'key-account' || !isFields(entry)) return true
  const name = entry[field]
  return typeof name !== 'string' || name === '' || mayRead(view, field, name)
}

function mayRead(view: PermissionView | undefined, kind: 'application' | 'account' | 'build-service', name: string): boolean {
  return decide(view, { kind, name, authorization: 'READ' }).allowed
}

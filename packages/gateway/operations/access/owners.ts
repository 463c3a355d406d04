/** Look-up of the applications that own what a request names by id. */
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { list, maybeObject, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textsOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { encodeSegments, pathTo } from '@fairlead/base/net/encode-path.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { undecorated } from '@fairlead/model/pipeline-templates/references.ts'
import type { Need } from '@fairlead/model/rights/decide.ts'
import type { Authorization } from '@fairlead/model/rights/permissions.ts'
import { jsonList, objectOrList, readJson } from '../../upstreams/answer-form.ts'
import type { OperationRequest } from '../operation.ts'
import { checkList } from '../upstream-shape.ts'
import { type DemandSubject, type OwnedKind, textsIn } from './subject.ts'

const maxCached = 10_000

/** Both kinds of templates are kept in one place, and this list has all of them. */
const everyTemplate = '/pipelineTemplates'
const everyStrategy = '/strategies'

type OwnedSubject = Extract<DemandSubject, { kind: 'owned' }>
type Deployed = Extract<DemandSubject, { kind: 'deployed' }>

export interface Needs {
  readonly needs: readonly Need[]
  /** Whether it is known to belong to applications, or to all of them. */
  readonly concerns: boolean
  readonly changesShared?: true
}

const unknownToAll: Needs = { needs: [], concerns: false }

export class Owners {
  readonly #cache = new BoundedMap<string, string[]>(maxCached)
  readonly #lists = new WeakMap<OperationRequest['state'], Map<string, Promise<JsonObject[]>>>()

  /**
   * An id that the service does not know has no owner: the service answers 404 itself.
   *
   * @throws {GatewayError} UPSTREAM_FAILED, UPSTREAM_UNREADABLE
   */
  async needsOf(
    request: OperationRequest,
    { what, id, authorization, live }: OwnedSubject,
  ): Promise<Needs> {
    switch (what) {
      case 'execution':
      case 'task':
        return onApplications(await this.#runOwners(request, what, id), authorization)
      case 'definition':
        return onApplications(
          await this.#definitionOwners(request, id, live === true),
          authorization,
        )
      case 'strategy':
        return onApplications(
          await ownerAt(request, 'front50', pathTo`/strategies/${id}/history`),
          authorization,
        )
      case 'template':
        return templateNeeds(
          versionsOf(await this.#list(request, everyTemplate), request, id, authorization),
          authorization,
        )
      case 'canary-config':
        return canaryConfigNeeds(request, id, authorization)
      case 'entity-tags':
        return entityNeeds(request, id, authorization)
    }
  }

  /**
   * In a definition that is given, an id may be that of a strategy as well. One that was moved or deleted a moment ago counts, so
   * nothing is cached; where the id is in the address, the history has a deleted one.
   */
  async #definitionOwners(request: OperationRequest, id: string, live: boolean): Promise<string[]> {
    const pipeline = await ownerAt(request, 'front50', pathTo`/pipelines/${id}/get`)
    if (!live)
      return pipeline.length > 0
        ? pipeline
        : ownerAt(request, 'front50', pathTo`/pipelines/${id}/history`)
    const wanted = foldName(id)
    const strategies = (await this.#list(request, everyStrategy)).filter(
      (one) => foldName(String(one['id'])) === wanted,
    )
    return [...pipeline, ...strategies.flatMap((one) => textsIn(one['application']))]
  }

  #list(request: OperationRequest, path: string): Promise<JsonObject[]> {
    const ofRequest = this.#lists.getOrInsertComputed(request.state, () => new Map())
    return ofRequest.getOrInsertComputed(path, () => loadList(request, path))
  }

  async #runOwners(request: OperationRequest, what: OwnedKind, id: string): Promise<string[]> {
    const key = `${what} ${id}`
    const known = this.#cache.get(key)
    if (known !== undefined) return known
    const owners = await ownerAt(
      request,
      'orca',
      what === 'task' ? pathTo`/tasks/${id}` : pathTo`/pipelines/${id}`,
    )
    if (owners.length > 0) this.#cache.set(key, owners)
    return owners
  }

  /** For a run that is deleted: what is remembered of it must not speak for another one under its id. */
  forget(id: string): void {
    for (const what of ['execution', 'task']) this.#cache.delete(`${what} ${id}`)
  }
}

/**
 * The authorization on the application of what is deployed, by its server group where it does not say itself; none when it is not found.
 *
 * @throws {GatewayError} UPSTREAM_FAILED, UPSTREAM_UNREADABLE
 */
export async function deployedNeeds(
  request: OperationRequest,
  { what, id, account, region, application, authorization }: Deployed,
): Promise<Needs> {
  if (account === undefined || region === undefined) return unknownToAll
  if (what === 'job') {
    if (application === undefined) return unknownToAll
    const job = await loadAt(request, 'clouddriver', {
      path: pathTo`/applications/${application}/jobs/${account}/${region}/${id}`,
    })
    return job === undefined ? unknownToAll : onApplications([application], authorization)
  }
  const place = pathTo`${account}/${region}/${id}`
  const path = what === 'instance' ? `/instances/${place}` : `/manifests/${place}`
  const found = toDeployed(await loadAt(request, 'clouddriver', { path }))
  const [owner] = [
    ...found.application,
    ...found.moniker.app,
    ...found.serverGroup.flatMap((name) => parseMoniker(name).app ?? []),
  ]
  return onApplications(owner === undefined ? [] : [owner], authorization)
}

const toDeployed = shape({
  application: textsIn,
  moniker: shape({ app: textsIn }),
  serverGroup: textsIn,
})

/** What it needs to read templates, or to change them; shared ones are changed by administrators. */
export function templateNeeds(
  templates: readonly JsonObject[],
  authorization: Authorization,
): Needs {
  const all = templates.map((template): Needs => {
    const { applications, isShared } = scopesOf(template)
    if (authorization !== 'READ')
      return isShared ? withAdmin(applications) : onApplications(applications, authorization)
    return isShared ? { needs: [], concerns: true } : anyOf(applications)
  })
  return joinNeeds(all)
}

const toTemplate = shape({ metadata: shape({ scopes: textsOf }) })

function scopesOf(template: JsonObject): { applications: string[]; isShared: boolean } {
  const scopes = toTemplate(template).metadata.scopes.flatMap((scope) => scope.trim() || [])
  const applications = scopes.filter((scope) => foldName(scope) !== 'global')
  return { applications, isShared: scopes.length === 0 || applications.length < scopes.length }
}

export function joinNeeds(all: readonly Needs[]): Needs {
  return {
    needs: all.flatMap(({ needs }) => needs),
    concerns: all.some(({ concerns }) => concerns),
    ...(all.some(({ changesShared }) => changesShared) && { changesShared: true }),
  }
}

/** The definition store takes every other type for the settings of all applications, whichever one the path names besides. */
export function notificationNeeds({ type }: OperationRequest['path']): Needs {
  return type?.toLowerCase() === 'application' ? joinNeeds([]) : withAdmin([])
}

function withAdmin(applications: readonly string[]): Needs {
  return {
    needs: [{ kind: 'admin' }, ...onApplications(applications, 'WRITE').needs],
    concerns: true,
    changesShared: true,
  }
}

function anyOf(applications: readonly string[]): Needs {
  const [first, ...others] = onApplications(applications, 'READ').needs
  return first === undefined
    ? unknownToAll
    : { needs: [{ kind: 'one-of', needs: [first, ...others] }], concerns: true }
}

export function onApplications(names: readonly string[], authorization: Authorization): Needs {
  return {
    needs: names.map((name) => ({ kind: 'application', name, authorization })),
    concerns: names.length > 0,
  }
}

/**
 * Application and account of an entity with tags, as the infrastructure service has stored them. Of one that it does not know, or that
 * names no account, the account in its id: `provider:type:id:account:region`, where the id in the middle may have colons itself.
 */
async function entityNeeds(
  request: OperationRequest,
  id: string,
  authorization: Authorization,
): Promise<Needs> {
  const path = `/tags/${encodeSegments(id.toLowerCase())}`
  const { account, application } = toTags(await loadAt(request, 'clouddriver', { path })).entityRef
  const accounts = (account.length > 0 ? account : [id.split(':').at(-2) ?? '']).filter(
    (name) => name !== '' && name !== '*',
  )
  const { needs, concerns } = onApplications(application, authorization)
  return {
    needs: [
      ...needs,
      ...accounts.map((name): Need => ({ kind: 'account', name, authorization: 'WRITE' })),
    ],
    concerns,
  }
}

const toTags = shape({ entityRef: shape({ account: textsIn, application: textsIn }) })

async function ownerAt(
  request: OperationRequest,
  service: ServiceName,
  path: string,
): Promise<string[]> {
  const entry = await loadAt(request, service, { path })
  return textsIn(entry?.['application'])
}

async function loadAt(
  request: OperationRequest,
  service: ServiceName,
  call: { path: string; query?: Record<string, string> },
): Promise<JsonObject | undefined> {
  const answer = await request.call(service, call)
  if (answer.status === 404) return undefined
  const body = readJson(answer, service, objectOrList)
  return maybeObject(Array.isArray(body) ? body[0] : body)
}

async function loadList(request: OperationRequest, path: string): Promise<JsonObject[]> {
  const answer = await request.call('front50', { path })
  return answer.status === 404 ? [] : checkList(readJson(answer, 'front50', jsonList), 'front50')
}

/**
 * What is stored under an id. To be read: the version that the request asks for. To be changed: all but the copies that are
 * kept for good under the digest of their content.
 */
function versionsOf(
  templates: readonly JsonObject[],
  request: OperationRequest,
  id: string,
  purpose: Authorization,
): JsonObject[] {
  const wanted = foldName(undecorated(id))
  const versions = templates.filter(
    (template) => foldName(undecorated(String(template['id'] ?? ''))) === wanted,
  )
  if (purpose !== 'READ') return versions.filter(({ digest }) => !digest)
  const { tag, digest } = askedVersion(request, id)
  return versions.filter((version) =>
    digest === ''
      ? !version['digest'] && (version['tag'] ?? '') === tag
      : version['digest'] === digest,
  )
}

function askedVersion({ query }: OperationRequest, id: string): { tag: string; digest: string } {
  const [, kind = '', value = ''] =
    /^([:@])(?:sha256:)?(.*)$/i.exec(id.slice(undecorated(id).length)) ?? []
  const own = { tag: kind === ':' ? value : '', digest: kind === '@' ? value : '' }
  return { tag: String(query['tag'] ?? own.tag), digest: String(query['digest'] ?? own.digest) }
}

async function canaryConfigNeeds(
  request: OperationRequest,
  id: string,
  authorization: Authorization,
): Promise<Needs> {
  const account = request.query['configurationAccountName']
  const query =
    account === undefined ? {} : { query: { configurationAccountName: String(account) } }
  const config = await loadAt(request, 'kayenta', { path: pathTo`/canaryConfig/${id}`, ...query })
  return config === undefined ? unknownToAll : needsOfCanaryConfig(config, authorization)
}

/** A configuration of several applications is read for one of them, and changed for all; one of none is shared. */
export function needsOfCanaryConfig(
  { applications }: JsonObject,
  authorization: Authorization,
): Needs {
  const names = list(textsIn)(applications).flat()
  if (names.length === 0)
    return authorization === 'READ' ? { needs: [], concerns: true } : withAdmin([])
  return authorization === 'READ' ? anyOf(names) : onApplications(names, authorization)
}

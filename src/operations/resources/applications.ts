/** Applications: the cached list, one merged with its clusters, and its history. */

import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import { pathTo } from '../../http/encode-path.ts'
import { isObject, type JsonObject, objectOf } from '../../json/values.ts'
import { grantsOnApplication } from '../../permissions/permission-view.ts'
import { readJson, type UpstreamAnswer, upstreamFailed } from '../../upstreams/upstreams.ts'
import { createAccountFilter, createReadFilter, isDecided, loadView } from '../access/application-access.ts'
import { KeptLists } from '../access/kept-lists.ts'
import { type Attributes, accountsOf, mergeRunning, toAttributes } from '../application-cache.ts'
import { filteredByApplication, readsApplication } from '../demands.ts'
import { Application, ApplicationAttributes } from '../models/applications.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { flag, integer, text } from '../schemas.ts'
import { noteAge } from '../staleness.ts'
import { checkObject } from '../upstream-shape.ts'

export const applicationOperations: Operation[] = [
  {
    id: 'getAllApplicationsUsingGET',
    core: true,
    polled: true,
    shared: 'rights',
    method: 'GET',
    path: '/applications',
    demands: filteredByApplication,
    summary: 'List applications',
    description:
      'Applications that the caller may read, with flat attributes. Served from a list that is refreshed every few seconds.',
    query: {
      account: text.optional().describe('Keep applications that use this account.'),
      owner: text.optional().describe('Keep applications whose e-mail address is this one.'),
    },
    handle: listApplications,
    cost: 5,
    answer: z.array(ApplicationAttributes),
  },
  {
    id: 'getApplicationUsingGET',
    core: true,
    polled: true,
    shared: 'rights',
    method: 'GET',
    path: '/applications/{application}',
    demands: readsApplication,
    summary: 'Get an application',
    description: 'One application: its attributes and, unless `expand=false`, its clusters by account.',
    query: { expand: flag.default(true) },
    handle: loadApplication,
    answer: Application,
    errors: { 404: 'Neither the definition store nor the infrastructure knows the application.' },
  },
  {
    id: 'getApplicationHistoryUsingGET',
    core: true,
    method: 'GET',
    path: '/applications/{application}/history',
    demands: readsApplication,
    summary: 'List revisions of an application',
    description: 'Earlier revisions of the attributes of an application.',
    query: { limit: integer.default(20) },
    forward: { service: 'front50', path: '/v2/applications/{application}/history' },
    answer: z.array(ApplicationAttributes),
  },
]

async function listApplications(request: OperationRequest, platform: Platform): Promise<readonly Attributes[]> {
  // A store in this process is asked at once, so that what was just created is there; another is read every few seconds.
  if (platform.upstreams.isEmbedded('front50')) await platform.applications.refresh()
  noteAge(request.state, platform.applications.freshness)
  const { account, owner } = request.query
  const list = await listReadable(request, platform)
  if (account === undefined && owner === undefined) return list
  return list.filter((attributes) => {
    if (account !== undefined && !accountNames(attributes).includes(String(account).toLowerCase())) return false
    return owner === undefined || String(attributes['email'] ?? '').toLowerCase() === String(owner).toLowerCase()
  })
}

const keptLists = new KeptLists()

async function listReadable(request: OperationRequest, platform: Platform): Promise<readonly Attributes[]> {
  const list = platform.applications.list()
  if (!isDecided(platform)) return list
  const view = await loadView(request.state, platform)
  if (view === undefined) return []
  const withReadable = await createAccountReduction(request, platform)
  const filter = () => list.filter(({ name }) => grantsOnApplication(view, name, 'READ')).map(withReadable)
  return keptLists.of(list, view, filter) as readonly Attributes[]
}

/** Leaves out accounts that the caller may not read. Thousands of applications name the same few, so each is judged once. */
async function createAccountReduction(
  request: OperationRequest,
  platform: Platform,
): Promise<(attributes: Attributes) => Attributes> {
  if (!isDecided(platform)) return (attributes) => attributes
  const mayRead = await createAccountFilter(request, platform)
  const known = new Map<string, boolean>()
  const isReadable = (name: string): boolean => {
    const judged = known.get(name) ?? mayRead(name.trim())
    known.set(name, judged)
    return judged
  }
  return (attributes) => {
    const { accounts } = attributes
    if (typeof accounts !== 'string' || accounts === '') return attributes
    const names = accounts.split(',')
    const readable = names.filter(isReadable)
    return readable.length === names.length ? attributes : reduceTo(attributes, readable.join(','))
  }
}

/** Users with the same rights on accounts see the same, so that it is kept once. */
const reduced = new WeakMap<Attributes, Map<string, Attributes>>()

function reduceTo(attributes: Attributes, accounts: string): Attributes {
  const known = reduced.getOrInsertComputed(attributes, () => new Map())
  return known.getOrInsertComputed(accounts, () => ({ ...attributes, accounts }))
}

function accountNames(attributes: Attributes): string[] {
  return String(attributes['accounts'] ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
}

async function loadApplication(request: OperationRequest, platform: Platform): Promise<JsonObject> {
  const name = request.path['application'] as string
  const { attributes, clusters } =
    request.query['expand'] === false ? await loadStored(request, platform) : await loadExpanded(request, platform)
  if (attributes === undefined) throw new GatewayError('NOT_FOUND', `There is no application "${name}".`)
  const withReadable = await createAccountReduction(request, platform)
  return { name: attributes.name, attributes: withReadable(attributes), clusters }
}

interface ApplicationParts {
  attributes: Attributes | undefined
  clusters: JsonObject
}

async function loadStored(request: OperationRequest, platform: Platform): Promise<ApplicationParts> {
  const stored = await askDefinitions(request, platform)
  const name = request.path['application'] as string
  if (stored !== undefined) return { attributes: { ...platform.applications.find(name), ...stored }, clusters: {} }
  // The store in this process has just said no: what it deleted must not come back from the list.
  if (platform.upstreams.isEmbedded('front50')) await platform.applications.refresh()
  return { attributes: await checkReadable(platform.applications.find(name), request, platform), clusters: {} }
}

async function loadExpanded(request: OperationRequest, platform: Platform): Promise<ApplicationParts> {
  let stored: Attributes | undefined
  let running: JsonObject | undefined
  if (platform.applications.definitionsOnly) {
    stored = await askDefinitions(request, platform)
    running = stored === undefined ? undefined : await askInfrastructure(request)
  } else {
    ;[stored, running] = await Promise.all([askDefinitions(request, platform), askInfrastructure(request)])
  }
  const seen = running === undefined ? undefined : toAttributes(running)
  if (running === undefined || seen === undefined) return { attributes: stored, clusters: {} }
  const clusters = objectOf(running['clusters'])
  return { attributes: mergeRunning(stored, seen, accountsOf(running)), clusters }
}

/**
 * The attributes in the definition store. While the store fails, those of the list serve; a refusal is final, because the
 * list would show a stranger what the store has just refused.
 *
 * @throws {GatewayError} UPSTREAM_FAILED with 401 or 403, PERMISSION_DENIED
 */
async function askDefinitions(request: OperationRequest, platform: Platform): Promise<Attributes | undefined> {
  const name = request.path['application'] as string
  const answer = await request.call('front50', { path: pathTo`/v2/applications/${name}` }).catch(() => undefined)
  if (answer?.status === 401 || answer?.status === 403) throw upstreamFailed('front50', answer.status, answer.text)
  if (answer?.status === 404) return undefined
  const stored = answer && readObject(answer)
  if (stored === undefined) return checkReadable(platform.applications.find(name), request, platform)
  const attributes = toAttributes(stored)
  if (attributes !== undefined) platform.applications.learn(attributes)
  return attributes
}

function readObject(answer: UpstreamAnswer): JsonObject | undefined {
  try {
    return checkObject(readJson(answer, 'front50'), 'front50')
  } catch {
    return undefined
  }
}

/** The list is made without a user, so what comes from it is checked here. */
async function checkReadable(
  attributes: Attributes | undefined,
  request: OperationRequest,
  platform: Platform,
): Promise<Attributes | undefined> {
  if (attributes === undefined) return undefined
  const mayRead = await createReadFilter(request, platform)
  if (mayRead(attributes.name)) return attributes
  throw new GatewayError('PERMISSION_DENIED', `You may not read the application "${attributes.name}".`)
}

/** Clusters are a bonus: an application without its infrastructure is better than none. */
async function askInfrastructure(request: OperationRequest): Promise<JsonObject | undefined> {
  try {
    const running = await request.json('clouddriver', { path: pathTo`/applications/${request.path['application'] as string}` })
    return isObject(running) ? running : undefined
  } catch {
    return undefined
  }
}

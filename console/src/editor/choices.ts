/** Values to choose from, read from the API when a field that offers them is shown. */
import { client, unwrap } from '../api/client.ts'
import { type CloudProvider, useCloudProviders } from '../api/cloud-providers.ts'
import { type ReadParameters, type ReadPath, useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { toChannel } from '../model/notifications.ts'
import { type Json, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import { formatRelative, presentMs } from '../model/time.ts'
import type { Draft } from './draft.ts'
import type { ExpressionFunction } from './expression-help.ts'
import { stagesOf } from './stages.ts'

export interface Choice {
  readonly value: string
  /** Stands for the value: the name behind an id. */
  readonly label?: string | undefined
  /** Beside the value where it is offered, such as a region. */
  readonly note?: string | undefined
}

/** Where a field is: its siblings narrow its choices. */
interface Place {
  readonly draft: Draft
  /** The object that the field belongs to. */
  readonly holder: Json
  readonly providers: readonly CloudProvider[]
  readonly application: string
  readonly account: string | undefined
}

/** A read, and its choices. */
interface Source {
  readonly path: ReadPath | ((place: Place) => ReadPath)
  /** Undefined reads nothing. */
  readonly parameters: (place: Place) => unknown
  readonly choices: (body: unknown, place: Place) => readonly Choice[]
}

const maxImages = 200
const recentRuns = 20

const artifactAccountsRead = { path: '/artifacts/credentials', parameters: () => ({}) } as const
const accountsRead = { path: '/credentials', parameters: () => ({ query: { expand: true } }) } as const
const inApplication = ({ application }: Place) => ({ path: { application } })
const groupsRead = {
  path: '/applications/{applicationName}/serverGroups',
  parameters: ({ application }: Place) => ({ path: { applicationName: application }, query: { expand: 'false' } }),
} as const

const sources: Readonly<Record<string, Source>> = {
  accounts: { ...accountsRead, choices: (body) => accountsOf(body).map(({ name, type }) => ({ value: name, note: type })) },
  providers: { ...accountsRead, choices: (body) => accountsOf(body).map(({ type }) => choice(type)) },
  'image-accounts': {
    ...artifactAccountsRead,
    choices: (body) =>
      named(
        objectsOf(body).filter(({ types }) => textsOf(types).includes('docker/image')),
        'name',
      ),
  },
  regions: { ...accountsRead, choices: (body, { account }) => regionsOf(body, account).map((name) => choice(name)) },
  applications: { path: '/applications', parameters: () => ({}), choices: (body) => named(body, 'name') },
  pipelines: {
    path: '/applications/{application}/pipelineConfigs',
    parameters: inApplication,
    choices: (body) => named(body, 'id', 'name'),
  },
  clusters: {
    path: '/applications/{application}/clusters',
    parameters: inApplication,
    choices: (body) => Object.values(objectOf(body)).flatMap((names) => textsOf(names).map((name) => choice(name))),
  },
  'server-groups': { ...groupsRead, choices: (body) => noted(body, 'name', ({ region }) => textOf(region)) },
  instances: {
    ...groupsRead,
    choices: (body) => objectsOf(body).flatMap(({ instances, name }) => noted(instances, 'id', () => textOf(name))),
  },
  'load-balancers': {
    path: '/applications/{application}/loadBalancers',
    parameters: inApplication,
    choices: (body) => noted(body, 'name', ({ region }) => textOf(region)),
  },
  'security-groups': {
    path: '/securityGroups',
    parameters: () => ({}),
    choices: (body, { account }) => firewallsOf(body, account).map((name) => choice(name)),
  },
  images: {
    // A provider without a list searches by at least three characters.
    path: (place) => (imagesPathOf(place) ?? accountsRead.path) as ReadPath,
    parameters: (place) => (imagesPathOf(place) === undefined ? undefined : {}),
    choices: imagesOf,
  },
  'base-images': {
    path: '/bakery/options',
    parameters: () => ({}),
    choices: (body) =>
      objectsOf(body).flatMap(({ baseImages }) => noted(baseImages, 'id', ({ shortDescription }) => textOf(shortDescription))),
  },
  'instance-types': { path: '/instanceTypes', parameters: () => ({}), choices: (body) => named(body, 'name') },
  executions: {
    path: '/applications/{application}/pipelines',
    parameters: ({ application }) => ({ path: { application }, query: { limit: recentRuns, expand: false } }),
    choices: (body) => named(body, 'id', 'name'),
  },
  'service-accounts': {
    path: '/auth/user/serviceAccounts',
    parameters: ({ draft }) => ({ query: { application: draft.application } }),
    choices: (body) => textsOf(body).map((name) => choice(name)),
  },
  'build-hosts': { path: '/v2/builds', parameters: () => ({}), choices: (body) => textsOf(body).map((name) => choice(name)) },
  'build-jobs': {
    path: '/v3/builds/{buildMaster}/jobs',
    parameters: ({ holder }) => {
      const buildMaster = textOf(holder['master'])
      return buildMaster === undefined ? undefined : { path: { buildMaster } }
    },
    choices: (body) => textsOf(body).map((name) => choice(name)),
  },
  subscriptions: {
    path: '/pubsub/subscriptions',
    parameters: () => ({}),
    choices: (body) => noted(body, 'subscriptionName', ({ pubsubSystem }) => textOf(pubsubSystem)),
  },
  'notification-types': {
    path: '/notifications/metadata',
    parameters: () => ({}),
    choices: (body) => named(body, 'notificationType').map(({ value }) => choice(toChannel(value))),
  },
  'artifact-accounts': { ...artifactAccountsRead, choices: (body) => named(body, 'name') },
}

/** Choices from the draft itself, or from what the user has. */
const ownSources: Readonly<Record<string, (place: Place) => readonly Choice[]>> = {
  stages: ({ draft }) => named(stagesOf(draft.definition.value), 'name'),
  artifacts: ({ draft }) => {
    const owners = [draft.definition.value, ...stagesOf(draft.definition.value)]
    return owners.flatMap(({ expectedArtifacts }) => named(expectedArtifacts, 'id', 'displayName'))
  },
  roles: () => (user.value?.roles ?? []).map((name) => choice(name)),
}

let loaded: Promise<readonly ExpressionFunction[]> | undefined

/** Functions of expressions, asked of the API once. Without an answer there are none, and the next completion asks again. */
export async function loadFunctions(): Promise<readonly ExpressionFunction[]> {
  loaded ??= unwrap(client.GET('/capabilities/expressions')).then(({ functions }) => functions)
  try {
    return await loaded
  } catch {
    loaded = undefined
    return []
  }
}

/** Empty while they are not known; a source that fails offers nothing, and the field takes what is typed. */
export function useChoices(name: string | undefined, draft: Draft, holder: Json): readonly Choice[] {
  const source = name === undefined ? undefined : sources[name]
  const place = placeOf(draft, holder, useCloudProviders())
  const parameters = source?.parameters(place) as ReadParameters<ReadPath> | undefined
  const { body } = useLive(pathOf(source, place), parameters, { refresh: 'open' }).reading.value
  return choicesOf(name, place, body)
}

/** The same, read once. */
export async function readChoices(name: string, draft: Draft, holder: Json): Promise<readonly Choice[]> {
  const source = sources[name]
  const providers = await unwrap(client.GET('/capabilities/cloudProviders')).catch(() => [])
  const place = placeOf(draft, holder, providers)
  const parameters = source?.parameters(place)
  if (source === undefined || parameters === undefined) return choicesOf(name, place, undefined)
  try {
    return choicesOf(name, place, await unwrap((client.GET as Read)(pathOf(source, place), { params: parameters })))
  } catch {
    return []
  }
}

type Read = (path: string, init: { readonly params: unknown }) => Promise<{ data?: unknown; response: Response }>

function pathOf(source: Source | undefined, place: Place): ReadPath {
  const path = source?.path ?? accountsRead.path
  return typeof path === 'function' ? path(place) : path
}

/** Undefined where the provider has no list; a stage that names no provider runs at the first one that has. */
function imagesPathOf({ holder, providers }: Place): string | undefined {
  const id = textOf(holder['cloudProvider'])
  return providers.find((provider) => (id === undefined || provider.id === id) && provider.imagesPath !== undefined)?.imagesPath
}

function placeOf(draft: Draft, holder: Json, providers: readonly CloudProvider[]): Place {
  const own = textOf(holder['application'])
  return {
    draft,
    holder,
    providers,
    application: own === undefined || own.includes('$') ? draft.application : own,
    account: textOf(holder['credentials']) ?? textOf(holder['account']),
  }
}

function choicesOf(name: string | undefined, place: Place, body: unknown): readonly Choice[] {
  const found = name === undefined ? [] : (sources[name]?.choices(body, place) ?? ownSources[name]?.(place) ?? [])
  const byValue = new Map(found.filter(({ value }) => value !== '').map((each) => [each.value, each]))
  if (name === 'images') return [...byValue.values()]
  return [...byValue.values()].toSorted((a, b) => (a.label ?? a.value).localeCompare(b.label ?? b.value))
}

export function useAccounts(isWanted = true): readonly Account[] {
  const parameters = isWanted ? accountsRead.parameters() : undefined
  return accountsOf(useLive(accountsRead.path, parameters, { refresh: 'open' }).reading.value.body)
}

/** The newest first, with their age and where they come from. */
function imagesOf(body: unknown, { account }: Place): readonly Choice[] {
  const createdMs = (image: Json) => Date.parse(textOf(objectOf(image['attributes'])['creationDate']) ?? '')
  return objectsOf(body)
    .filter(({ accounts }) => account === undefined || !Array.isArray(accounts) || accounts.includes(account))
    .toSorted((one, other) => (createdMs(other) || 0) - (createdMs(one) || 0))
    .slice(0, maxImages)
    .map((image) => {
      const { kind } = objectOf(objectOf(image['attributes'])['origin'])
      const at = createdMs(image)
      const note = [Number.isNaN(at) ? undefined : formatRelative(at, presentMs()), originWords[textOf(kind) ?? '']]
      const value = textOf(image['imageId']) ?? textOf(image['imageName']) ?? ''
      return { value, note: note.filter((part) => part !== undefined).join(', ') || undefined }
    })
}

const originWords: Readonly<Record<string, string>> = { bake: 'baked', build: 'built', upload: 'uploaded' }

function choice(value: string, label?: string): Choice {
  return { value, label: label === value ? undefined : label }
}

function named(body: unknown, key: string, label?: string): readonly Choice[] {
  return objectsOf(body).map((item) => choice(textOf(item[key]) ?? '', label === undefined ? undefined : textOf(item[label])))
}

function noted(body: unknown, key: string, noteOf: (item: Json) => string | undefined): readonly Choice[] {
  return objectsOf(body).map((item) => ({ value: textOf(item[key]) ?? '', note: noteOf(item) }))
}

export interface Account {
  readonly name: string
  readonly type: string
  readonly regions: readonly string[]
}

function accountsOf(body: unknown): readonly Account[] {
  return objectsOf(body).map((account) => ({
    name: textOf(account['name']) ?? '',
    type: textOf(account['cloudProvider']) ?? textOf(account['type']) ?? '',
    regions: [
      ...objectsOf(account['regions']).flatMap(({ name }) => textOf(name) ?? []),
      ...textsOf(account['regions']),
      ...textsOf(account['namespaces']),
    ],
  }))
}

function regionsOf(body: unknown, account: string | undefined): readonly string[] {
  const all = accountsOf(body)
  const chosen = all.filter(({ name }) => name === account)
  return (chosen.length === 0 ? all : chosen).flatMap(({ regions }) => regions)
}

/** By account, provider and region. */
function firewallsOf(body: unknown, account: string | undefined): readonly string[] {
  return Object.entries(objectOf(body)).flatMap(([owner, byProvider]) => {
    if (account !== undefined && owner !== account) return []
    const byRegion = Object.values(objectOf(byProvider)).flatMap((regions) => Object.values(objectOf(regions)))
    return byRegion.flatMap((groups) => objectsOf(groups).flatMap(({ name }) => textOf(name) ?? []))
  })
}

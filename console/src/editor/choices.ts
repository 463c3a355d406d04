/** Values to choose from, read from the API when a field that offers them is shown. */
import { client, unwrap } from '../api/client.ts'
import { type CloudProvider, hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { type ReadParameters, type ReadPath, useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { toChannel } from '../model/notifications.ts'
import { type Json, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import { formatRelative, presentMs } from '../model/time.ts'
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
  readonly application: string
  readonly definition: Json
  /** The object that the field belongs to. */
  readonly holder: Json
}

interface Source {
  /** Unless given, nothing is read. */
  readonly path?: ReadPath | undefined
  readonly parameters?: unknown
  readonly choices: (body: unknown) => readonly Choice[]
}

const maxImages = 200

/** Choices of a list of objects, by the key of the value and of what stands for it or beside it. */
function items(list: unknown, key: string, { label = '', note = '' } = {}): readonly Choice[] {
  return objectsOf(list).map((item) => ({ value: textOf(item[key]) ?? '', label: textOf(item[label]), note: textOf(item[note]) }))
}

const texts = (list: unknown): readonly Choice[] => textsOf(list).map((value) => ({ value }))

const accounts = (choices: (found: readonly Account[]) => readonly Choice[]): Source => ({
  path: '/credentials',
  parameters: { query: { expand: true } },
  choices: (body) => choices(accountsOf(body)),
})

const sources: Readonly<Record<string, (place: Place, providers: readonly CloudProvider[]) => Source>> = {
  accounts: () => accounts((found) => items(found, 'name', { note: 'type' })),
  'manifest-accounts': (_place, providers) =>
    accounts((found) =>
      items(
        found.filter(({ type }) => hasManifests(providers, type)),
        'name',
        { note: 'type' },
      ),
    ),
  providers: () => accounts((found) => items(found, 'type')),
  regions: ({ holder }) =>
    accounts((found) => {
      const chosen = found.filter(({ name }) => name === accountOf(holder))
      return texts((chosen.length === 0 ? found : chosen).flatMap(({ regions }) => regions))
    }),
  applications: () => ({ path: '/applications', choices: (body) => items(body, 'name') }),
  pipelines: (place) => ({
    path: '/applications/{application}/pipelineConfigs',
    parameters: { path: { application: applicationOf(place) } },
    choices: (body) => items(body, 'id', { label: 'name' }),
  }),
  clusters: (place) => ({
    path: '/applications/{application}/clusters',
    parameters: { path: { application: applicationOf(place) } },
    choices: (body) => Object.values(objectOf(body)).flatMap(texts),
  }),
  'server-groups': (place) => ({
    path: '/applications/{applicationName}/serverGroups',
    parameters: { path: { applicationName: applicationOf(place) }, query: { expand: 'false' } },
    choices: (body) => items(body, 'name', { note: 'region' }),
  }),
  'load-balancers': (place) => ({
    path: '/applications/{application}/loadBalancers',
    parameters: { path: { application: applicationOf(place) } },
    choices: (body) => items(body, 'name', { note: 'region' }),
  }),
  'security-groups': ({ holder }) => ({ path: '/securityGroups', choices: (body) => firewallsOf(body, accountOf(holder)) }),
  images: ({ holder }, providers) => ({
    path: imagesPathOf(textOf(holder['cloudProvider']), providers),
    choices: (body) => imagesOf(body, accountOf(holder)),
  }),
  'base-images': () => ({
    path: '/bakery/options',
    choices: (body) => objectsOf(body).flatMap(({ baseImages }) => items(baseImages, 'id', { note: 'shortDescription' })),
  }),
  'service-accounts': ({ application }) => ({
    path: '/auth/user/serviceAccounts',
    parameters: { query: { application } },
    choices: texts,
  }),
  'build-hosts': () => ({ path: '/v2/builds', choices: texts }),
  'build-jobs': ({ holder }) => ({
    path: textOf(holder['master']) === undefined ? undefined : '/v3/builds/{buildMaster}/jobs',
    parameters: { path: { buildMaster: textOf(holder['master']) } },
    choices: texts,
  }),
  subscriptions: () => ({
    path: '/pubsub/subscriptions',
    choices: (body) => items(body, 'subscriptionName', { note: 'pubsubSystem' }),
  }),
  'notification-types': () => ({
    path: '/notifications/metadata',
    choices: (body) => items(body, 'notificationType').map(({ value }) => ({ value: toChannel(value) })),
  }),
  'artifact-accounts': () => ({ path: '/artifacts/credentials', choices: (body) => items(body, 'name') }),
  'image-accounts': () => ({
    path: '/artifacts/credentials',
    choices: (body) =>
      items(
        objectsOf(body).filter(({ types }) => textsOf(types).includes('docker/image')),
        'name',
      ),
  }),
  stages: ({ definition }) => ({ choices: () => items(stagesOf(definition), 'name') }),
  artifacts: ({ definition }) => ({
    choices: () =>
      [definition, ...stagesOf(definition)].flatMap((owner) => items(owner['expectedArtifacts'], 'id', { label: 'displayName' })),
  }),
  roles: () => ({ choices: () => texts(user.value?.roles) }),
}

/** Empty while they are not known; a source that fails offers nothing, and the field takes what is typed. */
export function useChoices(name: string | undefined, place: Place): readonly Choice[] {
  const source = sources[name ?? '']?.(place, useCloudProviders())
  const parameters = source?.path === undefined ? undefined : ((source.parameters ?? {}) as ReadParameters<ReadPath>)
  const { body } = useLive(source?.path ?? '/credentials', parameters, { refresh: 'open' }).reading.value
  return source === undefined ? [] : inOrder(name, source.choices(body))
}

/** The same, read once. */
export async function readChoices(name: string, place: Place): Promise<readonly Choice[]> {
  const read = client.GET as (path: string, init: object) => Promise<{ data?: unknown; response: Response }>
  const providers = await unwrap(client.GET('/capabilities/cloudProviders')).catch(() => [])
  const source = sources[name]?.(place, providers)
  const body = source?.path && (await unwrap(read(source.path, { params: source.parameters })).catch(() => undefined))
  return source === undefined ? [] : inOrder(name, source.choices(body))
}

/** Each once; images have an order of their own. */
function inOrder(name: string | undefined, found: readonly Choice[]): readonly Choice[] {
  const all = [...new Map(found.filter(({ value }) => value !== '').map((each) => [each.value, each])).values()]
  return name === 'images' ? all : all.toSorted((a, b) => (a.label ?? a.value).localeCompare(b.label ?? b.value))
}

function accountOf(holder: Json): string | undefined {
  return textOf(holder['credentials']) ?? textOf(holder['account'])
}

function applicationOf({ application, holder }: Place): string {
  const own = textOf(holder['application'])
  return own === undefined || own.includes('$') ? application : own
}

/** Undefined where the provider has no list; a stage that names no provider runs at the first one that has. */
function imagesPathOf(id: string | undefined, providers: readonly CloudProvider[]): ReadPath | undefined {
  const found = providers.find((provider) => (id ?? provider.id) === provider.id && provider.imagesPath !== undefined)
  return found?.imagesPath as ReadPath | undefined
}

const originWords: Readonly<Record<string, string>> = { bake: 'baked', build: 'built', upload: 'uploaded' }

/** The newest first, with their age and where they come from. */
function imagesOf(body: unknown, account: string | undefined): readonly Choice[] {
  const createdMs = ({ attributes }: Json) => Date.parse(textOf(objectOf(attributes)['creationDate']) ?? '') || 0
  return objectsOf(body)
    .filter(({ accounts: owners }) => account === undefined || !Array.isArray(owners) || owners.includes(account))
    .toSorted((one, other) => createdMs(other) - createdMs(one))
    .slice(0, maxImages)
    .map((image) => {
      const { kind } = objectOf(objectOf(image['attributes'])['origin'])
      const age = createdMs(image) === 0 ? '' : formatRelative(createdMs(image), presentMs())
      const note = [age, originWords[textOf(kind) ?? '']].filter(Boolean).join(', ')
      return { value: textOf(image['imageId'] ?? image['imageName']) ?? '', note: note || undefined }
    })
}

export interface Account extends Json {
  readonly name: string
  readonly type: string
  readonly regions: readonly string[]
}

export function useAccounts(): readonly Account[] {
  return accountsOf(useLive('/credentials', { query: { expand: true } }, { refresh: 'open' }).reading.value.body)
}

function accountsOf(body: unknown): readonly Account[] {
  return objectsOf(body).map(({ name, cloudProvider, type, regions, namespaces }) => ({
    name: textOf(name) ?? '',
    type: textOf(cloudProvider) ?? textOf(type) ?? '',
    regions: [
      ...objectsOf(regions).flatMap((region) => textOf(region['name']) ?? []),
      ...textsOf(regions),
      ...textsOf(namespaces),
    ],
  }))
}

/** By account, provider and region. */
function firewallsOf(body: unknown, account: string | undefined): readonly Choice[] {
  return Object.entries(objectOf(body))
    .filter(([owner]) => account === undefined || owner === account)
    .flatMap(([, byProvider]) => Object.values(objectOf(byProvider)).flatMap((byRegion) => Object.values(objectOf(byRegion))))
    .flatMap((groups) => items(groups, 'name'))
}

let loaded: Promise<readonly ExpressionFunction[]> | undefined

/** Functions of expressions, asked of the API once. Without an answer there are none, and the next completion asks again. */
export function loadFunctions(): Promise<readonly ExpressionFunction[]> {
  loaded ??= unwrap(client.GET('/capabilities/expressions')).then(
    ({ functions }) => functions,
    () => {
      loaded = undefined
      return []
    },
  )
  return loaded
}

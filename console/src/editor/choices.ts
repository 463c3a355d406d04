/** Values to choose from, read from the API when a field that offers them is shown. */
import { client, unwrap } from '../api/client.ts'
import { type CloudProvider, hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { type ReadParameters, type ReadPath, useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { securityGroupsOf } from '../model/infrastructure.ts'
import { toChannel } from '../model/notifications.ts'
import { type Json, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import { formatRelative, presentMs } from '../model/time.ts'
import type { FieldDescription } from './descriptions.ts'
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

const maxImages = 200

type Offering = Pick<FieldDescription, 'choices' | 'choicesFrom'>

interface Source {
  /** Unless given, nothing is read. */
  readonly path?: ReadPath | undefined
  readonly choices: (body: unknown) => readonly Choice[]
  readonly parameters?: unknown
}

const read = (path: ReadPath | undefined, choices: Source['choices'], parameters: unknown = {}): Source => ({
  path,
  choices,
  parameters,
})

const texts = (list: unknown): readonly Choice[] => textsOf(list).map((value) => ({ value }))

/** Choices of a list of objects, by the key of the value and of what stands for it or beside it. */
const named = (key: string, { label = '', note = '' } = {}) => {
  return (list: unknown): readonly Choice[] =>
    objectsOf(list).map((item) => ({ value: textOf(item[key]) ?? '', label: textOf(item[label]), note: textOf(item[note]) }))
}

const accounts = (choices: (found: readonly Account[]) => readonly Choice[]) =>
  read('/credentials', (body) => choices(accountsOf(body)), { query: { expand: true } })

function applicationOf({ application, holder }: Place) {
  const own = textOf(holder['application'])
  return { path: { application: own === undefined || own.includes('$') ? application : own } }
}

const inRegion = named('name', { note: 'region' })

const sources: Readonly<Record<string, (place: Place, providers: readonly CloudProvider[]) => Source>> = {
  accounts: () => accounts(named('name', { note: 'type' })),
  'manifest-accounts': (_place, providers) =>
    accounts((found) => named('name', { note: 'type' })(found.filter(({ type }) => hasManifests(providers, type)))),
  providers: () => accounts(named('type')),
  regions: ({ holder }) =>
    accounts((found) => {
      const chosen = found.filter(({ name }) => name === accountOf(holder))
      return texts((chosen.length === 0 ? found : chosen).flatMap(({ regions }) => regions))
    }),
  applications: () => read('/applications', named('name')),
  pipelines: (place) => read('/applications/{application}/pipelineConfigs', named('id', { label: 'name' }), applicationOf(place)),
  clusters: (place) =>
    read('/applications/{application}/clusters', (body) => Object.values(objectOf(body)).flatMap(texts), applicationOf(place)),
  'server-groups': (place) => {
    const { application } = applicationOf(place).path
    const parameters = { path: { applicationName: application }, query: { expand: 'false' } }
    return read('/applications/{applicationName}/serverGroups', inRegion, parameters)
  },
  'load-balancers': (place) => read('/applications/{application}/loadBalancers', inRegion, applicationOf(place)),
  'security-groups': ({ holder }) => {
    const isNear = ({ account }: Json) => account === (accountOf(holder) ?? account)
    return read('/securityGroups', (body) => named('name')(securityGroupsOf(body).filter(isNear)))
  },
  images: ({ holder }, providers) =>
    read(imagesPathOf(textOf(holder['cloudProvider']), providers), (body) => imagesOf(body, accountOf(holder))),
  'base-images': () =>
    read('/bakery/options', (body) =>
      objectsOf(body).flatMap(({ baseImages }) => named('id', { note: 'shortDescription' })(baseImages)),
    ),
  'instance-types': () => read('/instanceTypes', named('name')),
  'service-accounts': ({ application }) => read('/auth/user/serviceAccounts', texts, { query: { application } }),
  'build-hosts': () => read('/v2/builds', texts),
  'build-jobs': ({ holder: { master } }) =>
    read(textOf(master) === undefined ? undefined : '/v3/builds/{buildMaster}/jobs', texts, { path: { buildMaster: master } }),
  subscriptions: () => read('/pubsub/subscriptions', named('subscriptionName', { note: 'pubsubSystem' })),
  'notification-types': () =>
    read('/notifications/metadata', (body) => named('notificationType')(body).map(({ value }) => ({ value: toChannel(value) }))),
  'artifact-accounts': () => read('/artifacts/credentials', named('name')),
  'image-accounts': () =>
    read('/artifacts/credentials', (body) =>
      named('name')(objectsOf(body).filter(({ types }) => textsOf(types).includes('docker/image'))),
    ),
  stages: ({ definition }) => ({ choices: () => named('name')(stagesOf(definition)) }),
  artifacts: ({ definition }) => ({
    choices: () =>
      [definition, ...stagesOf(definition)].flatMap((owner) => named('id', { label: 'displayName' })(owner['expectedArtifacts'])),
  }),
  roles: () => ({ choices: () => texts(user.value?.roles) }),
}

/** Those that the description lists, then what the API knows; a source that fails offers nothing, and the field takes what is typed. */
export function useChoices({ choices = [], choicesFrom = '' }: Offering, place: Place): readonly Choice[] {
  const source = sources[choicesFrom]?.(place, useCloudProviders())
  const parameters = source?.path && (source.parameters as ReadParameters<ReadPath>)
  const { body } = useLive(source?.path ?? '/credentials', parameters, { refresh: 'open' }).reading.value
  const found = source?.choices(body).filter(({ value }) => value !== '' && !choices.includes(value)) ?? []
  const all = [...new Map(found.map((each) => [each.value, each])).values()]
  // Images have an order of their own.
  if (choicesFrom !== 'images') all.sort((a, b) => (a.label ?? a.value).localeCompare(b.label ?? b.value))
  return [...texts(choices), ...all]
}

function accountOf(holder: Json): string | undefined {
  return textOf(holder['credentials']) ?? textOf(holder['account'])
}

/** Undefined where the provider has no list; a stage that names no provider runs at the first one that has. */
function imagesPathOf(id: string | undefined, providers: readonly CloudProvider[]): ReadPath | undefined {
  const found = providers.find((provider) => (id ?? provider.id) === provider.id && provider.imagesPath !== undefined)
  return found?.imagesPath as ReadPath | undefined
}

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
      return { value: textOf(image['imageId'] ?? image['imageName']) ?? '', note: [age, textOf(kind)].filter(Boolean).join(', ') }
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

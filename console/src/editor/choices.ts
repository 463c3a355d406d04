/** Values to choose from, read from the API when a field that offers them is shown. */

import {
  type JsonObject,
  objectOf,
  objectsOf,
  scalarOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { client, type Schemas } from '../api/client.ts'
import {
  type CloudProvider,
  hasManifests,
  providerOf,
  regionsOf,
  useCloudProviders,
} from '../api/cloud-providers.ts'
import { type ReadParameters, type ReadPath, useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { securityGroupsOf } from '../model/infrastructure.ts'
import { formatRelative, presentMs } from '../model/time.ts'
import type { ExpressionFunction } from './completions.ts'
import { type FieldDescription, stagesOf } from './stages.ts'

export interface Choice {
  readonly value: string
  /** Stands for the value: the name behind an id. */
  readonly label?: string
  /** Beside the value where it is offered, such as a region. */
  readonly note?: string
}

/** Where a field is: its siblings narrow its choices. */
interface Place {
  readonly application: string
  readonly definition: JsonObject
  /** The object that the field belongs to. */
  readonly holder: JsonObject
}

type ToChoices = (body: unknown) => readonly Choice[]
/** Without a path nothing is read. */
type Source = readonly [path: ReadPath | undefined, toChoices: ToChoices, parameters?: unknown]

const maxImages = 200

const texts: ToChoices = (list) => textsOf(list).map((value) => ({ value }))

/** Choices of a list of objects, by the key of the value and of what stands for it or beside it. */
const named = (key: string, { label = '', note = '' } = {}): ToChoices => {
  return (list) =>
    objectsOf(list).map((item) => ({
      value: scalarOf(item[key]) ?? '',
      label: scalarOf(item[label]),
      note: scalarOf(item[note]),
    }))
}

const inRegion = named('name', { note: 'region' })

type Account = Schemas['Account']
const accounts = (toChoices: (found: readonly Account[]) => readonly Choice[]): Source => {
  return [
    '/credentials',
    (body) => toChoices((body ?? []) as readonly Account[]),
    { query: { expand: true } },
  ]
}
const toAccount = (account: Account): Choice => ({ value: account.name, note: providerOf(account) })

function applicationOf({ application, holder }: Place) {
  const own = scalarOf(holder['application'])
  return { path: { application: own === undefined || own.includes('$') ? application : own } }
}

const sources: Readonly<
  Record<string, (place: Place, providers: readonly CloudProvider[]) => Source>
> = {
  accounts: () => accounts((found) => found.map(toAccount)),
  'manifest-accounts': (_place, providers) =>
    accounts((found) => found.map(toAccount).filter(({ note }) => hasManifests(providers, note))),
  providers: () => accounts((found) => texts(found.map(providerOf))),
  regions: ({ holder }) =>
    accounts((found) => {
      const chosen = found.filter(({ name }) => name === accountOf(holder))
      return texts((chosen.length === 0 ? found : chosen).flatMap(regionsOf))
    }),
  applications: () => ['/applications', named('name')],
  pipelines: (place) => [
    '/applications/{application}/pipelineConfigs',
    named('id', { label: 'name' }),
    applicationOf(place),
  ],
  clusters: (place) => {
    const toChoices: ToChoices = (byAccount) => Object.values(objectOf(byAccount)).flatMap(texts)
    return ['/applications/{application}/clusters', toChoices, applicationOf(place)]
  },
  'server-groups': (place) => {
    const path = { applicationName: applicationOf(place).path.application }
    return [
      '/applications/{applicationName}/serverGroups',
      inRegion,
      { path, query: { expand: 'false' } },
    ]
  },
  'load-balancers': (place) => [
    '/applications/{application}/loadBalancers',
    inRegion,
    applicationOf(place),
  ],
  'security-groups': ({ holder }) => {
    const isNear = ({ account }: JsonObject) => account === (accountOf(holder) ?? account)
    return ['/securityGroups', (body) => named('name')(securityGroupsOf(body).filter(isNear))]
  },
  images: ({ holder }, providers) => {
    // A stage that names no provider runs at the first one that has a list.
    const isIts = ({ id, imagesPath }: CloudProvider) =>
      (holder['cloudProvider'] ?? id) === id && imagesPath !== undefined
    return [
      providers.find(isIts)?.imagesPath as ReadPath | undefined,
      (body) => imagesOf(body, accountOf(holder)),
    ]
  },
  'base-images': () => {
    const toChoices = named('id', { note: 'shortDescription' })
    return [
      '/bakery/options',
      (body) => objectsOf(body).flatMap(({ baseImages }) => toChoices(baseImages)),
    ]
  },
  'instance-types': () => ['/instanceTypes', named('name')],
  'service-accounts': ({ application }) => [
    '/auth/user/serviceAccounts',
    texts,
    { query: { application } },
  ],
  'build-hosts': () => ['/v2/builds', texts],
  'build-jobs': ({ holder: { master } }) => {
    return [
      scalarOf(master) === undefined ? undefined : '/v3/builds/{buildMaster}/jobs',
      texts,
      { path: { buildMaster: master } },
    ]
  },
  'canary-configs': ({ application }) => [
    '/v2/canaryConfig',
    named('id', { label: 'name' }),
    { query: { application } },
  ],
  'canary-accounts': () => ['/v2/canaries/credentials', named('name', { note: 'type' })],
  subscriptions: () => [
    '/pubsub/subscriptions',
    named('subscriptionName', { note: 'pubsubSystem' }),
  ],
  'artifact-accounts': () => ['/artifacts/credentials', named('name')],
  'image-accounts': () => {
    const isRegistry = ({ types }: JsonObject) => textsOf(types).includes('docker/image')
    return ['/artifacts/credentials', (body) => named('name')(objectsOf(body).filter(isRegistry))]
  },
  stages: ({ definition }) => [undefined, () => named('name')(stagesOf(definition))],
  artifacts: ({ definition }) => {
    const owners = [definition, ...stagesOf(definition)]
    return [
      undefined,
      () =>
        owners.flatMap((owner) =>
          named('id', { label: 'displayName' })(owner['expectedArtifacts']),
        ),
    ]
  },
  roles: () => [undefined, () => texts(user.value?.roles)],
}

/** Choices of the description, then of the API; a source that fails offers nothing, and the field takes what is typed. */
export function useChoices(
  field: Pick<FieldDescription, 'choices' | 'choicesFrom'>,
  place: Place,
): readonly Choice[] {
  const { choices = [], choicesFrom = '' } = field
  const [path, toChoices, parameters = {}] =
    sources[choicesFrom]?.(place, useCloudProviders()) ?? []
  const asked = path && (parameters as ReadParameters<ReadPath>)
  const { body } = useLive(path ?? '/credentials', asked, 'open')
  const found =
    toChoices?.(body).filter(({ value }) => value !== '' && !choices.includes(value)) ?? []
  const all = [...new Map(found.map((each) => [each.value, each])).values()]
  // Images have an order of their own.
  if (choicesFrom !== 'images')
    all.sort((a, b) => (a.label ?? a.value).localeCompare(b.label ?? b.value))
  return [...texts(choices), ...all]
}

function accountOf(holder: JsonObject) {
  return scalarOf(holder['credentials']) ?? scalarOf(holder['account'])
}

/** The newest first, with their age and where they come from. */
function imagesOf(body: unknown, account: string | undefined): readonly Choice[] {
  const createdMs = ({ attributes }: JsonObject) =>
    Date.parse(scalarOf(objectOf(attributes)['creationDate']) ?? '') || 0
  return objectsOf(body)
    .filter(
      ({ accounts: owners }) =>
        account === undefined || !Array.isArray(owners) || owners.includes(account),
    )
    .toSorted((one, other) => createdMs(other) - createdMs(one))
    .slice(0, maxImages)
    .map((image) => {
      const { kind } = objectOf(objectOf(image['attributes'])['origin'])
      const age = createdMs(image) === 0 ? '' : formatRelative(createdMs(image), presentMs())
      return {
        value: scalarOf(image['imageId'] ?? image['imageName']) ?? '',
        note: [age, scalarOf(kind)].filter(Boolean).join(', '),
      }
    })
}

let loaded: Promise<readonly ExpressionFunction[]> | undefined

/** Functions of expressions, asked of the API once. Without an answer there are none, and the next completion asks again. */
export function loadFunctions(): Promise<readonly ExpressionFunction[]> {
  loaded ??= client.GET('/capabilities/expressions').then(({ functions }) => functions)
  return loaded.catch(() => {
    loaded = undefined
    return []
  })
}

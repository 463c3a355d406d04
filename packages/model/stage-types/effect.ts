/** Effects of a stage on server groups: the engine writes them into its context, clients print them. */
import { list, or, shape } from '@fairlead/base/json/shape.ts'
import {
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { clusterName, withoutSequence } from '@fairlead/base/names/moniker.ts'

/** For each kind, when it is over and while it happens. */
const words = {
  created: ['created', 'being created'],
  enabled: ['took traffic', 'taking traffic'],
  disabled: ['disabled', 'losing its traffic'],
  resized: ['resized', 'being resized'],
  /** Its bounds change, and no number of instances. */
  pinned: ['pinned', 'being pinned'],
  shared: ['serves as any other', 'getting its share'],
  destroyed: ['removed', 'being removed'],
} as const

export interface Effect {
  readonly kind: keyof typeof words
  readonly account: string
  readonly region: string
  readonly cluster: string
  /** Undefined until a new one has its name. */
  readonly serverGroup?: string
  /** The server group that a new one follows. */
  readonly source?: string
  /** Instances of one that is created or resized. */
  readonly desired?: number
  /** Share of the traffic, or of the instances that are disabled. */
  readonly percent?: number
  /** When it was over, unless that is the end of the stage. */
  readonly atMs?: number
}

/** Key of the context. */
export const effectsKey = 'effects'

const kinds: Readonly<Record<string, Effect['kind']>> = {
  createServerGroup: 'created',
  cloneServerGroup: 'created',
  deployManifest: 'created',
  enableServerGroup: 'enabled',
  enableManifest: 'enabled',
  disableCluster: 'disabled',
  disableServerGroup: 'disabled',
  disableManifest: 'disabled',
  resizeServerGroup: 'resized',
  scaleDownCluster: 'resized',
  shareTraffic: 'shared',
  shrinkCluster: 'destroyed',
  destroyServerGroup: 'destroyed',
  deleteManifest: 'destroyed',
}

interface StageView {
  readonly type: string
  readonly context: JsonObject
  readonly tasks: readonly {
    readonly name: string
    readonly status: string
    readonly endTime?: number | null
  }[]
}

const toCluster = shape({
  cluster: textOf,
  moniker: shape({ cluster: textOf }),
  application: or(textOf, ''),
  stack: textOf,
  detail: [textOf, 'freeFormDetails'],
})

const toFields = shape({
  account: [or(textOf, ''), 'account', 'credentials'],
  region: textOf,
  regions: textsOf,
  location: textOf,
  serverGroup: [textOf, 'serverGroupName', 'asgName', 'manifestName'],
  source: shape({ serverGroupName: textOf }),
  capacity: shape({ desired: numberOf }),
  desiredPercentage: numberOf,
  trafficPercent: numberOf,
  percent: numberOf,
  chosen: [list(shape({ name: textOf })), 'chosenServerGroups'],
  created: [(value) => Object.values(objectOf(value)).flatMap(textsOf), 'deploy.server.groups'],
  manifests: [
    (value) => Object.entries(objectOf(value))[0] ?? [],
    'outputs.manifestNamesByNamespace',
  ],
})

/** Effects that the engine has written; without any, such as in Orca's executions, what type and context say. */
export function effectsOf({ type, context, tasks }: StageView): readonly Effect[] {
  const kind = kinds[type]
  const { [effectsKey]: written } = context
  if (Array.isArray(written)) return objectsOf(written).filter(isEffect)
  if (kind === undefined) return []
  const fields = toFields(context)
  const [namespace = '', manifests] = fields.manifests
  const chosen = fields.chosen.flatMap(({ name }) => name ?? [])
  const names =
    kind === 'created' ? fields.created : chosen.length > 0 ? chosen : [fields.serverGroup]
  const share =
    kind === 'disabled' ? 'desiredPercentage' : kind === 'created' ? 'trafficPercent' : 'percent'
  return (names.length > 0 ? names : [undefined]).map((serverGroup) => ({
    kind,
    account: fields.account,
    region: fields.region ?? fields.regions[0] ?? fields.location ?? namespace,
    cluster: clusterIn(context, textsOf(manifests)[0] ?? serverGroup),
    serverGroup,
    source: fields.source.serverGroupName,
    desired: type === 'scaleDownCluster' ? 0 : fields.capacity.desired,
    percent: fields[share],
    atMs:
      tasks.find(
        ({ name, status }) => kind === 'created' && name === type && status === 'SUCCEEDED',
      )?.endTime ?? undefined,
  }))
}

function isEffect(value: JsonObject): value is JsonObject & Effect {
  return (
    Object.hasOwn(words, String(value['kind'])) &&
    ['account', 'region', 'cluster'].every((key) => typeof value[key] === 'string')
  )
}

/** @param name Of a server group; undefined for one that has none yet. */
export function clusterIn(context: JsonObject, name: string | undefined): string {
  const { cluster, moniker, application: app, stack, detail } = toCluster(context)
  return (
    cluster ??
    moniker.cluster ??
    (name === undefined ? clusterName({ app, stack, detail }) : withoutSequence(name))
  )
}

/** Such as "resized to 3"; while it happens, what follows "is". */
export function describeEffect({ kind, desired, percent }: Effect, isOver: boolean): string {
  if (kind === 'shared' && percent !== undefined)
    return `${isOver ? 'takes' : 'getting'} ${percent} % of the traffic`
  if (kind === 'resized' && desired === 0) return isOver ? 'scaled down' : 'being scaled down'
  const size = kind === 'resized' && desired !== undefined ? ` to ${desired}` : ''
  const share =
    kind === 'disabled' && percent !== undefined ? ` for ${percent} % of its instances` : ''
  return words[kind][isOver ? 0 : 1] + size + share
}

/** Whether a server group serves no more. */
export function isEnd({ kind, desired }: Effect): boolean {
  return kind === 'disabled' || kind === 'destroyed' || (kind === 'resized' && desired === 0)
}

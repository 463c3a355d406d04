/** An external infrastructure service in memory: it answers as the contract says, does operations at once, and records them. */

import {
  clusterName,
  parseMoniker,
  serverGroupName,
} from '../../../../packages/base/names/moniker.ts'
import type { CallService, ServiceAnswer } from '../../../../packages/ports/service-call.ts'

export interface Group {
  name: string
  account: string
  region: string
  createdTime: number
  isDisabled: boolean
  capacity: { min: number; max: number; desired: number }
  imageId: string
  /** Ids of instances that are out of service although the group is not disabled. */
  out: string[]
  /** New instances never become healthy. */
  sick: boolean
  trafficPercent?: number | undefined
}

export interface CloudService {
  readonly call: CallService
  readonly groups: Group[]
  /** Operations in order: name and description. */
  readonly operations: (readonly [string, Record<string, unknown>])[]
  /** Rules that the application has. */
  guards: Record<string, unknown>[]
  /** Server groups created from now on stay unhealthy. */
  sick: boolean
  /** Names of operations that fail, with the message of each. */
  readonly failing: Map<string, string>
  /** Next answers to submissions that are lost on their way, after the operation was done. */
  lost: number
  /** Next questions for tasks that are answered with 404. */
  unknownTasks: number
  /** Whether refreshes are queued: they are done at the second look. */
  queuesRefreshes: boolean
  /** Never answers the submissions from now on. */
  isSilent: boolean
  /** Answers of the definition store, by path. */
  readonly stored: Map<string, unknown>
  /** Entity tags of all server groups. */
  tags: unknown[]
  /** What load balancers have counted of every server group, by metric. */
  readonly counted: Map<string, number>
  /** What owns all server groups, on Kubernetes. */
  managers: unknown[]
  /** Texts that describe changes, in order: `shop-main-v000 2 up`. */
  readonly seen: string[]
  add(name: string, parts?: Partial<Group>): Group
  enabled(): string[]
}

type Fields = Record<string, unknown>

/** @param isKubernetes Names are full names, which do not say whose the server groups are, and health does not show traffic. */
export function createCloudService({ isKubernetes = false } = {}): CloudService {
  const groups: Group[] = []
  const operations: (readonly [string, Fields])[] = []
  const tasks = new Map<string, Fields>()
  const requests = new Map<string, string>()
  let time = 1000

  const find = (name: unknown, region: unknown) =>
    groups.find((group) => group.name === name && group.region === region)
  const bareName = (name: string) => (isKubernetes ? name.replace(/^replicaSet /, '') : name)
  const monikerOf = ({ name }: Group) => {
    const moniker = parseMoniker(bareName(name))
    return isKubernetes ? { ...moniker, cluster: `replicaSet ${moniker.cluster}` } : moniker
  }
  const healthOf = (state: string) =>
    isKubernetes
      ? [{ type: 'kubernetes/pod', healthClass: 'platform', state: 'Up' }]
      : [
          { type: 'Platform', healthClass: 'platform', state: 'Unknown' },
          {
            type: 'LoadBalancer',
            state,
            ...(state === 'Starting' && { description: 'no answer' }),
          },
        ]
  const instancesOf = (group: Group) => {
    return Array.from({ length: group.capacity.desired }, (_, index) => {
      const id = `${group.name}-${index}`
      const state =
        group.isDisabled || group.out.includes(id) ? 'OutOfService' : group.sick ? 'Starting' : 'Up'
      return {
        id,
        name: id,
        healthState: isKubernetes ? 'Up' : state,
        launchTime: group.createdTime,
        health: healthOf(state),
      }
    })
  }
  const view = (group: Group): Fields => ({
    ...group,
    disabled: group.isDisabled,
    instances: instancesOf(group),
    image: { imageId: group.imageId, name: group.imageId },
    zones: [`${group.region}-a`],
    ...(isKubernetes && {
      cloudProvider: 'kubernetes',
      moniker: monikerOf(group),
      capacity: { desired: group.capacity.desired },
      image: undefined,
      serverGroupManagers: service.managers,
    }),
  })

  const changes: Record<string, (fields: Fields) => Fields | undefined> = {
    createServerGroup(fields) {
      const cluster = clusterName({
        app: String(fields['application']),
        stack: fields['stack'] as string,
        detail: fields['freeFormDetails'] as string,
      })
      const region = String(fields['region'])
      const source = fields['source'] as Fields | undefined
      const from =
        source === undefined ? undefined : find(source['serverGroupName'], source['region'])
      const own = groups.filter(
        (group) =>
          parseMoniker(bareName(group.name)).cluster === cluster && group.region === region,
      )
      const newest = own.at(-1)
      const sequence = newest === undefined ? 0 : (monikerOf(newest).sequence ?? 0) + 1
      const name = (isKubernetes ? 'replicaSet ' : '') + serverGroupName(cluster, sequence)
      const capacity =
        source?.['useSourceCapacity'] === true && from !== undefined
          ? { ...from.capacity }
          : (fields['capacity'] as Group['capacity'])
      service.add(name, {
        account: String(fields['account'] ?? 'dev'),
        region,
        capacity,
        imageId: String(fields['imageId'] ?? from?.imageId),
        sick: service.sick,
        trafficPercent: fields['trafficPercent'] as number | undefined,
      })
      return {
        serverGroupNames: [`${region}:${name}`],
        serverGroupNameByRegion: { [region]: name },
      }
    },
    runJob: ({ region }) => ({ deployedNamesByLocation: { [String(region)]: ['job-1'] } }),
    upsertLoadBalancer: (fields) => ({
      loadBalancers: { [String(fields['region'])]: { name: fields['name'], dnsName: 'localhost' } },
    }),
    cloneServerGroup: (fields) => changes['createServerGroup']?.(fields),
    resizeServerGroup(fields) {
      const group = find(fields['serverGroupName'], fields['region'])
      if (group !== undefined)
        group.capacity = { ...group.capacity, ...(fields['capacity'] as Fields) }
      return undefined
    },
    enableServerGroup(fields) {
      const group = find(fields['serverGroupName'], fields['region'])
      if (group !== undefined) Object.assign(group, { isDisabled: false, out: [] })
      return undefined
    },
    disableServerGroup(fields) {
      const group = find(fields['serverGroupName'], fields['region'])
      const share = Number(fields['desiredPercentage'] ?? 100)
      if (group === undefined) return undefined
      if (share === 100) Object.assign(group, { isDisabled: true, trafficPercent: undefined })
      const ids = instancesOf(group)
        .map(({ id }) => id)
        .slice(0, Math.ceil((group.capacity.desired * share) / 100))
      group.out = ids
      return share === 100 ? undefined : { instanceIdsToDisable: ids }
    },
    shareTraffic(fields) {
      const group = find(fields['serverGroupName'], fields['region'])
      if (group !== undefined)
        group.trafficPercent = (fields['percent'] as number | null) ?? undefined
      return undefined
    },
    destroyServerGroup(fields) {
      const group = find(fields['serverGroupName'], fields['region'])
      if (group !== undefined) groups.splice(groups.indexOf(group), 1)
      return undefined
    },
  }

  const problemOf = (name: string, fields: Fields): string | undefined => {
    const isOff = find(fields['serverGroupName'], fields['region'])?.isDisabled === true
    return name === 'shareTraffic' && isOff && Number(fields['percent']) > 0
      ? 'It is disabled and takes no requests.'
      : undefined
  }

  function submit(query: URLSearchParams, body: Fields[]): ServiceAnswer {
    const requestId = query.get('clientRequestId') ?? ''
    const known = requests.get(requestId)
    if (known !== undefined)
      return { status: 200, body: { id: known, resourceUri: `/task/${known}` } }
    const id = `t${tasks.size + 1}`
    requests.set(requestId, id)
    const resultObjects: Fields[] = []
    for (const operation of body) {
      for (const [name, fields] of Object.entries(operation)) {
        operations.push([name, fields as Fields])
        const problem = service.failing.get(name) ?? problemOf(name, fields as Fields)
        if (problem !== undefined) {
          const status = { phase: 'DONE', status: 'failed', completed: true, failed: true }
          const exception = {
            type: 'EXCEPTION',
            operation: name,
            message: problem,
            cause: 'Error',
            details: ['quota: 3 of 3'],
          }
          tasks.set(id, { id, status, history: [], resultObjects: [exception] })
          return { status: 200, body: { id, resourceUri: `/task/${id}` } }
        }
        const result = changes[name]?.(fields as Fields)
        if (result !== undefined) resultObjects.push(result)
        const group = find((fields as Fields)['serverGroupName'], (fields as Fields)['region'])
        if (group !== undefined) {
          const up = instancesOf(group).filter(({ healthState }) => healthState === 'Up').length
          service.seen.push(`${name} ${group.name}: ${group.capacity.desired} wanted, ${up} up`)
        }
      }
    }
    tasks.set(id, {
      id,
      status: { phase: 'DONE', status: 'done', completed: true, failed: false },
      history: [],
      resultObjects,
    })
    return { status: 200, body: { id, resourceUri: `/task/${id}` } }
  }

  function read(path: string, query: URLSearchParams): ServiceAnswer {
    const parts = path.split('/').slice(1).map(decodeURIComponent)
    const found = (body: unknown): ServiceAnswer =>
      body === undefined ? { status: 404, body: undefined } : { status: 200, body }
    if (parts[0] === 'task')
      return found(service.unknownTasks-- > 0 ? undefined : tasks.get(parts[1] ?? ''))
    if (parts[0] === 'features') return found([])
    if (parts[0] === 'tags') return found(service.tags)
    if (parts[0] === 'cache') return found(refreshes())
    if (parts[0] === 'manifests') return found({ status: { stable: { state: true } } })
    if (parts[0] === 'cloudMetrics') {
      const latest = { timestamp: Date.now() + 1, sum: service.counted.get(parts[4] ?? '') ?? 0 }
      return found({ unit: 'Count', period: 10, datapoints: [], latest })
    }
    if (parts[0] === 'serverGroups') {
      const group = find(parts[3], parts[2])
      return found(group && view(group))
    }
    if (parts[2] === 'jobs') return found({ jobState: 'Running' })
    if (parts[2] !== 'clusters') return found(undefined)
    const members = groups.filter(
      (group) =>
        monikerOf(group).cluster === parts[4] &&
        group.account === parts[3] &&
        (!isKubernetes || parts[1] === 'shop'),
    )
    if (parts.length === 6)
      return found(
        members.length === 0 ? undefined : { name: parts[4], serverGroups: members.map(view) },
      )
    const here = members
      .filter(
        ({ region, isDisabled }) =>
          region === parts[6] && (query.get('onlyEnabled') !== 'true' || !isDisabled),
      )
      .toSorted((one, other) => other.createdTime - one.createdTime)
    const target = String(parts.at(-1)).replace(/_asg(?:_dynamic)?$/, '')
    const group =
      here[
        { current: 0, newest: 0, previous: 1, ancestor: 1, oldest: here.length - 1 }[target] ?? 99
      ]
    return found(group && view(group))
  }

  /** A refresh that was asked for before waits at the first look, and is done at the second. */
  let looks = 0
  const refreshes = () =>
    ++looks % 2 === 1
      ? [{ details: {}, processedCount: 0 }]
      : [{ details: {}, processedCount: 1, processedTime: Date.now() }]

  const service: CloudService = {
    groups,
    operations,
    guards: [],
    sick: false,
    seen: [],
    failing: new Map(),
    lost: 0,
    unknownTasks: 0,
    queuesRefreshes: false,
    isSilent: false,
    stored: new Map(),
    tags: [],
    counted: new Map(),
    managers: [],
    add(name, parts = {}) {
      time += 1000
      const capacity = { min: 2, max: 2, desired: 2 }
      const group: Group = {
        name,
        account: 'dev',
        region: 'east',
        createdTime: time,
        isDisabled: false,
        capacity,
        imageId: `image-${name}`,
        out: [],
        sick: false,
        ...parts,
      }
      groups.push(group)
      return group
    },
    enabled: () => groups.filter(({ isDisabled }) => !isDisabled).map(({ name }) => name),
    call: async (called, { method, path, body }) => {
      const [place = '', query = ''] = path.split('?')
      if (called === 'front50') {
        if (service.stored.has(place)) return { status: 200, body: service.stored.get(place) }
        return /^\/v2\/applications\//.test(place)
          ? { status: 200, body: { name: 'shop', trafficGuards: service.guards } }
          : { status: 404, body: undefined }
      }
      if (called !== 'clouddriver') return { status: 404, body: undefined }
      if (method === 'POST' && /\/ops$/.test(place)) {
        const answer = submit(new URLSearchParams(query), body as Fields[])
        if (service.isSilent) return Promise.withResolvers<ServiceAnswer>().promise
        if (service.lost-- > 0) throw new Error('socket hang up')
        return answer
      }
      if (method === 'DELETE') {
        operations.push(['removed', { place }])
        return { status: 200, body: {} }
      }
      if (method === 'POST' && place.startsWith('/cache/')) {
        return {
          status: service.queuesRefreshes ? 202 : 200,
          body: { cachedIdentifiersByType: {} },
        }
      }
      return read(place, new URLSearchParams(query))
    },
  }
  return service
}

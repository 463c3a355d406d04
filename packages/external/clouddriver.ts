/** Infrastructure of a clouddriver elsewhere: its paths and shapes, and its ways to be late. */
import { setTimeout as sleep } from 'node:timers/promises'
import { objectList, or, type Reader, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, numberOf, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { encodeSegment, formatQuery, pathTo } from '@fairlead/base/net/encode-path.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { toAccount } from '@fairlead/model/environments/accounts.ts'
import { toGroup } from '@fairlead/model/environments/running.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import {
  type CloudTask,
  clusterReader,
  namesOwnedBy,
  placedNames,
  serverGroupReader,
  toCloudImage,
  toCloudInstance,
  toCloudJob,
  toCloudLoadBalancer,
  toCloudManifest,
  toCloudTask,
  toDrift,
  toFullName,
  toNamed,
  toNonEmpty,
  toOutput,
  toSecurityGroup,
  toStatistics,
  toTagged,
} from '@fairlead/ports/cloud-values.ts'
import type {
  ClusterPlace,
  FollowLimit,
  Infrastructure,
  JobPlace,
  ManifestCluster,
  Operations,
  OperationsOrder,
  RefreshRequest,
} from '@fairlead/ports/infrastructure.ts'
import type { CallService, ServiceCall } from '@fairlead/ports/service-call.ts'
import { senderTo } from './success.ts'

/** A task that was submitted may be unknown for so long. */
const unknownMs = 30_000
const pendingPollMs = 1000
/** Stages act on the present, not on the last state of an account that is away. */
const live = true

const toFeature = shape({ name: String, enabled: isTrue })

const toSubmitted = shape({ id: textOf })

/** A refresh that waits. */
const toPending = shape({
  details: objectOf,
  processedCount: or(numberOf, 0),
  processedTime: or(numberOf, 0),
})

/** @param steady Milliseconds on a monotonic clock */
export function createClouddriver(call: CallService, steady: () => number): Infrastructure {
  const asked = new Clouddriver(call, steady)
  const named = ({ account, region, name }: { account: string; region: string; name: string }) =>
    pathTo`/${account}/${region}/${name}`
  const found = async <T>(path: string, as: Caller, read: Reader<T>): Promise<T | undefined> => {
    const body = await asked.find(path, as)
    return body === undefined ? undefined : read(body)
  }
  const listed = async <T>(path: string, as: Caller, read: Reader<T>): Promise<T[]> =>
    objectList(read)(await asked.find(path, as))
  const list = (path: string, as: Caller) => listed(path, as, objectOf)
  const properties = async (path: string, as: Caller) => toNonEmpty(await asked.find(path, as))
  return {
    name: 'clouddriver',
    takesReferences: false,
    hasOwnInstances: false,
    versions: undefined,
    accountsAtHand: () => undefined,
    provider: () => undefined,
    secretHolders: () => [],
    submit: (operations, request, as) => asked.submit(operations, request, as),
    // It checks operations when they arrive.
    preview: async () => undefined,
    task: async (id, as) => toCloudTask(await found(pathTo`/task/${id}`, as, objectOf)),
    followTask: (id, limit, as) => asked.followTask(id, limit, as),
    // It has no address for that.
    cancelTask: async () => undefined,
    refresh: (request, as) => asked.refresh(request, as),
    operationNames: async (as) =>
      (await listed('/features/stages', as, toFeature)).flatMap(({ name, enabled }) =>
        enabled ? name : [],
      ),

    accounts: (as) => listed('/credentials', as, toAccount),
    applicationNames: async (as) =>
      (await listed('/applications?restricted=false&expand=false', as, toNamed)).flatMap(
        ({ name }) => name ?? [],
      ),
    clusterNames: async (application, as) =>
      placedNames(await asked.find(pathTo`/applications/${application}/clusters`, as)).map(
        ({ name }) => name,
      ),
    serverGroups: (application, as) =>
      listed(pathTo`/applications/${application}/serverGroups`, as, toGroup),
    loadBalancers: (application, as) =>
      listed(pathTo`/applications/${application}/loadBalancers`, as, toCloudLoadBalancer),
    serverGroup: (place, as) =>
      found(`/serverGroups${named(place)}`, as, serverGroupReader(place.account)),
    cluster: (place, as) => found(clusterPath(place), as, clusterReader(place.account)),
    target: ({ region, target, onlyEnabled, validateOldest, ...place }, as) =>
      found(
        clusterPath(place) +
          pathTo`/${region}/serverGroups/target/${target}` +
          formatQuery({ onlyEnabled, validateOldest }),
        as,
        serverGroupReader(place.account),
      ),
    async instance({ id, ...place }, as) {
      const path = `/instances${named({ ...place, name: id })}`
      const instance = await found(path, as, toCloudInstance)
      return instance && { ...instance, id }
    },
    async output({ provider, lastLines, id, ...place }, as) {
      const query = formatQuery({ provider, tail: lastLines })
      const path = `/instances${named({ ...place, name: id })}/console${query}`
      return toOutput(await asked.find(path, as)).output
    },
    // Clouddriver finds none, and keeps no offsets of the output.
    cause: async () => undefined,
    statistics: ({ provider, account, region, metric, serverGroup }, as) =>
      found(
        pathTo`/cloudMetrics/${provider}/${account}/${region}/${metric}/statistics` +
          formatQuery({ serverGroup }),
        as,
        toStatistics,
      ),
    securityGroup: ({ account, provider, region, name }, as) =>
      found(pathTo`/securityGroups/${account}/${provider}/${region}/${name}`, as, toSecurityGroup),
    async securityGroupNames(application, as) {
      const query = formatQuery({
        q: application,
        type: 'securityGroups',
        pageSize: 10_000,
        page: 1,
      })
      const sets = await list(`/search${query}`, as)
      return sets.flatMap((set) => namesOwnedBy(application, set))
    },
    async entityTags({ account, region, name }, as) {
      const query = formatQuery({ entityType: 'servergroup', entityId: name, account, region })
      return (await listed(`/tags${query}`, as, toTagged)).flatMap(({ tags }) => tags)
    },

    images({ provider, text, region, tags }, as) {
      const filters = Object.entries(tags).map(([tag, value]) => [`tag:${tag}`, value] as const)
      const query = formatQuery({ q: text, region, ...Object.fromEntries(filters) })
      return listed(pathTo`/${provider}/images/find` + query, as, toCloudImage)
    },
    image: async ({ provider, ...place }, as) =>
      objectList(toCloudImage)(
        await asked.find(pathTo`/${provider}/images` + named(place), as, [403, 404]),
      )[0],

    job: async (place, as) => toCloudJob(await asked.read(jobPath(place), as)),
    removeJob: async (place, as) =>
      void (await asked.send({ method: 'DELETE', path: jobPath(place) }, as, [404])),
    jobProperties: ({ file, ...place }, as) => properties(jobPath(place) + pathTo`/${file}`, as),
    podProperties: ({ application, provider, account, location, name, container }, as) =>
      properties(
        pathTo`/applications/${application}/${provider}/pods/${account}/${location}/${name}/${container}`,
        as,
      ),

    manifest: ({ includeEvents, ...place }, as) =>
      found(
        `/manifests${named(place)}${formatQuery({ includeEvents, live })}`,
        as,
        toCloudManifest,
      ),
    manifestsOfCluster: async (cluster, as) =>
      (await list(manifestPath(cluster) + formatQuery({ live }), as)).flatMap(
        (each) => toFullName(each, cluster.kind) ?? [],
      ),
    manifestByCriterion: async ({ criterion, ...cluster }, as) =>
      toFullName(
        await asked.find(
          manifestPath(cluster) + pathTo`/dynamic/${criterion}` + formatQuery({ live }),
          as,
        ),
        cluster.kind,
      ),
    drift: async ({ application, ...place }, as) =>
      objectList(toDrift)(
        await asked.read(
          pathTo`/applications/${application}/drift` + formatQuery({ ...place, live }),
          as,
        ),
      ),

    fetchArtifact: async (artifact, as) => (await asked.send(fetchOf(artifact), as)).body,
    fetchArtifactBytes: async (artifact, as) =>
      (await asked.send({ ...fetchOf(artifact), wantsBytes: true }, as)).body as Buffer,
  }
}

class Clouddriver {
  readonly send: ReturnType<typeof senderTo>
  readonly #steady: () => number
  /** Since when tasks are unknown that were submitted. */
  readonly #unknownSince = new Map<string, number>()

  constructor(call: CallService, steady: () => number) {
    this.send = senderTo('clouddriver', call)
    this.#steady = steady
  }

  async read(path: string, as: Caller): Promise<unknown> {
    return (await this.send({ method: 'GET', path }, as)).body
  }

  /** Undefined: there is none. */
  async find(path: string, as: Caller, absences: readonly number[] = [404]): Promise<unknown> {
    const { status, body } = await this.send({ method: 'GET', path }, as, absences)
    return status >= 400 ? undefined : body
  }

  async submit(body: Operations, { provider, id }: OperationsOrder, as: Caller): Promise<string> {
    const place = provider === undefined ? '/ops' : pathTo`/${provider}/ops`
    const path = place + formatQuery({ clientRequestId: id })
    const answer = await this.send({ method: 'POST', path, body }, as)
    const task = toSubmitted(answer.body).id
    if (task === undefined)
      throw new PortError(500, 'clouddriver accepted the operation and named no task.')
    return task
  }

  async followTask(id: string, _limit: FollowLimit, as: Caller): Promise<CloudTask | undefined> {
    const task = toCloudTask(await this.find(pathTo`/task/${id}`, as))
    if (task !== undefined) {
      this.#unknownSince.delete(id)
      return task
    }
    const now = this.#steady()
    if (now - this.#unknownSince.getOrInsert(id, now) <= unknownMs) return undefined
    this.#unknownSince.delete(id)
    throw new PortError(404, `clouddriver does not know its task ${id}.`)
  }

  /** Its cache reads again what was changed, now or soon; one that reads live state answers at once. */
  async refresh({ provider, type, details, signal }: RefreshRequest, as: Caller): Promise<void> {
    const path = pathTo`/cache/${provider}/${type}`
    const since = Date.now()
    const answers = await Promise.all(
      details.map((body) => this.send({ method: 'POST', path, body }, as, [400, 404])),
    )
    if (answers.every(({ status }) => status !== 202)) return
    const isPending = async () =>
      objectList(toPending)(await this.find(path, as, [400, 404])).some((entry) =>
        isWaiting(entry, details, since),
      )
    while (await isPending()) await sleep(pendingPollMs, undefined, { signal })
  }
}

/** Whether an entry of the pending list is one of ours that was not read since the request. */
function isWaiting(
  { details, processedCount, processedTime }: ShapeOf<typeof toPending>,
  ours: readonly JsonObject[],
  since: number,
): boolean {
  const isOurs = ours.some((each) =>
    Object.entries(each).every(
      ([key, value]) => details[key] === undefined || details[key] === value,
    ),
  )
  return isOurs && (processedCount < 1 || processedTime < since)
}

function fetchOf(artifact: JsonObject): ServiceCall {
  return { method: 'PUT', path: '/artifacts/fetch', body: artifact }
}

function clusterPath({ application, account, cluster, provider }: ClusterPlace): string {
  return pathTo`/applications/${application}/clusters/${account}/${cluster}/${provider}`
}

function jobPath({ application, account, location, name }: JobPlace): string {
  return pathTo`/applications/${application}/jobs/${account}/${location}/` + encodeSegment(name)
}

function manifestPath({ account, location, kind, application, cluster }: ManifestCluster): string {
  return pathTo`/manifests/${account}/${location}/${kind}/cluster/${application}/${cluster}`
}

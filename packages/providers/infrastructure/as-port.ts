/** The infrastructure of this process as other capabilities use it: the answers of its routes, with their rights. */

import { parseIfJson, parseJson } from '@fairlead/base/json/json.ts'
import { objectList, type Reader, shape } from '@fairlead/base/json/shape.ts'
import { objectOf, textsOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ownNames } from '@fairlead/base/services/services.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import { toAccount } from '@fairlead/model/environments/accounts.ts'
import { toGroup } from '@fairlead/model/environments/running.ts'
import { anonymous, type Caller } from '@fairlead/ports/caller.ts'
import {
  clusterReader,
  namesOwnedBy,
  placedNames,
  serverGroupReader,
  toCaused,
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
  ArtifactDigests,
  ArtifactName,
  Infrastructure,
  JobPlace,
} from '@fairlead/ports/infrastructure.ts'
import { isSlices } from '@fairlead/ports/requests/slices.ts'
import type { ArtifactAccount } from '../artifacts/account-type.ts'
import { answer } from './answer.ts'
import {
  instanceById,
  instanceCause,
  instanceOutput,
  jobById,
  jobFileByName,
  jobRemoval,
  loadBalancersOfApplication,
  propertiesOfPod,
  serverGroupByName,
  serverGroupsOfApplication,
} from './applications.ts'
import { artifactContent } from './artifacts.ts'
import { clusterByPlace, clustersByAccount, runningApplications, targetByWord } from './clusters.ts'
import { tagsOfEntities } from './entity-tags.ts'
import { archiveOf, changedPaths, gitRefs } from './git-reads.ts'
import { allAccounts, knownOperations, securityGroupByName, statisticsOfGroup } from './lookups.ts'
import {
  clusterManifests,
  driftOfApplication,
  manifestByCriteria,
  manifestByName,
} from './manifests.ts'
import { preview, submission, taskById } from './operations.ts'
import { imageById, imageSearch } from './providers.ts'
import {
  type Asked,
  type EmbeddedInfrastructure,
  type InfrastructureRoute,
  Written,
} from './route.ts'
import { searchRoute } from './search.ts'

type PortValues = Pick<Asked, 'params' | 'query' | 'body'>

const toSubmitted = shape({ id: String })
const toPreview = shape({ errors: textsOf })
const toOperation = shape({ name: String })

export function createPort(infrastructure: EmbeddedInfrastructure): Infrastructure {
  const { context, providers, tasks } = infrastructure
  const ask = async (
    route: InfrastructureRoute,
    values: PortValues,
    as: Caller,
  ): Promise<unknown> => {
    const user = as.user || anonymous
    return toValue(
      await answer(route, { ...values, as, user, asker: as.user || undefined }, infrastructure),
    )
  }
  const find = (route: InfrastructureRoute, values: PortValues, as: Caller) =>
    orAbsent(ask(route, values, as))
  const one = async <T>(read: Reader<T>, found: Promise<unknown>): Promise<T | undefined> => {
    const body = await found
    return body === undefined ? undefined : read(body)
  }
  const list = async <T>(read: Reader<T>, found: Promise<unknown>): Promise<T[]> =>
    objectList(read)(await found)
  const task = async (id: string, as: Caller) =>
    toCloudTask(await orAbsent(ask(taskById, { params: { id } }, as)))
  return {
    name: ownNames.clouddriver,
    takesReferences: true,
    hasOwnInstances: true,
    submit: async (body, { provider, id: clientRequestId }, as) =>
      toSubmitted(
        await ask(submission, { params: { provider }, query: { clientRequestId }, body }, as),
      ).id,
    preview: async (body, provider, as) =>
      toPreview(await ask(preview, { params: { provider }, body }, as)).errors,
    task,
    async followTask(id, limit, as) {
      const before = await task(id, as)
      if (before === undefined) throw new PortError(404, `There is no task ${id}.`)
      if (before.status.completed) return before
      await tasks.whenOver(id, limit)
      return task(id, as)
    },
    async cancelTask(id, as) {
      if ((await task(id, as)) !== undefined) tasks.cancel(id)
    },
    // Reads are always current.
    refresh: async () => undefined,
    operationNames: async (as) =>
      (await list(toOperation, find(knownOperations, {}, as))).map(({ name }) => name),

    accounts: (as) => list(toAccount, find(allAccounts, {}, as)),
    applicationNames: async (as) => {
      const query = { restricted: 'false' }
      return (await list(toNamed, find(runningApplications, { query }, as))).flatMap(
        ({ name }) => name ?? [],
      )
    },
    clusterNames: async (application, as) =>
      placedNames(await find(clustersByAccount, { params: { application } }, as)).map(
        ({ name }) => name,
      ),
    serverGroups: (application, as) =>
      list(toGroup, find(serverGroupsOfApplication, { params: { application } }, as)),
    loadBalancers: (application, as) =>
      list(toCloudLoadBalancer, find(loadBalancersOfApplication, { params: { application } }, as)),
    serverGroup: (params, as) =>
      one(serverGroupReader(params.account), find(serverGroupByName, { params }, as)),
    cluster: (params, as) =>
      one(clusterReader(params.account), find(clusterByPlace, { params }, as)),
    target: ({ region: scope, onlyEnabled, validateOldest, ...place }, as) =>
      one(
        serverGroupReader(place.account),
        find(
          targetByWord,
          { params: { ...place, scope }, query: { onlyEnabled, validateOldest } },
          as,
        ),
      ),
    async instance(params, as) {
      const instance = await one(toCloudInstance, find(instanceById, { params }, as))
      return instance && { ...instance, id: params.id }
    },
    output: async ({ provider, lastLines: tail, ...params }, as) =>
      toOutput(await find(instanceOutput, { params, query: { provider, tail } }, as)).output,
    cause: async (params, as) => (await one(toCaused, find(instanceCause, { params }, as)))?.cause,
    statistics: ({ serverGroup, ...params }, as) =>
      one(toStatistics, find(statisticsOfGroup, { params, query: { serverGroup } }, as)),
    securityGroup: (params, as) => one(toSecurityGroup, find(securityGroupByName, { params }, as)),
    async securityGroupNames(application, as) {
      const query = { q: application, type: 'securityGroups' }
      const sets = await list(objectOf, ask(searchRoute, { query }, as))
      return sets.flatMap((set) => namesOwnedBy(application, set))
    },
    async entityTags({ account, region, name: entityId }, as) {
      const query = { entityType: 'servergroup', entityId, account, region }
      const entities = await list(toTagged, find(tagsOfEntities, { query }, as))
      return entities.flatMap(({ tags }) => tags)
    },

    images({ provider, text: q, region, tags }, as) {
      const filters = Object.entries(tags).map(([tag, value]) => [`tag:${tag}`, value] as const)
      const query = { q, region, ...Object.fromEntries(filters) }
      return list(toCloudImage, find(imageSearch, { params: { provider }, query }, as))
    },
    async image({ provider, account, region, name: id }, as) {
      const asked = ask(imageById, { params: { provider, account, region, id } }, as)
      return (await list(toCloudImage, orAbsent(asked, 403, 404)))[0]
    },

    job: async (place, as) => toCloudJob(await ask(jobById, { params: jobParams(place) }, as)),
    removeJob: async (place, as) =>
      void (await orAbsent(ask(jobRemoval, { params: jobParams(place) }, as))),
    jobProperties: async ({ file: fileName, ...place }, as) =>
      toNonEmpty(await find(jobFileByName, { params: { ...jobParams(place), fileName } }, as)),
    podProperties: async ({ name: pod, ...place }, as) =>
      toNonEmpty(await find(propertiesOfPod, { params: { ...place, pod } }, as)),

    manifest: ({ region: location, includeEvents, includeCollected, ...place }, as) =>
      one(
        toCloudManifest,
        find(
          manifestByName,
          { params: { ...place, location }, query: { includeEvents, includeCollected } },
          as,
        ),
      ),
    manifestsOfCluster: async (params, as) =>
      (await list(objectOf, find(clusterManifests, { params }, as))).flatMap(
        (each) => toFullName(each, params.kind) ?? [],
      ),
    manifestByCriterion: async ({ criterion: criteria, ...cluster }, as) =>
      toFullName(
        await find(manifestByCriteria, { params: { ...cluster, criteria } }, as),
        cluster.kind,
      ),
    drift: ({ application, ...query }, as) =>
      list(toDrift, ask(driftOfApplication, { params: { application }, query }, as)),

    async fetchArtifact(body, as) {
      const text = String(await ask(artifactContent, { body }, as))
      return text === '' ? undefined : (parseIfJson(text) ?? text)
    },
    fetchArtifactBytes: async (body, as) => (await ask(artifactContent, { body }, as)) as Buffer,
    accountsAtHand: () =>
      providers.flatMap(({ accounts }) =>
        accounts.map(({ name, details }) => toAccount({ ...details, name })),
      ),
    provider: (id) => providers.find((provider) => provider.id === id),
    secretHolders: () => providers.flatMap((provider) => provider.secretHolders?.() ?? []),
    versions: {
      hasAccount: ({ account, type }) =>
        infrastructure.artifactAccounts.some(
          ({ name, types }) => name === account && types.includes(type),
        ),
      versions: async (artifact) => versionsOfArtifact(artifact, infrastructure),
      digests: async (artifact, versions) => digestsOfArtifact(artifact, versions, infrastructure),
      gitRefs: async (repository, known) => gitRefs(repository, known, context),
      archive: async (repository, revision) => archiveOf(repository, revision, context),
      changedPaths: async (repository, push) => changedPaths(repository, push, context),
    },
  }
}

function jobParams({ name: id, ...place }: JobPlace) {
  return { ...place, id }
}

function toValue(body: unknown): unknown {
  if (body instanceof Written) return parseJson(body.json)
  return isSlices(body)
    ? parseJson([...Iterator.from(body)].map(({ text }) => text).join(''))
    : body
}

async function orAbsent<T>(found: Promise<T>, ...statuses: number[]): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (
      error instanceof PortError &&
      (statuses.length === 0 ? [404] : statuses).includes(error.status)
    )
      return undefined
    throw error
  }
}

async function versionsOfArtifact(
  wanted: ArtifactName,
  infrastructure: EmbeddedInfrastructure,
): Promise<readonly string[]> {
  const account = accountOf(wanted, infrastructure)
  if (account.versions === undefined)
    throw new PortError(
      400,
      `The artifact account "${account.name}" lists no versions of ${wanted.type}: nothing can be polled.`,
    )
  return account.versions(wanted.name, undefined)
}

async function digestsOfArtifact(
  wanted: ArtifactName,
  versions: readonly string[],
  infrastructure: EmbeddedInfrastructure,
): Promise<ArtifactDigests> {
  const account = accountOf(wanted, infrastructure)
  const entries = await callInTurns([...versions], async (version): Promise<[string, string][]> => {
    const digest = await account.digestOf?.(wanted.name, version)
    return digest === undefined ? [] : [[version, digest]]
  })
  return { host: account.host, digests: new Map(entries.flat()) }
}

/** @throws {PortError} 400 naming the accounts */
function accountOf(
  { account: name, type }: ArtifactName,
  { artifactAccounts }: EmbeddedInfrastructure,
): ArtifactAccount {
  const able = artifactAccounts.filter(({ types }) => types.includes(type))
  const account = able.find((each) => each.name === name)
  if (account !== undefined) return account
  const choice =
    able.length === 0 ? 'there is none' : `there are ${able.map((each) => each.name).join(', ')}`
  throw new PortError(
    400,
    `The account "${name}" of the trigger is no artifact account for ${type}: ${choice}.`,
  )
}

/** The infrastructure of this process as other capabilities use it: the answers of its routes, with their rights. */

import { parseIfJson, parseJson } from '@fairlead/base/json/json.ts'
import {
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ownNames } from '@fairlead/base/services/services.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import { anonymous, type Caller } from '@fairlead/ports/caller.ts'
import {
  namesOwnedBy,
  outputTexts,
  toCloudImage,
  toCloudInstance,
  toCloudJob,
  toCloudManifest,
  toCloudServerGroup,
  toCloudTask,
  toDrift,
  toEntityTag,
  toFullName,
  toNonEmpty,
} from '@fairlead/ports/cloud-values.ts'
import type {
  ArtifactDigests,
  ArtifactName,
  Infrastructure as InfrastructurePort,
  JobPlace,
} from '@fairlead/ports/infrastructure.ts'
import { isSlices } from '@fairlead/ports/requests/slices.ts'
import type { ArtifactAccount } from '../artifacts/account-type.ts'
import { answer } from './answer.ts'
import {
  instanceById,
  instanceOutput,
  jobById,
  jobFileByName,
  jobRemoval,
  propertiesOfPod,
  serverGroupByName,
  serverGroupsOfApplication,
} from './applications.ts'
import { artifactContent } from './artifacts.ts'
import { clusterByPlace, clustersByAccount, runningApplications, targetByWord } from './clusters.ts'
import { tagsOfEntities } from './entity-tags.ts'
import { changedPaths, gitRefs } from './git-reads.ts'
import { allAccounts, knownOperations, securityGroupByName, statisticsOfGroup } from './lookups.ts'
import {
  clusterManifests,
  driftOfApplication,
  manifestByCriteria,
  manifestByName,
} from './manifests.ts'
import { preview, submission, taskById } from './operations.ts'
import { imageById, imageSearch } from './providers.ts'
import { type Asked, type Infrastructure, type InfrastructureRoute, Written } from './route.ts'
import { searchRoute } from './search.ts'

type Values = Pick<Asked, 'params' | 'query' | 'body'>

export function createPort(infrastructure: Infrastructure): InfrastructurePort {
  const { context, providers, tasks } = infrastructure
  const ask = async (route: InfrastructureRoute, values: Values, as: Caller): Promise<unknown> => {
    const user = as.user || anonymous
    return toValue(
      await answer(route, { ...values, as, user, asker: as.user || undefined }, infrastructure),
    )
  }
  const find = async (
    route: InfrastructureRoute,
    values: Values,
    as: Caller,
  ): Promise<JsonObject | undefined> => {
    const body = await orAbsent(ask(route, values, as))
    return body === undefined ? undefined : objectOf(body)
  }
  const list = async (
    route: InfrastructureRoute,
    values: Values,
    as: Caller,
  ): Promise<JsonObject[]> => objectsOf(await orAbsent(ask(route, values, as)))
  const task = async (id: string, as: Caller) =>
    toCloudTask(await orAbsent(ask(taskById, { params: { id } }, as)))
  return {
    name: ownNames.clouddriver,
    takesReferences: true,
    hasOwnInstances: true,
    submit: async (body, { provider, id: clientRequestId }, as) =>
      String(
        objectOf(
          await ask(submission, { params: { provider }, query: { clientRequestId }, body }, as),
        )['id'],
      ),
    preview: async (body, provider, as) =>
      textsOf(objectOf(await ask(preview, { params: { provider }, body }, as))['errors']),
    task,
    async followTask(id, limit, as) {
      const before = await task(id, as)
      if (before === undefined) throw new PortError(404, `There is no task ${id}.`)
      if (before.status.completed) return before
      await tasks.whenOver(id, limit)
      return task(id, as)
    },
    // Reads are always current.
    refresh: async () => undefined,
    operationNames: async (as) =>
      (await list(knownOperations, {}, as)).map(({ name }) => String(name)),

    accounts: (as) => list(allAccounts, {}, as),
    applications: (as) => list(runningApplications, { query: { restricted: 'false' } }, as),
    clusterNames: async (application, as) =>
      Object.values((await find(clustersByAccount, { params: { application } }, as)) ?? {}).flatMap(
        (names) => textsOf(listOf(names)),
      ),
    serverGroups: (application, as) =>
      list(serverGroupsOfApplication, { params: { application } }, as),
    async serverGroup(params, as) {
      const group = await find(serverGroupByName, { params }, as)
      return group && toCloudServerGroup(group, params.account)
    },
    async cluster(params, as) {
      const cluster = await find(clusterByPlace, { params }, as)
      return (
        cluster &&
        objectsOf(cluster['serverGroups']).map((each) => toCloudServerGroup(each, params.account))
      )
    },
    async target({ region: scope, onlyEnabled, validateOldest, ...place }, as) {
      const group = await find(
        targetByWord,
        { params: { ...place, scope }, query: { onlyEnabled, validateOldest } },
        as,
      )
      return group && toCloudServerGroup(group, place.account)
    },
    async instance(params, as) {
      const instance = await find(instanceById, { params }, as)
      return instance && { ...toCloudInstance(instance), id: params.id }
    },
    async output({ provider, lastLines: tail, ...params }, as) {
      const output = (await find(instanceOutput, { params, query: { provider, tail } }, as))?.[
        'output'
      ]
      return outputTexts(output)
    },
    statistics: ({ serverGroup, ...params }, as) =>
      find(statisticsOfGroup, { params, query: { serverGroup } }, as),
    async securityGroup(params, as) {
      const group = await find(securityGroupByName, { params }, as)
      return group && { hasRules: listOf(group['inboundRules']).length > 0 }
    },
    async securityGroupNames(application, as) {
      const query = { q: application, type: 'securityGroups' }
      const hits = objectsOf(objectsOf(await ask(searchRoute, { query }, as))[0]?.['results'])
      return namesOwnedBy(application, hits)
    },
    async entityTags({ account, region, name: entityId }, as) {
      const entities = await list(
        tagsOfEntities,
        { query: { entityType: 'servergroup', entityId, account, region } },
        as,
      )
      return entities.flatMap(({ tags }) => objectsOf(tags).map(toEntityTag))
    },

    async images({ provider, text: q, region, tags }, as) {
      const filters = Object.entries(tags).map(([tag, value]) => [`tag:${tag}`, value] as const)
      const query = { q, region, ...Object.fromEntries(filters) }
      return (await list(imageSearch, { params: { provider }, query }, as)).map(toCloudImage)
    },
    image: async ({ provider, account, region, name: id }, as) =>
      objectsOf(
        await orAbsent(ask(imageById, { params: { provider, account, region, id } }, as), 403, 404),
      ).map(toCloudImage)[0],

    job: async (place, as) => toCloudJob(await ask(jobById, { params: jobParams(place) }, as)),
    removeJob: async (place, as) =>
      void (await orAbsent(ask(jobRemoval, { params: jobParams(place) }, as))),
    jobProperties: async ({ file: fileName, ...place }, as) =>
      toNonEmpty(await find(jobFileByName, { params: { ...jobParams(place), fileName } }, as)),
    podProperties: async ({ name: pod, ...place }, as) =>
      toNonEmpty(await find(propertiesOfPod, { params: { ...place, pod } }, as)),

    async manifest({ region: location, includeEvents, ...place }, as) {
      const manifest = await find(
        manifestByName,
        { params: { ...place, location }, query: { includeEvents } },
        as,
      )
      return manifest && toCloudManifest(manifest)
    },
    manifestsOfCluster: async (params, as) =>
      (await list(clusterManifests, { params }, as)).flatMap(
        (each) => toFullName(each, params.kind) ?? [],
      ),
    manifestByCriterion: async ({ criterion: criteria, ...cluster }, as) =>
      toFullName(
        await find(manifestByCriteria, { params: { ...cluster, criteria } }, as),
        cluster.kind,
      ),
    drift: async ({ application, ...query }, as) =>
      objectsOf(await ask(driftOfApplication, { params: { application }, query }, as)).map(toDrift),

    async fetchArtifact(body, as) {
      const text = String(await ask(artifactContent, { body }, as))
      return text === '' ? undefined : (parseIfJson(text) ?? text)
    },
    fetchArtifactBytes: async (body, as) => (await ask(artifactContent, { body }, as)) as Buffer,
    accountsAtHand: () =>
      providers.flatMap(({ accounts }) =>
        accounts.map(({ name, details }) => ({ ...details, name })),
      ),
    provider: (id) => providers.find((provider) => provider.id === id),
    secretHolders: () => providers.flatMap((provider) => provider.secretHolders?.() ?? []),
    versions: {
      versions: async (artifact) => versionsOfArtifact(artifact, infrastructure),
      digests: async (artifact, versions) => digestsOfArtifact(artifact, versions, infrastructure),
      gitRefs: async (repository, known) => gitRefs(repository, known, context),
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
  infrastructure: Infrastructure,
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
  infrastructure: Infrastructure,
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
  { artifactAccounts }: Infrastructure,
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

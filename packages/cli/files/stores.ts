/** How definitions of each kind are read, saved and deleted at an instance, by operations that Spinnaker's Gate has, too. */
import { randomUUID } from 'node:crypto'
import {
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import type { FileKind } from '@fairlead/model/definition-files/file-kinds.ts'
import type { Client } from '../client.ts'
import { exitCodes, Failure } from '../failure.ts'
import { pathOf } from '../path-of.ts'
import { followTask, runTask } from './task.ts'

interface SaveOrder {
  readonly application: string
  readonly name: string
  /** Has ids in place of names. */
  readonly document: JsonObject
  /** What the plan has read; undefined: it is created. */
  readonly stored: JsonObject | undefined
  /** Id of what is created. */
  readonly id: string
}

interface Store {
  /** All of an application; all of the instance where they belong to none. @throws {Failure} */
  list(client: Client, application: string): Promise<JsonObject[]>
  /** @returns the id, where the instance has chosen one. @throws {Failure} */
  save(client: Client, order: SaveOrder): Promise<string | undefined>
  /** Where a prune may delete it. @throws {Failure} */
  readonly remove?: (client: Client, application: string, stored: JsonObject) => Promise<void>
}

/** Attribute of an application: ids of what `apply` has created, by kind. */
export const markField = 'appliedFromFiles'

const attributesOf = async (client: Client, application: string): Promise<JsonObject[]> => {
  const found = await orNothing(
    client.get<JsonObject>(pathOf`/applications/${application}`, { query: { expand: false } }),
  )
  return found === undefined ? [] : [{ name: application, ...objectOf(found['attributes']) }]
}

const documentsAt =
  (path: (application: string) => string, query: JsonObject = {}) =>
  async (client: Client, application: string): Promise<JsonObject[]> =>
    objectsOf(
      await orNothing(client.get(path(application), { query: query as Record<string, string> })),
    )

const canaryPath = '/v2/canaryConfig'

export const stores: Readonly<Record<FileKind, Store>> = {
  application: {
    list: attributesOf,
    save: async (client, { application, document, stored }) => {
      const type = stored === undefined ? 'createApplication' : 'updateApplication'
      await changeApplication(client, application, type, document)
    },
  },
  environments: {
    list: async (client, application) =>
      (await attributesOf(client, application)).flatMap(({ environments }) =>
        environments == null ? [] : [{ application, environments }],
      ),
    save: async (client, { application, document }) =>
      changeApplication(client, application, 'updateApplication', {
        environments: document['environments'],
      }),
  },
  'load-balancer': {
    list: async (client, application) => {
      const list = documentsAt((name) => pathOf`/applications/${name}/loadBalancers`)
      // Others are made of manifests, or have more than their reading shows.
      const whole = (await list(client, application)).filter(
        ({ listeners, healthCheck }) =>
          Array.isArray(listeners) && textOf(objectOf(healthCheck)['target']) !== undefined,
      )
      return whole.map((balancer) => toBalancerJob(application, balancer))
    },
    save: async (client, { application, name, document }) => {
      const { application: _owner, account, ...fields } = document
      await runTask(client, application, `Apply load balancer ${name}`, {
        type: 'upsertLoadBalancer',
        ...fields,
        account,
        credentials: account,
        loadBalancerName: name,
      })
      return idOf('load-balancer', document)
    },
    remove: async (client, application, { account, region, name, cloudProvider }) =>
      runTask(client, application, `Delete load balancer ${name}`, {
        type: 'deleteLoadBalancer',
        cloudProvider,
        credentials: account,
        account,
        regions: [region],
        region,
        loadBalancerName: name,
        name,
      }),
  },
  project: {
    list: documentsAt(() => '/projects'),
    save: async (client, { name, document, stored }) => {
      const project = { ...document, ...(stored !== undefined && { id: stored['id'] }) }
      await runTask(client, 'spinnaker', `Apply project ${name}`, {
        type: 'upsertProject',
        project,
      })
      return undefined
    },
  },
  template: {
    // The list also has copies under tags and digests.
    list: async (client, application) =>
      (await documentsAt(() => '/v2/pipelineTemplates')(client, application)).filter(
        ({ tag, digest }) => tag == null && digest == null,
      ),
    save: async (client, { name, document, stored }) => {
      const path =
        stored === undefined
          ? '/v2/pipelineTemplates/create'
          : pathOf`/v2/pipelineTemplates/update/${name}`
      await followTask(client, await client.post(path, document))
      return undefined
    },
  },
  'canary-configuration': {
    list: async (client, application) => {
      const listed = await documentsAt(() => canaryPath, { application })(client, application)
      return Promise.all(
        listed.map(({ id }) => client.get<JsonObject>(pathOf`/v2/canaryConfig/${String(id)}`)),
      )
    },
    save: async (client, { document, stored }) => {
      const answer =
        stored === undefined
          ? await client.post(canaryPath, document)
          : await client.put(pathOf`/v2/canaryConfig/${String(stored['id'])}`, document)
      return isObject(answer) ? textOf(answer['canaryConfigId']) : undefined
    },
    remove: async (client, _application, { id }) =>
      void (await client.delete(pathOf`/v2/canaryConfig/${String(id)}`)),
  },
  strategy: {
    list: documentsAt((name) => pathOf`/applications/${name}/strategyConfigs`),
    save: async (client, order) => {
      await client.post('/strategies', { ...toStored(order), strategy: true })
      return order.id
    },
    remove: async (client, application, { name }) =>
      void (await client.delete(pathOf`/strategies/${application}/${String(name)}`)),
  },
  pipeline: {
    list: documentsAt((name) => pathOf`/applications/${name}/pipelineConfigs`),
    save: async (client, order) => {
      await client.post('/pipelines', toStored(order), { query: { staleCheck: true } })
      return order.id
    },
    remove: async (client, application, { name }) =>
      void (await client.delete(pathOf`/pipelines/${application}/${String(name)}`)),
  },
}

/** Attributes that are not named stay. */
export async function changeApplication(
  client: Client,
  application: string,
  type: 'createApplication' | 'updateApplication',
  attributes: JsonObject,
): Promise<undefined> {
  await runTask(client, application, `Apply application ${application}`, {
    type,
    application: { ...attributes, name: application },
  })
}

/** Id by which a definition is referred to, and marked as made by `apply`. */
export function idOf(kind: FileKind, { id, account, region, name }: JsonObject): string {
  return kind === 'load-balancer' ? `${account}/${region}/${name}` : String(id ?? name)
}

/** A pipeline or strategy under the identity that is stored; cron triggers keep their ids. */
function toStored({ application, name, document, stored, id }: SaveOrder): JsonObject {
  const known = objectsOf(stored?.['triggers']).filter(({ type }) => type === 'cron')
  const triggers = listOf(document['triggers']).map((trigger) => {
    if (!isObject(trigger) || trigger['type'] !== 'cron' || trigger['id'] !== undefined)
      return trigger
    return { ...trigger, id: known.shift()?.['id'] ?? randomUUID() }
  })
  return {
    ...document,
    application: stored?.['application'] ?? application,
    name,
    id: stored?.['id'] ?? id,
    triggers,
    ...(stored?.['index'] !== undefined && { index: stored['index'] }),
    ...(stored?.['updateTs'] !== undefined && { updateTs: stored['updateTs'] }),
  }
}

/** The fields of the job that makes a load balancer as it is. */
function toBalancerJob(application: string, balancer: JsonObject): JsonObject {
  const { account, region, name, listeners, healthCheck, isInternal, securityGroups } = balancer
  const { cloudProvider } = balancer
  const { target, interval, timeout, ...thresholds } = objectOf(healthCheck)
  return {
    application,
    cloudProvider,
    account,
    region,
    name,
    listeners: objectsOf(listeners).map(({ host: _made, ...listener }) => listener),
    healthCheck: target,
    healthInterval: interval,
    healthTimeout: timeout,
    ...thresholds,
    isInternal,
    securityGroups: textsOf(securityGroups),
  }
}

/** Undefined for what does not exist. */
async function orNothing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Failure && error.exit === exitCodes.misuse) return undefined
    throw error
  }
}

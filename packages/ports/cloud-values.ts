/** Tasks, server groups and instances of any provider, read from the form in which clients have them. */
import { isObject, isTrue, type JsonObject, numberOf, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'

/** Bytes of entity tags as JSON: of one entity, whose reads return all, and of a submission for several. */
export const maxTagBytes = { entity: 256 * 1024, bulk: 512 * 1024 } as const

export interface CloudTask {
  readonly id: string
  readonly isOver: boolean
  readonly hasFailed: boolean
  /** Phase and status of the moment. */
  readonly status: JsonObject
  readonly history: readonly JsonObject[]
  readonly results: readonly JsonObject[]
  readonly outputs: unknown
}

export interface CloudCapacity {
  readonly min: number
  readonly max: number
  readonly desired: number
}

export interface CloudInstance {
  readonly id: string
  readonly healthState: string
  readonly launchTime: number
  /** Its name; full forms alone tell it. */
  readonly serverGroup: string | undefined
  readonly health: readonly JsonObject[]
}

export interface CloudServerGroup {
  readonly name: string
  readonly account: string
  readonly region: string
  readonly isDisabled: boolean
  readonly createdTime: number
  readonly capacity: CloudCapacity
  readonly instances: readonly CloudInstance[]
  readonly image: JsonObject
  readonly buildInfo: unknown
  /** As clients have it. */
  readonly all: JsonObject
}

/** Undefined: there is none. */
export function toCloudTask(view: unknown): CloudTask | undefined {
  if (!isObject(view)) return undefined
  const { id, history, resultObjects, outputs } = view
  const status = objectOf(view['status'])
  const [isOver, hasFailed] = [isTrue(status['completed']), isTrue(status['failed'])]
  return { id: String(id), isOver, hasFailed, status, history: objectsOf(history), results: objectsOf(resultObjects), outputs }
}

export function toCloudServerGroup(all: JsonObject, account: string): CloudServerGroup {
  const { capacity, launchConfig } = all
  return {
    name: textOf(all['name']) ?? '',
    account: textOf(all['account']) ?? textOf(all['accountName']) ?? account,
    region: textOf(all['region']) ?? '',
    isDisabled: isTrue(all['isDisabled']) || isTrue(all['disabled']),
    createdTime: numberOf(all['createdTime']) ?? 0,
    capacity: toBoundedCapacity(objectOf(capacity)),
    instances: objectsOf(all['instances']).map(toCloudInstance),
    image: { ...objectOf(launchConfig), ...objectOf(all['image']) },
    buildInfo: all['buildInfo'],
    all,
  }
}

export function toCapacity({ min, max, desired }: JsonObject): CloudCapacity {
  return { min: numberOf(min) ?? 0, max: numberOf(max) ?? 0, desired: numberOf(desired) ?? 0 }
}

/** Providers without bounds report the desired number alone. */
function toBoundedCapacity({ min, max, desired }: JsonObject): CloudCapacity {
  return toCapacity({ min: min ?? desired, max: max ?? desired, desired })
}

export function toCloudInstance(instance: JsonObject): CloudInstance {
  return {
    id: textOf(instance['id']) ?? textOf(instance['name']) ?? '',
    healthState: textOf(instance['healthState']) ?? 'Unknown',
    launchTime: numberOf(instance['launchTime']) ?? 0,
    serverGroup: textOf(instance['serverGroup']),
    health: objectsOf(instance['health']),
  }
}

/** Names of the account in a description: one of three synonyms. */
const accountFields = ['credentials', 'account', 'accountName'] as const

export function accountOf(description: JsonObject): string | undefined {
  return accountFields.map((name) => textOf(description[name])).find((name) => name !== undefined)
}

/** Output of an instance: one text, or one for each container. */
export function outputTexts(output: unknown): string[] {
  return typeof output === 'string' ? [output] : objectsOf(output).map((part) => String(part['output']))
}

/** Names of the found resources that belong to an application. */
export function namesOwnedBy(application: string, hits: readonly JsonObject[]): string[] {
  const own = hits.filter((hit) => String(hit['application'] ?? '').toLowerCase() === application.toLowerCase())
  return own.map((hit) => String(hit['name'] ?? hit['id']))
}

export function toNonEmpty(properties: unknown): JsonObject | undefined {
  return isObject(properties) && Object.keys(properties).length > 0 ? properties : undefined
}

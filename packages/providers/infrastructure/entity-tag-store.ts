/** Entity tags: what users and deployments note on server groups, clusters and other entities. */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import {
  isObject,
  isTrue,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { maxTagBytes } from '@fairlead/ports/cloud-values.ts'
import type { OperationRun, OperationType, OperationTypes } from './operation-type.ts'

export const entityTagMigrations = [
  `CREATE TABLE infrastructure_entity_tags (
     id TEXT PRIMARY KEY,
     document TEXT NOT NULL
   ) STRICT;`,
] as const

const maxBulk = 1000
/** Limit for one entity: each read of its tags returns all. */
const maxTags = 1000
/** Each list reads all, and other requests wait meanwhile. */
const maxAllBytes = 8 * 1024 * 1024

/** Applications of a name of a cloud provider's resource; without a provider, the name is looked up at each. */
type FindApplications = (
  provider: string | undefined,
  name: string,
  type: string,
) => readonly string[]

export class EntityTagStore {
  readonly #statements: Record<'all' | 'get' | 'put' | 'size' | 'remove', StatementSync>
  readonly #now: () => number
  readonly #findApplications: FindApplications

  constructor(db: DatabaseSync, now: () => number, findApplications: FindApplications) {
    this.#now = now
    this.#findApplications = findApplications
    this.#statements = {
      all: db.prepare('SELECT document FROM infrastructure_entity_tags ORDER BY id'),
      get: db.prepare('SELECT document FROM infrastructure_entity_tags WHERE id = ?'),
      put: db.prepare('INSERT OR REPLACE INTO infrastructure_entity_tags VALUES (?, ?)'),
      size: db.prepare(
        'SELECT total(octet_length(document)) AS bytes FROM infrastructure_entity_tags WHERE id <> ?',
      ),
      remove: db.prepare('DELETE FROM infrastructure_entity_tags WHERE id = ?'),
    }
  }

  readonly operations: OperationTypes = {
    upsertEntityTags: {
      check: (description) => this.#check(description),
      ...this.#ownersOf((description) => [description]),
      run: async (description, run) => {
        run.commit(() => run.note(`The entity tags ${this.#upsert(description, run)} are stored.`))
      },
    },
    bulkUpsertEntityTags: {
      check: ({ entityTags }) =>
        checkBulk(entityTags) ?? objectsOf(entityTags).flatMap((each) => this.#check(each)),
      ...this.#ownersOf(({ entityTags }) => objectsOf(entityTags)),
      run: async ({ entityTags, isPartial }, run) => {
        run.commit(() => {
          for (const one of objectsOf(entityTags)) this.#upsert({ isPartial, ...one }, run)
          run.note(`${objectsOf(entityTags).length} entity tags are stored.`)
        })
      },
    },
    deleteEntityTags: {
      check: ({ id }) => (textOf(id) === undefined ? ['id: it is missing.'] : []),
      ...this.#ownersOf(({ id }) => this.#stored(textOf(id))),
      run: async ({ id, tags, deleteAll }, run) => {
        const names = new Set(textsOf(tags).map((name) => name.toLowerCase()))
        run.commit(() => run.note(this.#delete(String(id), isTrue(deleteAll) ? undefined : names)))
      },
    },
  }

  all(): JsonObject[] {
    return this.#statements.all.all().map(toTags)
  }

  get(id: string): JsonObject | undefined {
    return this.#stored(id)[0]
  }

  #stored(id = ''): JsonObject[] {
    return this.#statements.get.all(id.toLowerCase()).map(toTags)
  }

  /** The application that the reference names, and that of the entity itself: each of them decides who reads and writes the tags. */
  applicationsOf({ entityRef }: JsonObject): string[] {
    const { application, cloudProvider, entityType, entityId } = objectOf(entityRef)
    const [named, id] = [textOf(application), textOf(entityId) ?? '']
    const type = String(entityType).toLowerCase()
    const found =
      named === undefined || namedEntities.has(type)
        ? this.#findApplications(textOf(cloudProvider), id, type)
        : []
    const all = [...(named === undefined ? [] : [named]), ...found]
    return all.length === 0 ? [id] : all
  }

  /** Owners of what was sent about entities, and of what is stored under their ids: a reference may name any application and account. */
  #ownersOf(
    entitiesIn: (description: JsonObject) => readonly JsonObject[],
  ): Pick<OperationType, 'applications' | 'accounts'> {
    const versionsIn = (description: JsonObject) =>
      entitiesIn(description).flatMap((entity) => [entity, ...this.#stored(idOf(entity))])
    return {
      applications: (description) =>
        versionsIn(description).flatMap((tags) => this.applicationsOf(tags)),
      accounts: (description) => versionsIn(description).flatMap(accountsOfEntity),
    }
  }

  /** The id of one entity is not for another one to take, whose owners would then decide about its tags. */
  #check(description: JsonObject): string[] {
    const [given, own] = [
      textOf(description['id'])?.toLowerCase(),
      idOf({ ...description, id: undefined }),
    ]
    const isTaken = given?.includes(':') && given !== own && this.#stored(given).length === 0
    return [
      ...(isTaken
        ? [`id: it is that of another entity than entityRef names. Send ${own}, or none.`]
        : []),
      ...checkTags(description),
    ]
  }

  #upsert(description: JsonObject, { user }: OperationRun): string {
    const id = idOf(description)
    const merged = mergeTags(this.get(id), { ...description, id }, { user, nowMs: this.#now() })
    const { length } = objectsOf(merged['tags'])
    if (length > maxTags) {
      throw new Error(
        `The entity ${id} would have ${length} tags; ${maxTags} are allowed. Delete some, and submit these again.`,
      )
    }
    const document = formatJson(merged)
    checkSize(id, Buffer.byteLength(document), Number(this.#statements.size.get(id)?.['bytes']))
    this.#statements.put.run(id, document)
    return id
  }

  /** @param names Undefined: all of them @returns what was done */
  #delete(id: string, names: ReadonlySet<string> | undefined): string {
    const stored = this.get(id)
    if (stored === undefined) return `There are no entity tags ${id}.`
    const kept = names === undefined ? [] : withoutTags(stored, names)
    if (kept.length === 0) this.#statements.remove.run(String(stored['id']))
    else this.#statements.put.run(String(stored['id']), formatJson({ ...stored, tags: kept }))
    return `The entity tags ${id} are deleted.`
  }
}

function toTags(row: Record<string, unknown>): JsonObject {
  return parseJson(String(row['document'])) as JsonObject
}

function checkBulk(entityTags: unknown): string[] | undefined {
  const { length } = objectsOf(entityTags)
  if (length === 0) return ['entityTags: it is missing or empty.']
  return length > maxBulk
    ? [`entityTags: it has ${length} entries; ${maxBulk} are allowed.`]
    : undefined
}

/** @param others Bytes of the tags of all other entities. @throws {Error} */
function checkSize(id: string, bytes: number, others: number): void {
  if (bytes > maxTagBytes.entity) {
    throw new Error(
      `The tags of the entity ${id} would have ${bytes} bytes; ${maxTagBytes.entity} are allowed. Shorten or delete some.`,
    )
  }
  if (bytes + others > maxAllBytes) {
    throw new Error(
      `The tags of all entities would have more than ${maxAllBytes} bytes. Delete those of entities that are gone.`,
    )
  }
}

function withoutTags(stored: JsonObject, removed: ReadonlySet<string>): JsonObject[] {
  return objectsOf(stored['tags']).filter(({ name }) => !removed.has(String(name)))
}

function checkTags(description: JsonObject): string[] {
  const { entityRef, tags } = description
  if (!isObject(entityRef)) return ['entityRef: it is missing.']
  const listed = objectsOf(tags)
  return [
    !/^[a-z]+$/i.test(String(entityRef['entityType'])) &&
      'entityRef.entityType: it must be a word, such as servergroup.',
    /:/.test(String(entityRef['cloudProvider'])) &&
      'entityRef.cloudProvider: it may not have a colon.',
    textOf(entityRef['entityId']) === undefined && 'entityRef.entityId: it is missing.',
    listed.length === 0 && 'tags: it is missing or empty.',
    listed.length > maxTags && `tags: it has ${listed.length} entries; ${maxTags} are allowed.`,
    ...listed.map((tag) => textOf(tag['name']) === undefined && 'tags: a tag has no name.'),
  ].filter((problem) => problem !== false)
}

/** Their providers may know to which application their ids belong. */
const namedEntities: ReadonlySet<string> = new Set([
  'application',
  'cluster',
  'servergroup',
  'loadbalancer',
  'securitygroup',
  'instance',
])

/** Where the entity is; an account is named, or has an id of its own. */
export function accountsOfEntity({ entityRef }: JsonObject): string[] {
  const { account, accountId } = objectOf(entityRef)
  const named = textOf(account) ?? textOf(accountId)
  return named === undefined || named === '*' ? [] : [named]
}

/** `provider:entityType:entityId:accountId:region`, missing parts `*`. */
function idOf(description: JsonObject): string {
  const reference = objectOf(description['entityRef'])
  const given = textOf(description['id'])
  if (given !== undefined) return given.toLowerCase()
  const account = textOf(reference['accountId']) ?? textOf(reference['account'])
  const parts = [
    reference['cloudProvider'],
    reference['entityType'],
    reference['entityId'],
    account,
    reference['region'],
  ]
  return parts
    .map((part) => textOf(part) ?? '*')
    .join(':')
    .toLowerCase()
}

/** Names and namespaces are lower case; who has changed each tag and when stands beside them. */
function mergeTags(
  stored: JsonObject | undefined,
  sent: JsonObject,
  { user, nowMs }: { user: string; nowMs: number },
): JsonObject {
  const reference = objectOf(sent['entityRef'])
  const tags = objectsOf(sent['tags']).map((tag) => ({
    ...tag,
    name: String(tag['name']).toLowerCase(),
    namespace: (textOf(tag['namespace']) ?? 'default').toLowerCase(),
    valueType: textOf(tag['valueType']) ?? (isObject(tag['value']) ? 'object' : 'literal'),
  }))
  const isPartial = sent['isPartial'] === undefined || isTrue(sent['isPartial'])
  const names = new Set(tags.map(({ name }) => name))
  const others = stored === undefined || !isPartial ? [] : withoutTags(stored, names)
  const created = new Map(
    objectsOf(stored?.['tagsMetadata']).map((each) => [String(each['name']), each]),
  )
  const all: JsonObject[] = [...others, ...tags]
  return {
    id: sent['id'],
    idPattern: '{{cloudProvider}}:{{entityType}}:{{entityId}}:{{account}}:{{region}}',
    entityRef: {
      ...objectOf(stored?.['entityRef']),
      ...reference,
      entityType: String(reference['entityType']).toLowerCase(),
    },
    tags: all,
    tagsMetadata: all.map((tag) => {
      const name = String(tag['name'])
      const before = created.get(name)
      if (before !== undefined && !names.has(name)) return before
      return {
        name,
        created: before?.['created'] ?? nowMs,
        createdBy: before?.['createdBy'] ?? user,
        lastModified: nowMs,
        lastModifiedBy: user,
      }
    }),
    lastModified: nowMs,
    lastModifiedBy: user,
  }
}

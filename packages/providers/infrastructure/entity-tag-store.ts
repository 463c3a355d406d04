/** Entity tags: what users and deployments note on server groups, clusters and other entities. */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { asGiven, maybeObject, objectList, or, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
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

const toReference = shape({
  cloudProvider: textOf,
  entityType: or(textOf, ''),
  entityId: textOf,
  application: textOf,
  account: textOf,
  accountId: textOf,
  region: textOf,
})

const readTag = shape({
  name: or(textOf, ''),
  namespace: or(textOf, 'default'),
  valueType: textOf,
  value: asGiven,
})

const toUpsert = shape({
  id: textOf,
  entityRef: maybeObject,
  tags: objectList((tag) => ({ all: tag as JsonObject, ...readTag(tag) })),
  isPartial: (value) => value === undefined || isTrue(value),
})

const toBulk = shape({ entityTags: objectsOf, isPartial: asGiven })

const toDeletion = shape({ id: or(textOf, ''), tags: textsOf, deleteAll: isTrue })

interface Tagged {
  readonly id?: unknown
  readonly entityRef?: unknown
}

/** Record for clients. */
export interface EntityTags {
  readonly id: string
  readonly idPattern: string
  readonly entityRef: JsonObject
  readonly tags: readonly StoredTag[]
  readonly tagsMetadata: readonly TagMetadata[]
  readonly lastModified: number
  readonly lastModifiedBy: string
}

type StoredTag = JsonObject & { readonly name: string }

interface TagMetadata {
  readonly name: string
  readonly created: number
  readonly createdBy: string
  readonly lastModified: number
  readonly lastModifiedBy: string
}

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
      check: (description) => {
        const { entityTags } = toBulk(description)
        return checkBulk(entityTags) ?? entityTags.flatMap((each) => this.#check(each))
      },
      ...this.#ownersOf((description) => toBulk(description).entityTags),
      run: async (description, run) => {
        const { entityTags, isPartial } = toBulk(description)
        run.commit(() => {
          for (const one of entityTags) this.#upsert({ isPartial, ...one }, run)
          run.note(`${entityTags.length} entity tags are stored.`)
        })
      },
    },
    deleteEntityTags: {
      check: (description) => (toDeletion(description).id === '' ? ['id: it is missing.'] : []),
      ...this.#ownersOf((description) => this.#stored(toDeletion(description).id)),
      run: async (description, run) => {
        const { id, tags, deleteAll } = toDeletion(description)
        const names = new Set(tags.map((name) => name.toLowerCase()))
        run.commit(() => run.note(this.#delete(id, deleteAll ? undefined : names)))
      },
    },
  }

  all(): EntityTags[] {
    return this.#statements.all.all().map(toTags)
  }

  get(id: string): EntityTags | undefined {
    return this.#stored(id)[0]
  }

  #stored(id: string): EntityTags[] {
    return this.#statements.get.all(id.toLowerCase()).map(toTags)
  }

  /** The application that the reference names, and that of the entity itself: each of them decides who reads and writes the tags. */
  applicationsOf({ entityRef }: Tagged): string[] {
    const { application, cloudProvider, entityType, entityId = '' } = toReference(entityRef)
    const type = entityType.toLowerCase()
    const found =
      application === undefined || namedEntities.has(type)
        ? this.#findApplications(cloudProvider, entityId, type)
        : []
    const all = [...(application === undefined ? [] : [application]), ...found]
    return all.length === 0 ? [entityId] : all
  }

  /** Owners of what was sent about entities, and of what is stored under their ids: a reference may name any application and account. */
  #ownersOf(
    entitiesIn: (description: JsonObject) => readonly Tagged[],
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
    const { id, entityRef } = description
    const [given, own] = [textOf(id)?.toLowerCase(), idOf({ entityRef })]
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
    const sent = { ...toUpsert(description), id }
    const merged = mergeTags(this.get(id), sent, { user, nowMs: this.#now() })
    const { length } = merged.tags
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
    if (kept.length === 0) this.#statements.remove.run(stored.id)
    else this.#statements.put.run(stored.id, formatJson({ ...stored, tags: kept }))
    return `The entity tags ${id} are deleted.`
  }
}

function toTags(row: Record<string, unknown>): EntityTags {
  return parseJson(String(row['document'])) as EntityTags
}

function checkBulk({ length }: readonly JsonObject[]): string[] | undefined {
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

function withoutTags({ tags }: EntityTags, removed: ReadonlySet<string>): StoredTag[] {
  return tags.filter(({ name }) => !removed.has(name))
}

function checkTags(description: JsonObject): string[] {
  const { entityRef, tags } = toUpsert(description)
  if (entityRef === undefined) return ['entityRef: it is missing.']
  const { entityType, cloudProvider, entityId } = toReference(entityRef)
  return [
    !/^[a-z]+$/i.test(entityType) &&
      'entityRef.entityType: it must be a word, such as servergroup.',
    cloudProvider?.includes(':') && 'entityRef.cloudProvider: it may not have a colon.',
    entityId === undefined && 'entityRef.entityId: it is missing.',
    tags.length === 0 && 'tags: it is missing or empty.',
    tags.length > maxTags && `tags: it has ${tags.length} entries; ${maxTags} are allowed.`,
    ...tags.map(({ name }) => name === '' && 'tags: a tag has no name.'),
  ].filter((problem) => typeof problem === 'string')
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
export function accountsOfEntity({ entityRef }: Tagged): string[] {
  const { accountId, account: named = accountId } = toReference(entityRef)
  return named === undefined || named === '*' ? [] : [named]
}

/** `provider:entityType:entityId:accountId:region`, missing parts `*`. */
function idOf({ id, entityRef }: Tagged): string {
  const { cloudProvider, entityType, entityId, account, accountId, region } = toReference(entityRef)
  const parts = [cloudProvider, entityType, entityId, accountId ?? account, region]
  return (textOf(id) ?? parts.map((part) => part || '*').join(':')).toLowerCase()
}

/** Names and namespaces are lower case; who has changed each tag and when stands beside them. */
function mergeTags(
  stored: EntityTags | undefined,
  sent: ReturnType<typeof toUpsert> & { readonly id: string },
  { user, nowMs }: { user: string; nowMs: number },
): EntityTags {
  const { id, entityRef, isPartial } = sent
  const tags = sent.tags.map(({ all, name, namespace, valueType, value }) => ({
    ...all,
    name: name.toLowerCase(),
    namespace: namespace.toLowerCase(),
    valueType: valueType ?? (maybeObject(value) === undefined ? 'literal' : 'object'),
  }))
  const names = new Set(tags.map(({ name }) => name))
  const others = stored === undefined || !isPartial ? [] : withoutTags(stored, names)
  const created = new Map(stored?.tagsMetadata.map((each) => [each.name, each]))
  const all: StoredTag[] = [...others, ...tags]
  return {
    id,
    idPattern: '{{cloudProvider}}:{{entityType}}:{{entityId}}:{{account}}:{{region}}',
    entityRef: {
      ...stored?.entityRef,
      ...entityRef,
      entityType: toReference(entityRef).entityType.toLowerCase(),
    },
    tags: all,
    tagsMetadata: all.map(({ name }) => {
      const before = created.get(name)
      if (before !== undefined && !names.has(name)) return before
      return {
        name,
        created: before?.created ?? nowMs,
        createdBy: before?.createdBy ?? user,
        lastModified: nowMs,
        lastModifiedBy: user,
      }
    }),
    lastModified: nowMs,
    lastModifiedBy: user,
  }
}

/** Entity tags: what users and deployments note on server groups, clusters and other entities. */
import type { DatabaseSync } from 'node:sqlite'
import { formatJson, parseJson } from '../../json/json.ts'
import { isObject, isTrue, type JsonObject, objectOf, objectsOf, textOf, textsOf } from '../../json/values.ts'
import { maxTagBytes } from '../limits.ts'
import type { OperationRun, OperationTypes } from './operation-type.ts'

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

export interface EntityTagStore {
  readonly operations: OperationTypes
  all(): JsonObject[]
  get(id: string): JsonObject | undefined
  /** Applications that own the entity; the first one decides who reads its tags. */
  applicationsOf(tags: JsonObject): string[]
}

/** Applications of a name of a cloud provider's resource; without a provider, the name is looked up at each. */
export type FindApplications = (provider: string | undefined, name: string) => readonly string[]

export function openEntityTags(db: DatabaseSync, now: () => number, findApplications: FindApplications): EntityTagStore {
  const statements = {
    all: db.prepare('SELECT document FROM infrastructure_entity_tags ORDER BY id'),
    get: db.prepare('SELECT document FROM infrastructure_entity_tags WHERE id = ?'),
    put: db.prepare('INSERT OR REPLACE INTO infrastructure_entity_tags VALUES (?, ?)'),
    size: db.prepare('SELECT total(octet_length(document)) AS bytes FROM infrastructure_entity_tags WHERE id <> ?'),
    remove: db.prepare('DELETE FROM infrastructure_entity_tags WHERE id = ?'),
  }

  const get = (id: string): JsonObject | undefined => {
    const row = statements.get.get(id.toLowerCase())
    return row === undefined ? undefined : (parseJson(String(row['document'])) as JsonObject)
  }

  /** What was sent about an entity, and what is stored under its id: a reference may name any application and account. */
  const versionsOf = (description: JsonObject): JsonObject[] => [description, ...storedUnder(idOf(description))]
  const storedUnder = (id: unknown): JsonObject[] => {
    const stored = get(textOf(id) ?? '')
    return stored === undefined ? [] : [stored]
  }
  const ownersOf = (tags: JsonObject) => applicationsOf(tags, findApplications)

  const upsert = (description: JsonObject, run: OperationRun): string => {
    const id = idOf(description)
    const merged = mergeTags(get(id), { ...description, id }, { user: run.user, nowMs: now() })
    const { length } = objectsOf(merged['tags'])
    if (length > maxTags) {
      throw new Error(`The entity ${id} would have ${length} tags; ${maxTags} are allowed. Delete some, and submit these again.`)
    }
    const document = formatJson(merged)
    checkSize(id, Buffer.byteLength(document), Number(statements.size.get(id)?.['bytes']))
    statements.put.run(id, document)
    return id
  }

  const operations: OperationTypes = {
    upsertEntityTags: {
      check: checkTags,
      applications: (description) => versionsOf(description).flatMap(ownersOf),
      accounts: (description) => versionsOf(description).flatMap(accountsOfEntity),
      async run(description, run) {
        run.commit(() => run.note(`The entity tags ${upsert(description, run)} are stored.`))
      },
    },
    bulkUpsertEntityTags: {
      check: ({ entityTags }) => {
        const listed = objectsOf(entityTags)
        if (listed.length === 0) return ['entityTags: it is missing or empty.']
        if (listed.length > maxBulk) return [`entityTags: it has ${listed.length} entries; ${maxBulk} are allowed.`]
        return listed.flatMap(checkTags)
      },
      applications: ({ entityTags }) => objectsOf(entityTags).flatMap(versionsOf).flatMap(ownersOf),
      accounts: ({ entityTags }) => objectsOf(entityTags).flatMap(versionsOf).flatMap(accountsOfEntity),
      async run({ entityTags, isPartial }, run) {
        run.commit(() => {
          for (const one of objectsOf(entityTags)) upsert({ isPartial, ...one }, run)
          run.note(`${objectsOf(entityTags).length} entity tags are stored.`)
        })
      },
    },
    deleteEntityTags: {
      check: ({ id }) => (textOf(id) === undefined ? ['id: it is missing.'] : []),
      applications: ({ id }) => storedUnder(id).flatMap(ownersOf),
      accounts: ({ id }) => storedUnder(id).flatMap(accountsOfEntity),
      async run({ id, tags, deleteAll }, run) {
        run.commit(() => {
          const stored = get(String(id))
          if (stored === undefined) return run.note(`There are no entity tags ${String(id)}.`)
          const kept = isTrue(deleteAll) ? [] : withoutTags(stored, new Set(textsOf(tags).map((name) => name.toLowerCase())))
          if (kept.length === 0) statements.remove.run(String(stored['id']))
          else statements.put.run(String(stored['id']), formatJson({ ...stored, tags: kept }))
          run.note(`The entity tags ${String(id)} are deleted.`)
        })
      },
    },
  }

  return {
    operations,
    get,
    applicationsOf: ownersOf,
    all: () => statements.all.all().map((row) => parseJson(String(row['document'])) as JsonObject),
  }
}

/** @param others Bytes of the tags of all other entities. @throws {Error} */
function checkSize(id: string, bytes: number, others: number): void {
  if (bytes > maxTagBytes.entity) {
    throw new Error(
      `The tags of the entity ${id} would have ${bytes} bytes; ${maxTagBytes.entity} are allowed. Shorten or delete some.`,
    )
  }
  if (bytes + others > maxAllBytes) {
    throw new Error(`The tags of all entities would have more than ${maxAllBytes} bytes. Delete those of entities that are gone.`)
  }
}

function withoutTags(stored: JsonObject, removed: ReadonlySet<string>): JsonObject[] {
  return objectsOf(stored['tags']).filter(({ name }) => !removed.has(String(name)))
}

function checkTags(description: JsonObject): string[] {
  const { entityRef, tags } = description
  if (!isObject(entityRef)) return ['entityRef: it is missing.']
  return [
    ...['entityType', 'entityId']
      .filter((name) => textOf(entityRef[name]) === undefined)
      .map((name) => `entityRef.${name}: it is missing.`),
    ...(objectsOf(tags).length === 0 ? ['tags: it is missing or empty.'] : []),
    ...(objectsOf(tags).length > maxTags ? [`tags: it has ${objectsOf(tags).length} entries; ${maxTags} are allowed.`] : []),
    ...objectsOf(tags).flatMap((tag) => (textOf(tag['name']) === undefined ? ['tags: a tag has no name.'] : [])),
  ]
}

/** Their ids are names that belong to an application. */
const namedEntities: ReadonlySet<string> = new Set(['application', 'cluster', 'servergroup'])

/** The application that the reference names, and that of the entity itself. */
function applicationsOf({ entityRef }: JsonObject, find: FindApplications): string[] {
  const { application, cloudProvider, entityType, entityId } = objectOf(entityRef)
  const [named, id] = [textOf(application), textOf(entityId) ?? '']
  const type = String(entityType).toLowerCase()
  const isNamed = named === undefined || namedEntities.has(type)
  const found = isNamed ? find(textOf(cloudProvider), id) : []
  const all = [...(named === undefined ? [] : [named]), ...found]
  return all.length === 0 ? [id] : all
}

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
  const parts = [reference['cloudProvider'], reference['entityType'], reference['entityId'], account, reference['region']]
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
  const created = new Map(objectsOf(stored?.['tagsMetadata']).map((each) => [String(each['name']), each]))
  const all: JsonObject[] = [...others, ...tags]
  return {
    id: sent['id'],
    idPattern: '{{cloudProvider}}:{{entityType}}:{{entityId}}:{{account}}:{{region}}',
    entityRef: { ...objectOf(stored?.['entityRef']), ...reference, entityType: String(reference['entityType']).toLowerCase() },
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

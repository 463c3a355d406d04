/** The definitions of an instance as files would hold them, and the changes that bring it to what files say. */
import { randomUUID } from 'node:crypto'
import { type JsonObject, objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { FileKind } from '@fairlead/model/definition-files/file-kinds.ts'
import type { Client } from '../client.ts'
import { exitCodes, Failure } from '../failure.ts'
import { type Definition, keyOf, titleOf, toDefinition, toPortable } from './definition.ts'
import type { Change } from './plan.ts'
import {
  type Reference,
  ReferenceIndex,
  type ReferredKind,
  referredApplications,
  toIds,
  toNames,
} from './references.ts'
import { changeApplication, idOf, markField, stores } from './stores.ts'

const referredKinds: readonly ReferredKind[] = ['pipeline', 'strategy', 'canary-configuration']

export class Instance {
  readonly #client: Client
  readonly #index = new ReferenceIndex()
  readonly #lists = new Map<string, Promise<JsonObject[]>>()

  constructor(client: Client) {
    this.#client = client
  }

  /** All of a kind that an application has, as files would hold it. */
  async read(kind: FileKind, application: string): Promise<Definition[]> {
    const found = await this.#list(kind, application)
    for (const owner of new Set(found.flatMap(referredApplications))) await this.refer(owner)
    if (kind === 'pipeline' || kind === 'strategy') await this.refer(application)
    return found.map((stored) => ({
      ...toDefinition(kind, toPortable(kind, toNames(stored, this.#index))),
      ...(application !== '' && { application }),
    }))
  }

  /** Makes the names of an application known to references. */
  async refer(application: string): Promise<void> {
    for (const kind of referredKinds)
      for (const stored of await this.#list(kind, application)) {
        const name = textOf(stored['name'])
        if (name !== undefined) this.#index.add({ kind, application, name }, idOf(kind, stored))
      }
  }

  /** Ids that what is created will have, so that definitions may refer to each other in circles. */
  async reserve(definitions: readonly Definition[]): Promise<void> {
    for (const { document } of definitions)
      for (const owner of referredApplications(document)) await this.refer(owner)
    for (const { kind, application = '', name } of definitions) {
      const referred = referredKinds.find((each) => each === kind)
      if (referred === undefined) continue
      const reference = { kind: referred, application, name }
      if (this.#index.idOf(reference) === undefined) this.#index.add(reference, randomUUID())
    }
  }

  /** Definitions of files that hold ids, as those of others do, with names in place of them. */
  named(definitions: readonly Definition[]): Definition[] {
    return definitions.map((each) => ({ ...each, document: toNames(each.document, this.#index) }))
  }

  /** @throws {Failure} with 3 for a reference to what is neither in the files nor at the instance */
  checkReferences(definitions: readonly Definition[]): void {
    for (const definition of definitions)
      toIds(definition.document, this.#index, (place, reference) => {
        throw unresolved(definition, place, reference)
      })
  }

  /** Definitions of a kind that an earlier `apply` has created. */
  async made(kind: FileKind, application: string): Promise<Definition[]> {
    if (stores[kind].remove === undefined) return []
    const [attributes] = await this.#list('application', application)
    const ids = new Set(markIn(attributes ?? {})[kind])
    if (ids.size === 0) return []
    const listed = await this.#list(kind, application)
    const kept = new Set(
      listed.filter((each) => ids.has(idOf(kind, each))).map(({ name }) => String(name)),
    )
    return (await this.read(kind, application)).filter(({ name }) => kept.has(name))
  }

  /** @returns the id of what was created or deleted, for the mark. @throws {Failure} also when another user has changed it since it was read */
  async make({ action, definition }: Change): Promise<string | undefined> {
    const { kind, application = '', name, document } = definition
    const store = stores[kind]
    const planned = find(definition, await this.#list(kind, application))
    const stored = find(definition, await store.list(this.#client, application))
    const said = [planned, stored].map((each) => each && JSON.stringify(toPortable(kind, each)))
    if (said[0] !== said[1]) throw changedMeanwhile(definition)
    if (action === 'delete') {
      await store.remove?.(this.#client, application, stored ?? {})
      return idOf(kind, stored ?? {})
    }
    const referred = referredKinds.find((each) => each === kind)
    const reference = referred && { kind: referred, application, name }
    const id = (reference && this.#index.idOf(reference)) ?? randomUUID()
    const resolved = toIds(document, this.#index, (place, missing) => {
      throw unresolved(definition, place, missing)
    })
    const given = await store.save(this.#client, {
      application,
      name,
      document: resolved,
      stored,
      id,
    })
    if (reference !== undefined && given !== undefined) this.#index.add(reference, given)
    return stored === undefined ? given : undefined
  }

  /** Writes down what `apply` has created and not deleted again, in the attributes of the application. */
  async mark(
    application: string,
    {
      created,
      deleted,
    }: Readonly<Record<'created' | 'deleted', readonly (readonly [FileKind, string])[]>>,
  ): Promise<void> {
    if (created.length === 0 && deleted.length === 0) return
    const [attributes] = await stores.application.list(this.#client, application)
    // Without a record there is nowhere to write it.
    if (attributes === undefined) return
    const mark: Record<string, readonly string[]> = markIn(attributes)
    for (const [kind, id] of created) mark[kind] = [...new Set([...(mark[kind] ?? []), id])]
    for (const [kind, id] of deleted) mark[kind] = (mark[kind] ?? []).filter((each) => each !== id)
    await changeApplication(this.#client, application, 'updateApplication', { [markField]: mark })
  }

  #list(kind: FileKind, application: string): Promise<JsonObject[]> {
    const key = `${kind} ${application.toLowerCase()}`
    const known = this.#lists.get(key)
    if (known !== undefined) return known
    const list = stores[kind].list(this.#client, application)
    this.#lists.set(key, list)
    return list
  }
}

function find(definition: Definition, listed: readonly JsonObject[]): JsonObject | undefined {
  const { kind, application } = definition
  return listed.find(
    (stored) => keyOf({ ...toDefinition(kind, stored), application }) === keyOf(definition),
  )
}

/** What an earlier `apply` of the application has created, by kind. */
function markIn(attributes: JsonObject): Record<string, readonly string[]> {
  const mark = Object.entries(objectOf(attributes[markField]))
  return Object.fromEntries(mark.map(([kind, ids]) => [kind, textsOf(ids)]))
}

function unresolved(
  { file, ...definition }: Definition,
  place: string,
  { kind, application, name }: Reference,
): Failure {
  const where = file === undefined ? titleOf(definition) : `${file}: ${titleOf(definition)}`
  return new Failure(
    exitCodes.misuse,
    'UNKNOWN_REFERENCE',
    `${where}: ${place}: there is no ${kind.replace('-', ' ')} "${name}" in the application ${application}.`,
    { remedy: 'Correct the name, or add its file.' },
  )
}

function changedMeanwhile(definition: Definition): Failure {
  return new Failure(
    exitCodes.failed,
    'CHANGED_MEANWHILE',
    `The ${titleOf(definition)} was changed at the instance after the plan was made.`,
    { remedy: 'Look at the new differences with fairlead diff, and apply again.' },
  )
}

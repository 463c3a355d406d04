/** Stages of long executions in rows of their own: a step writes those that it has changed, and those of a run that goes on stay in memory. */
import type { DatabaseSync, SQLTagStore } from 'node:sqlite'
import { LRUCache } from 'lru-cache'
import { KeptPart, KeptStage, type StageForm } from './kept-stage.ts'
import type { Execution, Stage } from './model.ts'
import { isComplete } from './statuses.ts'

/** What stands in the list of a record for a stage: the stage itself, or its id where it has a row. */
export type StageEntry = string | Stage

export interface StoredStages {
  /** Changes with each write of the record, also of a transaction that was rolled back. */
  readonly revision: number
  /** Those with rows, in the order of the record. */
  readonly stages: readonly KeptStage[]
  /** Characters of all. */
  readonly length: number
  /** JSON of the entries, as its row has it; undefined: the body of the record has the list. */
  readonly list: string | undefined
}

export interface StageChange extends Omit<StoredStages, 'revision'> {
  /** JSON by key of the row: stages, and their large values. */
  readonly written: ReadonlyMap<string, string>
  readonly removed: readonly string[]
}

interface KeptStages extends StoredStages {
  readonly execution: Execution | undefined
}

/** Characters that are kept. A run that needs more is read from the database at each step. */
const maxKeptLength = 16_000_000
/** Between the id of a stage and the path of a large value: no id has it. */
const partMark = '\n'
/** Id of the row with the list of entries. */
const listRow = ''
/** For a record with its stages in its body. */
export const noStages: StoredStages = { revision: 0, stages: [], length: 0, list: undefined }

export class StageRows {
  readonly #sql: SQLTagStore
  readonly #form: StageForm
  readonly #kept = new LRUCache<string, KeptStages>({ maxSize: maxKeptLength })
  /** Other processes, before or beside this one, count from other moments. */
  #revision = Date.now() * 1000

  constructor(db: DatabaseSync, form: StageForm) {
    this.#sql = db.createTagStore()
    this.#form = form
  }

  nextRevision(): number {
    return ++this.#revision
  }

  /**
   * In the order of the record.
   *
   * @param revision As it was read with the record
   * @param inBody The list in a body that an older version has written
   */
  load(id: string, revision: number, inBody: readonly StageEntry[] | undefined): StoredStages {
    const kept = this.#kept.get(id)
    if (kept?.revision === revision) return kept
    const rows = this.#sql
      .all`SELECT id, body FROM orchestration_stages WHERE execution_id = ${id}` as {
      id: string
      body: string
    }[]
    const texts = new Map(rows.map((row) => [row.id, row.body]))
    const { parse } = this.#form
    const list = inBody === undefined ? texts.get(listRow) : undefined
    const entries = inBody ?? this.entriesOf(list)
    const parts = new Map<string, Map<string, KeptPart>>()
    for (const [row, text] of texts) {
      const at = row.indexOf(partMark)
      if (at < 0) continue
      const ofStage = parts.get(row.slice(0, at)) ?? new Map<string, KeptPart>()
      parts.set(row.slice(0, at), ofStage.set(row.slice(at + 1), new KeptPart(text, parse)))
    }
    const stages = entries.flatMap((entry) => {
      if (typeof entry !== 'string') return []
      const text = texts.get(entry)
      if (text === undefined) throw new Error(`The stage ${entry} is missing in the database.`)
      return new KeptStage(entry, text, parse, parts.get(entry))
    })
    const length = rows.reduce((sum, { body }) => sum + body.length, 0)
    return { revision, stages, length, list }
  }

  /** A new copy of a list. @throws {Error} when it has no row */
  entriesOf(list: string | undefined): readonly StageEntry[] {
    if (list === undefined) throw new Error('The list of the stages is missing in the database.')
    return this.#form.parse(list) as StageEntry[]
  }

  /** Characters where it is kept, else bytes. */
  lengthOf(id: string, revision: number): number {
    const kept = this.#kept.get(id)
    if (kept?.revision === revision) return kept.length
    const row = this.#sql
      .get`SELECT sum(octet_length(body)) AS bytes FROM orchestration_stages WHERE execution_id = ${id}`
    return Number(row?.['bytes'] ?? 0)
  }

  /** @param isForStep Whether the next step may go on with the execution itself, if each of its stages has a row */
  keep(execution: Execution, stored: StoredStages, isForStep: boolean): void {
    const { id, status, stages } = execution
    if (isComplete(status)) return void this.#kept.delete(id)
    const isWhole = stored.stages.length === stages.length
    const kept = { ...stored, execution: isForStep && isWhole ? execution : undefined }
    this.#kept.set(id, kept, { size: stored.length + 1 })
  }

  /** The execution of the last step, for one step: if that fails, what it has changed is forgotten with it. */
  take(id: string, readRevision: () => unknown): Execution | undefined {
    const kept = this.#kept.get(id)
    if (kept?.execution === undefined || readRevision() !== kept.revision) return undefined
    const { execution, ...stored } = kept
    this.#kept.set(id, { ...stored, execution: undefined }, { size: stored.length + 1 })
    for (const [at, one] of stored.stages.entries()) one.restore(execution.stages[at])
    return execution
  }

  /** What has to be written so that the rows are the stages. */
  compare(present: readonly Stage[], known: StoredStages): StageChange {
    return this.#compareInOrder(present, known) ?? this.#compareAll(present, known)
  }

  /** Most steps leave the list as it is. */
  #compareInOrder(present: readonly Stage[], known: StoredStages): StageChange | undefined {
    const { list } = known
    if (list === undefined || present.length !== known.stages.length) return undefined
    const stages = [...known.stages]
    const changes = new RowChanges()
    let { length } = known
    for (let at = 0; at < stages.length; at++) {
      const [stage, before] = [present[at], stages[at]] as [Stage, KeptStage]
      if (stage.id !== before.id) return undefined
      const kept = KeptStage.of(stage, this.#form, before)
      if (kept === before) continue
      changes.note(before.id, before, kept)
      stages[at] = kept
      length += kept.length - before.length
    }
    return { stages, length, list, ...changes }
  }

  #compareAll(
    present: readonly Stage[],
    { stages: former, list: before }: StoredStages,
  ): StageChange {
    const known = new Map(former.map((kept) => [kept.id, kept]))
    const stages = new Map<string, KeptStage>()
    const changes = new RowChanges()
    let length = 0
    const entries = present.map((stage) => {
      const { id } = stage
      // Ids are unique, but for records that others have made up.
      if (stages.has(id) || id === listRow || id.includes(partMark)) return stage
      const kept = KeptStage.of(stage, this.#form, known.get(id))
      changes.note(id, known.get(id), kept)
      stages.set(id, kept)
      length += kept.length
      return id
    })
    for (const [id, gone] of known) if (!stages.has(id)) changes.note(id, gone, undefined)
    const list = this.#form.format(entries)
    if (list !== before) changes.written.set(listRow, list)
    return { stages: [...stages.values()], length, list, ...changes }
  }

  write(execution: string, { written, removed }: StageChange): void {
    for (const id of removed)
      this.#sql
        .run`DELETE FROM orchestration_stages WHERE execution_id = ${execution} AND id = ${id}`
    for (const [id, text] of written)
      this.#sql.run`
        INSERT INTO orchestration_stages VALUES (${execution}, ${id}, ${text})
        ON CONFLICT DO UPDATE SET body = excluded.body`
  }
}

class RowChanges {
  readonly written = new Map<string, string>()
  readonly removed: string[] = []

  note(id: string, before: KeptStage | undefined, now: KeptStage | undefined): void {
    if (before === now) return
    if (now === undefined) this.removed.push(id)
    else if (now.text !== before?.text) this.written.set(id, now.text)
    const parts = now?.parts ?? new Map<string, KeptPart>()
    for (const path of before?.parts.keys() ?? [])
      if (!parts.has(path)) this.removed.push(`${id}${partMark}${path}`)
    for (const [path, part] of parts)
      if (part !== before?.parts.get(path)) this.written.set(`${id}${partMark}${path}`, part.text)
  }
}

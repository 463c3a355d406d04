/** Stages of long executions in rows of their own: a step writes those that it has changed, and those of a run that goes on stay in memory. */
import type { DatabaseSync, SQLTagStore } from 'node:sqlite'
import { LRUCache } from 'lru-cache'
import { KeptStage } from './kept-stage.ts'
import type { Stage } from './model.ts'

/** What stands in a record for a stage: the stage itself, or its id where it has a row. */
export type StageEntry = string | Stage

export interface StoredStages {
  /** Of the record: another one after each change, also of a transaction that was rolled back. */
  readonly revision: number
  readonly stages: ReadonlyMap<string, KeptStage>
  /** Characters of all. */
  readonly length: number
}

export interface StageChange extends Omit<StoredStages, 'revision'> {
  readonly entries: readonly StageEntry[]
  readonly written: readonly string[]
  readonly removed: readonly string[]
}

interface StageForm {
  readonly parse: (text: string) => unknown
  readonly format: (stage: Stage) => string
}

/** Characters that are kept. A run that needs more is read from the database at each step. */
const maxKeptLength = 16_000_000
/** Of a record that has its stages in its body. */
export const noStages: StoredStages = { revision: 0, stages: new Map(), length: 0 }

export class StageRows {
  readonly #sql: SQLTagStore
  readonly #form: StageForm
  readonly #kept = new LRUCache<string, StoredStages>({ maxSize: maxKeptLength })
  /** Other processes, before or beside this one, count from other moments. */
  #revision = Date.now() * 1000

  constructor(db: DatabaseSync, form: StageForm) {
    this.#sql = db.createTagStore()
    this.#form = form
  }

  nextRevision(): number {
    return ++this.#revision
  }

  /** @param revision As it was read with the record */
  load(id: string, revision: number): StoredStages {
    const kept = this.#kept.get(id)
    if (kept?.revision === revision) return kept
    const rows = this.#sql
      .all`SELECT id, body FROM orchestration_stages WHERE execution_id = ${id}` as {
      id: string
      body: string
    }[]
    const stages = new Map(rows.map((row) => [row.id, new KeptStage(row.body, this.#form.parse)]))
    return { revision, stages, length: rows.reduce((sum, { body }) => sum + body.length, 0) }
  }

  /** @param isOver Then it is not needed again */
  keep(id: string, stored: StoredStages, isOver: boolean): void {
    if (isOver) this.#kept.delete(id)
    else this.#kept.set(id, stored, { size: stored.length + 1 })
  }

  /** What has to be written so that the rows are the stages. */
  compare(present: readonly Stage[], { stages: known }: StoredStages): StageChange {
    const stages = new Map<string, KeptStage>()
    const written: string[] = []
    let length = 0
    const entries = present.map((stage) => {
      const { id } = stage
      // Ids are unique, but for records that others have made up.
      if (stages.has(id)) return stage
      const kept = this.#compareOne(stage, known.get(id))
      if (kept !== known.get(id)) written.push(id)
      stages.set(id, kept)
      length += kept.text.length
      return id
    })
    return {
      entries,
      stages,
      length,
      written,
      removed: [...known.keys()].filter((id) => !stages.has(id)),
    }
  }

  #compareOne(stage: Stage, known: KeptStage | undefined): KeptStage {
    if (known?.isUnchanged(stage)) return known
    const text = this.#form.format(stage)
    return text === known?.text ? known : new KeptStage(text, this.#form.parse)
  }

  write(execution: string, { stages, written, removed }: StageChange): void {
    for (const id of removed)
      this.#sql
        .run`DELETE FROM orchestration_stages WHERE execution_id = ${execution} AND id = ${id}`
    for (const id of written)
      this.#sql.run`
        INSERT INTO orchestration_stages VALUES (${execution}, ${id}, ${stages.get(id)?.text ?? ''})
        ON CONFLICT DO UPDATE SET body = excluded.body`
  }
}

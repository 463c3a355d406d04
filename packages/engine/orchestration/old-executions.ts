/** Executions and tasks that are old and many: those that something still needs stay. */
import { textsOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { cloudProviders } from '@fairlead/base/settings/standalone.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { RetainedKind, RetentionRule, Sweep } from '@fairlead/ports/retained-kind.ts'
import type { Engine } from './engine.ts'
import type { ExecutionType } from './model.ts'
import type { EndedRow } from './store.ts'

const dayMs = 24 * 60 * 60_000
/** Rows that are looked at at a time. */
const pageSize = 10
/** Names that a deployment has given: a version, or a digest. Others, such as that of a Deployment, are in every run. */
const givenName = /-(?:v\d{3,}|[0-9a-z]{5,10})$/

export function oldExecutions(engine: Engine, context: BackendContext): RetainedKind[] {
  const row = (kind: 'executions' | 'tasks', type: ExecutionType): RetainedKind => ({
    kind,
    sweep: async (sweep, rule) =>
      rule === undefined ? 0 : new Search(engine, context, type).sweep(sweep, rule),
  })
  return [row('executions', 'PIPELINE'), row('tasks', 'ORCHESTRATION')]
}

/** One pass, from the oldest to the newest. */
class Search {
  readonly #engine: Engine
  readonly #context: BackendContext
  readonly #type: ExecutionType
  /** Pipelines, and applications of runs without one, whose remaining runs are not too many. */
  readonly #complete = new Set<string>()
  readonly #groupNames = new Map<string, string[]>()
  readonly #imagesLeft = new Map<string, Set<string>>()

  constructor(engine: Engine, context: BackendContext, type: ExecutionType) {
    this.#engine = engine
    this.#context = context
    this.#type = type
  }

  async sweep(sweep: Sweep, rule: RetentionRule): Promise<number> {
    const { store } = this.#engine.options
    const now = this.#context.now()
    let count = 0
    for (let after: EndedRow | undefined; ; ) {
      const page = store.ended(this.#type, after, pageSize)
      after = page.at(-1)
      if (after === undefined) return count
      const old = page.filter((row) => {
        const { days, kept, countsOldOnly } = sweep.ruleFor(rule, row.application)
        if (days === 0) return false
        const before = days === undefined ? now : now - days * dayMs
        return (
          row.buildTime < before &&
          this.#isBeyond(row, kept, countsOldOnly ? before : undefined) &&
          !this.#isNeeded(row)
        )
      })
      for (let at = 0; at < old.length; at += sweep.chunkSize) {
        count += this.#remove(old.slice(at, at + sweep.chunkSize))
        await sweep.turn()
      }
      await sweep.turn()
    }
  }

  #isBeyond(row: EndedRow, kept: number, before: number | undefined): boolean {
    const key = row.configId ?? `application ${foldName(row.application)}`
    if (this.#complete.has(key)) return false
    if (this.#engine.options.store.hasNewer(row, this.#type, kept, before)) return true
    this.#complete.add(key)
    return false
  }

  #isNeeded(row: EndedRow): boolean {
    const { store } = this.#engine.options
    return store.isReferred(row) || (this.#type === 'PIPELINE' && this.#hasDeployed(row))
  }

  /** Whether a server group that exists came from it, or the image of one, of which the oldest mention counts. */
  #hasDeployed({ id, application }: EndedRow): boolean {
    const key = foldName(application)
    if (!this.#groupNames.has(key)) this.#noteGroups(key, application)
    const [names, images] = [
      this.#groupNames.get(key) ?? [],
      this.#imagesLeft.get(key) ?? new Set<string>(),
    ]
    if (names.length + images.size === 0) return false
    const text = this.#engine.options.store.textOf(id) ?? ''
    const made = [...images].filter((image) => text.includes(image))
    for (const image of made) images.delete(image)
    return made.length > 0 || names.some((name) => text.includes(name))
  }

  #noteGroups(key: string, application: string): void {
    const providers = cloudProviders.flatMap(
      (id) => this.#context.ports.infrastructure.provider(id) ?? [],
    )
    const groups = providers.flatMap((provider) => [...provider.serverGroups(application)])
    this.#groupNames.set(
      key,
      groups.map(({ name }) => name).filter((name) => givenName.test(name)),
    )
    this.#imagesLeft.set(
      key,
      new Set(groups.flatMap(({ buildInfo }) => textsOf(buildInfo?.['images']))),
    )
  }

  /** What was restarted meanwhile stays. */
  #remove(rows: readonly EndedRow[]): number {
    const { store } = this.#engine.options
    return this.#engine.transact((unit) => {
      const ended = rows.filter(({ id }) => store.isEnded(id))
      for (const { id } of ended) {
        unit.load(id)
        unit.remove(id)
      }
      return ended.length
    })
  }
}

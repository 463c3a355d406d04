/**
 * Pipelines with their effective triggers. An instance of a template has its own and those of the template, evaluated.
 *
 * @see docs/contracts/events.md#from-event-to-start, step 7
 */

import { createHash } from 'node:crypto'
import { createCache, type ExpiringCache } from '@fairlead/base/caches/expiring-cache.ts'
import { sharedWork } from '@fairlead/base/concurrency/shared-work.ts'
import { formatJson } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { isPassing } from '@fairlead/base/port-error.ts'
import { isRunning } from '@fairlead/base/settings/time-span.ts'
import {
  inheritLists,
  isTemplateInstance,
  referenceOf,
  type StoredTemplate,
  storedTemplate,
} from '@fairlead/model/pipeline-templates/inheritance.ts'
import { type Pipeline, readPipeline } from '@fairlead/model/pipelines/definition.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import { LRUCache } from 'lru-cache'

/** Its triggers and expected artifacts are those with which it is started. */
export interface EffectivePipeline extends Pipeline {
  /** Stored form, which is started: the orchestrator puts the template in. */
  readonly definition: JsonObject
}

/** Expressions may depend on the time, so that a plan does not count for good. */
const plannedForMs = 5 * 60_000
const mostPlans = 2000
const mostTemplates = 200

/** A definition store that is a service of its own does not list what inherits triggers; all pipelines are read this often. */
const readAllEveryMs = 30_000

/** Templates that are being read, by their names. */
type Templates = Map<string, Promise<JsonObject | undefined>>

type Lists = Pick<Pipeline, 'triggers' | 'expectedArtifacts'>

export class EffectivePipelines {
  readonly #context: BackendContext
  readonly #plans: ExpiringCache<Lists>
  readonly #lastRead = new LRUCache<string, JsonObject>({ max: mostTemplates })
  readonly #warned = new Set<string>()
  #instances: JsonObject[] = []
  #instancesUntilMs = Number.NEGATIVE_INFINITY
  readonly #readAllOnce = sharedWork(() => this.#readAll())

  constructor(context: BackendContext) {
    this.#context = context
    this.#plans = createCache({ maxSize: mostPlans, ttlMs: plannedForMs, now: context.now })
  }

  /**
   * The effective form of what the definition store has listed, and of instances that it did not list although they inherit
   * triggers.
   *
   * @throws {Error} when the definition store cannot be read
   */
  async complete(listed: readonly JsonObject[]): Promise<EffectivePipeline[]> {
    const known = new Set(listed.map(({ id }) => id))
    const further = (await this.#unlistedInstances()).filter(({ id }) => !known.has(id))
    const templates: Templates = new Map()
    const effective: EffectivePipeline[] = []
    for (const definition of [...listed, ...further])
      effective.push(await this.#toEffective(definition, templates))
    return effective
  }

  async of(definition: JsonObject): Promise<EffectivePipeline> {
    return this.#toEffective(definition, new Map())
  }

  /** For a store whose list does not look into templates: instances among all pipelines. */
  async #unlistedInstances(): Promise<JsonObject[]> {
    const { ports, now } = this.#context
    if (ports.definitions.seesInheritedTriggers) return []
    if (isRunning(now(), this.#instancesUntilMs, readAllEveryMs)) return this.#instances
    return this.#readAllOnce()
  }

  async #readAll(): Promise<JsonObject[]> {
    const { ports, now } = this.#context
    const pipelines = await ports.definitions.pipelines(itself)
    this.#instances = pipelines.filter(
      (pipeline) => isTemplateInstance(pipeline) && !readPipeline(pipeline).isDisabled,
    )
    this.#instancesUntilMs = now() + readAllEveryMs
    return this.#instances
  }

  async #toEffective(definition: JsonObject, templates: Templates): Promise<EffectivePipeline> {
    if (!isTemplateInstance(definition)) return withOwnTriggers(definition)
    const template = await this.#template(definition, templates)
    // What the run says about it can be seen; here only the triggers of the instance are known.
    if (template === undefined) return withOwnTriggers(definition)
    const inherited = listsOf(inheritLists(template, definition))
    const lists = formatJson(inherited).includes('${')
      ? await this.#planned(definition, template, inherited)
      : inherited
    return { ...withOwnTriggers(definition), ...lists }
  }

  /** On behalf of the service itself: who may start the pipeline is checked by its triggers. */
  async #template(definition: JsonObject, templates: Templates): Promise<JsonObject | undefined> {
    const stored = storedTemplate(referenceOf(definition))
    if (stored === undefined)
      return this.#unresolved(definition, 'it refers to no template of the definition store')
    const loading = templates.get(stored.name) ?? this.#load(definition, stored)
    templates.set(stored.name, loading)
    return loading
  }

  /** One template that cannot be read must not hold up what other pipelines start: it counts as it was read last. */
  async #load(definition: JsonObject, wanted: StoredTemplate): Promise<JsonObject | undefined> {
    const { name } = wanted
    try {
      const template = await this.#context.ports.definitions.template(wanted, itself)
      if (template === undefined) this.#lastRead.delete(name)
      else this.#lastRead.set(name, template)
      return (
        template ?? this.#unresolved(definition, 'the definition store does not have its template')
      )
    } catch (error) {
      if (!isPassing(error)) this.#lastRead.delete(name)
      return (
        this.#lastRead.get(name) ??
        this.#unresolved(definition, `its template cannot be read: ${(error as Error).message}`)
      )
    }
  }

  #unresolved(definition: JsonObject, reason: string): undefined {
    this.#warnOnce(definition, `${reason}; only its own triggers count`)
    return undefined
  }

  async #planned(definition: JsonObject, template: JsonObject, inherited: Lists): Promise<Lists> {
    const key = createHash('sha256')
      .update(formatJson([definition, template]))
      .digest('base64')
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const plan = await this.#plan(definition)
    if (plan === 'unavailable') return this.#plans.peek(key, { allowStale: true }) ?? inherited
    const lists = plan === undefined ? inherited : this.#withKnownUsers(definition, inherited, plan)
    this.#plans.set(key, lists)
    return lists
  }

  /**
   * The orchestrator's plan; `unavailable` when it may have one later.
   *
   * @returns undefined when it refuses: the triggers stay as they are written, and what they start fails too and says why
   */
  async #plan(definition: JsonObject): Promise<Lists | 'unavailable' | undefined> {
    try {
      return listsOf(
        await this.#context.ports.executions.plan({ ...definition, trigger: {} }, itself),
      )
    } catch (error) {
      this.#warnOnce(definition, `the orchestrator cannot plan it: ${(error as Error).message}`)
      return isPassing(error) ? 'unavailable' : undefined
    }
  }

  /** Who may use a service account was checked by its name: one that an expression has made up starts nothing. */
  #withKnownUsers(definition: JsonObject, written: Lists, planned: Lists): Lists {
    const checked = new Set(written.triggers.map(({ runAsUser }) => runAsUser))
    const triggers = planned.triggers.filter(({ runAsUser }) => checked.has(runAsUser))
    if (triggers.length < planned.triggers.length)
      this.#warnOnce(definition, 'the user of a trigger cannot be an expression')
    return { ...planned, triggers }
  }

  #warnOnce({ id, application }: JsonObject, reason: string): void {
    const key = `${String(id)} ${reason}`
    if (this.#warned.has(key)) return
    if (this.#warned.size >= mostPlans) this.#warned.clear()
    this.#warned.add(key)
    this.#context.log.warn(
      { pipeline: id, application, reason },
      'the triggers of a template instance are uncertain',
    )
  }
}

/** Without those that it inherits. */
export function withOwnTriggers(definition: JsonObject): EffectivePipeline {
  return { ...readPipeline(definition), definition }
}

function listsOf(definition: JsonObject): Lists {
  const { triggers, expectedArtifacts } = readPipeline(definition)
  return { triggers, expectedArtifacts }
}

/**
 * A stage as it is stored. What is kept is never changed: an execution gets copies of its stages, of their contexts, outputs, tasks and
 * notes. What is below these is shared and frozen. A step gets those of active stages only: it reads hundreds and changes a few.
 */
import type { Stage } from './model.ts'
import { isActive } from './statuses.ts'

export class KeptStage {
  readonly text: string
  readonly #parse: (text: string) => unknown
  #stage: Stage | undefined

  constructor(text: string, parse: (text: string) => unknown) {
    this.text = text
    this.#parse = parse
  }

  /** For one use. */
  read(): Stage {
    return this.#parse(this.text) as Stage
  }

  copy(isForStep: boolean): Stage {
    this.#stage ??= freeze(this.read())
    const stage = { ...this.#stage }
    if (!isForStep || isActive(stage.status)) ownParts(stage)
    return stage
  }

  /** Gives a stage that a step had for itself what is stored. */
  restore(stage: Stage | undefined): void {
    if (stage === undefined || stage.tasks === this.#stage?.tasks) return
    const copy = this.copy(true)
    for (const key of Object.keys(stage))
      if (!Object.hasOwn(copy, key)) delete stage[key as keyof Stage]
    Object.assign(stage, copy)
  }

  /** Whether it is a copy as it was made. It may say no where only a comparison of the texts says yes. */
  isUnchanged(stage: Stage): boolean {
    const kept = this.#stage
    if (kept === undefined) return false
    if (stage.tasks === kept.tasks)
      return (
        stage.status === kept.status &&
        stage.endTime === kept.endTime &&
        stage.context === kept.context &&
        stage.outputs === kept.outputs
      )
    return (
      isAlike(stage, kept, copied) &&
      isAlike(stage.context, kept.context) &&
      isAlike(stage.outputs, kept.outputs) &&
      isAlike(stage.engine, kept.engine) &&
      stage.tasks.length === kept.tasks.length &&
      stage.tasks.every((task, at) => {
        const other = kept.tasks[at]
        return (
          other !== undefined && isAlike(task, other, copied) && isAlike(task.engine, other.engine)
        )
      })
    )
  }
}

/** Called before a stage that waits or has ended is changed in a step. */
export function ownParts(stage: Stage): void {
  if (!Object.isFrozen(stage.tasks)) return
  stage.context = { ...stage.context }
  stage.outputs = { ...stage.outputs }
  stage.tasks = stage.tasks.map((task) => ({ ...task, engine: { ...task.engine } }))
  stage.engine = { ...stage.engine }
}

const none: ReadonlySet<string> = new Set()
/** Members of stages and tasks that are copied, too, and compared by their own members. */
const copied: ReadonlySet<string> = new Set(['context', 'outputs', 'tasks', 'engine'])

/** Whether all members are the very same. */
function isAlike(one: object, other: object, except = none): boolean {
  const [values, known] = [one, other] as [Record<string, unknown>, Record<string, unknown>]
  for (const key in known) if (values[key] !== known[key] && !except.has(key)) return false
  for (const key in values) if (!Object.hasOwn(known, key)) return false
  return true
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) freeze(member)
  return Object.freeze(value)
}

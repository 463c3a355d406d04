/**
 * A stage as it is stored. What is kept is never changed: an execution gets copies of its stages, of their contexts, outputs, tasks and
 * notes. What is below these is shared and frozen.
 */
import type { Stage } from './model.ts'

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

  copy(): Stage {
    this.#stage ??= freeze(this.read())
    const { context, outputs, tasks, engine } = this.#stage
    return {
      ...this.#stage,
      context: { ...context },
      outputs: { ...outputs },
      tasks: tasks.map((task) => ({ ...task, engine: { ...task.engine } })),
      engine: { ...engine },
    }
  }

  /** Whether it is a copy as it was made. It may say no where only a comparison of the texts says yes. */
  isUnchanged(stage: Stage): boolean {
    const kept = this.#stage
    return (
      kept !== undefined &&
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

const none: ReadonlySet<string> = new Set()
/** Members of stages and tasks that are copied, too, and compared by their own members. */
const copied: ReadonlySet<string> = new Set(['context', 'outputs', 'tasks', 'engine'])

/** Whether all members are the very same. */
function isAlike(one: object, other: object, except = none): boolean {
  const [values, known] = [one, other] as [Record<string, unknown>, Record<string, unknown>]
  let count = 0
  for (const key in known) {
    if (values[key] !== known[key] && !except.has(key)) return false
    count++
  }
  return Object.keys(values).length === count
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) freeze(member)
  return Object.freeze(value)
}

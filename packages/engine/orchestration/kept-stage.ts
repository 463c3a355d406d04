/**
 * A stage as it is stored. What is kept is never changed: an execution gets copies of its stages, of their contexts, outputs, tasks and
 * notes. What is below these is shared and frozen. A step gets those of active stages only: it reads hundreds and changes a few.
 */
import type { Stage } from './model.ts'
import { isActive } from './statuses.ts'

export interface StageForm {
  readonly parse: (text: string) => unknown
  readonly format: (value: unknown) => string
}

/** A large value of a context or of outputs, with a row of its own. */
export class KeptPart {
  readonly text: string
  readonly #parse: StageForm['parse']
  #value: unknown

  constructor(text: string, parse: StageForm['parse']) {
    this.text = text
    this.#parse = parse
  }

  /** A new copy, for one use. */
  read(): unknown {
    return this.#parse(this.text)
  }

  /** Frozen. */
  get value(): unknown {
    this.#value ??= freeze(this.read())
    return this.#value
  }
}

/** By container and key, as `context.manifests`. */
type KeptParts = ReadonlyMap<string, KeptPart>

const containers = ['context', 'outputs'] as const
/** Characters of a stage, beyond which its large values get rows, and of such a value. */
const partLength = 32_768

export class KeptStage {
  readonly id: string
  /** JSON of what has no row of its own. */
  readonly text: string
  readonly parts: KeptParts
  /** Characters of all. */
  readonly length: number
  readonly #parse: StageForm['parse']
  #stage: Stage | undefined

  constructor(id: string, text: string, parse: StageForm['parse'], parts: KeptParts = new Map()) {
    this.id = id
    this.text = text
    this.parts = parts
    this.length = text.length
    for (const part of parts.values()) this.length += part.text.length
    this.#parse = parse
  }

  /** The stage as it would be stored; `known` where that is the same. */
  static of(stage: Stage, { parse, format }: StageForm, known?: KeptStage): KeptStage {
    if (known?.isUnchanged(stage)) return known
    const parts = new Map<string, KeptPart>()
    for (const [path, part] of known?.parts ?? [])
      if (memberAt(stage, path) === part.value) parts.set(path, part)
    let text = format(without(stage, parts))
    if (text.length > partLength) {
      const before = parts.size
      for (const name of containers)
        for (const [key, value] of Object.entries(stage[name])) {
          const path = `${name}.${key}`
          if (parts.has(path) || !mayBeLarge(value)) continue
          const written = format(value)
          const former = known?.parts.get(path)
          if (written.length > partLength)
            parts.set(path, former?.text === written ? former : new KeptPart(written, parse))
        }
      if (parts.size > before) text = format(without(stage, parts))
    }
    const isSame = text === known?.text && isAlikeMap(parts, known.parts)
    return isSame ? known : new KeptStage(stage.id, text, parse, parts)
  }

  /** A new copy, for one use. */
  read(): Stage {
    return this.#read((part) => part.read())
  }

  #read(readPart: (part: KeptPart) => unknown): Stage {
    const stage = this.#parse(this.text) as Stage
    for (const [path, part] of this.parts) setMember(stage, path, readPart(part))
    return stage
  }

  copy(isForStep: boolean): Stage {
    this.#stage ??= freeze(this.#read((part) => part.value))
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

function splitPath(path: string): readonly [(typeof containers)[number], string] {
  const dot = path.indexOf('.')
  return [path.slice(0, dot) as (typeof containers)[number], path.slice(dot + 1)]
}

function memberAt(stage: Stage, path: string): unknown {
  const [name, key] = splitPath(path)
  return Object.hasOwn(stage[name], key) ? stage[name][key] : undefined
}

function setMember(stage: Stage, path: string, value: unknown): void {
  const [name, key] = splitPath(path)
  stage[name][key] = value as Stage['context'][string]
}

/** Their places are kept, so that the order of members is. */
function without(stage: Stage, parts: KeptParts): Stage {
  if (parts.size === 0) return stage
  const rest = { ...stage, context: { ...stage.context }, outputs: { ...stage.outputs } }
  for (const path of parts.keys()) setMember(rest, path, 0)
  return rest
}

function mayBeLarge(value: unknown): boolean {
  return typeof value === 'string'
    ? value.length > partLength / 2
    : typeof value === 'object' && value !== null
}

function isAlikeMap(one: KeptParts, other: KeptParts): boolean {
  return one.size === other.size && [...one].every(([path, part]) => other.get(path) === part)
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

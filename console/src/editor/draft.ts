/** The working copy of a pipeline: its views read signals, and change the definition, which is immutable, by steps that can be undone. */

import { type JsonObject, objectOf, scalarOf } from '@fairlead/base/json/values.ts'
import { batch, computed, type Signal, signal } from '@preact/signals'
import { type Choose, listChanges, mergeDefinitions, withoutStamps } from './changes.ts'
import { isSamePath, isSameValue, type Path, valueAt, withValueAt } from './json-path.ts'
import { type AnchoredProblem, nameMissing, type Problem, stageAt } from './problems.ts'
import type { StageTypes } from './stages.ts'

export interface TabProps {
  readonly draft: Draft
}

/** Text of a field that is no value, such as half a number. It survives a change of the view, and keeps the draft from being saved. */
interface HeldText extends AnchoredProblem {
  readonly text: string
}

/** A definition, and what led from it to the next one, such as "Remove Deploy". */
type Step = { readonly definition: JsonObject; readonly label: string }

export interface KeptDraft {
  readonly stored: JsonObject | undefined
  readonly definition: JsonObject
  /** What a new one began with; the definition unless given. */
  readonly begun?: JsonObject
  readonly held?: readonly HeldText[]
}

const maxSteps = 100

export class Draft {
  readonly application: string
  readonly definition: Signal<JsonObject>
  /** What it began from, undefined for a new one; a save that names another `updateTs` than the store has is stale. */
  readonly stored: Signal<JsonObject | undefined>
  readonly types = signal<StageTypes | undefined>(undefined)
  /** Text that is no definition yet, and why; the other views keep the last valid definition. */
  readonly unreadable = signal<
    { text: string; format: 'json' | 'yaml'; message: string } | undefined
  >(undefined)
  /** The edited text has comments, which are no part of a definition. */
  readonly hasComments = signal(false)
  /** The field to open and focus next, such as that of a problem. */
  readonly shown = signal<Path | undefined>(undefined)
  /** Whether fields that are missing are marked before the user was there: from the first save on. */
  readonly showsMissing = signal(false)
  /** Whether the last change was saved here. */
  readonly isSaved = signal(false)
  /** What the server found in the definition that it has checked last. */
  readonly findings = signal<readonly AnchoredProblem[]>([])
  checked: JsonObject | undefined
  /** Reads what was typed last in the text view. */
  readText: (() => void) | undefined
  readonly #begun: JsonObject
  readonly #held: Signal<readonly HeldText[]>
  readonly #isUnlocked = signal(false)
  readonly #past = signal<readonly Step[]>([])
  readonly #future = signal<readonly Step[]>([])
  #mergeKey: string | undefined

  readonly held = computed(() => this.#current(this.#held.value))
  readonly changes = computed(() =>
    listChanges(
      withoutStamps(this.stored.value ?? this.#begun),
      withoutStamps(this.definition.value),
    ),
  )
  readonly isDirty = computed(
    () =>
      this.unreadable.value !== undefined ||
      this.held.value.length > 0 ||
      this.changes.value.length > 0,
  )
  readonly problems = computed((): readonly Problem[] => {
    const message = this.unreadable.value?.message
    const own = (path: Path, text: string, isMissing = false): Problem => ({
      path,
      message: text,
      severity: 'error',
      isMissing,
    })
    const isNamed = String(this.definition.value['name'] ?? '').trim() !== ''
    return [
      ...(message === undefined ? [] : [own([], message)]),
      ...(isNamed ? [] : [own(['name'], nameMissing, true)]),
      ...this.held.value,
      ...this.#current(this.findings.value),
    ]
  })
  /** Why it cannot be changed; changes are ignored then. */
  readonly readOnly = computed(() =>
    this.#isUnlocked.value ? undefined : describeReadOnly(this.stored.value),
  )
  readonly undoLabel = computed(() => this.#past.value.at(-1)?.label)
  readonly redoLabel = computed(() => this.#future.value.at(-1)?.label)

  constructor(
    application: string,
    { stored, definition, begun = definition, held = [] }: KeptDraft,
  ) {
    this.application = application
    this.definition = signal(definition)
    this.stored = signal(stored)
    this.#begun = begun
    this.#held = signal(held)
  }

  #current<Kind extends AnchoredProblem>(problems: readonly Kind[]): readonly Kind[] {
    const definition = this.definition.value
    return problems.filter(
      ({ path, stage, value }) =>
        isSameValue(valueAt(definition, path), value) && stageAt(definition, path) === stage,
    )
  }

  /** @param mergeKey Changes of one key in a row are one step of undo. */
  change(label: string, edit: (definition: JsonObject) => JsonObject, mergeKey?: string): void {
    const before = this.definition.peek()
    const after = edit(before)
    if (this.readOnly.peek() !== undefined || isSameValue(before, after)) return
    batch(() => {
      if (mergeKey === undefined || mergeKey !== this.#mergeKey) {
        this.#past.value = [...this.#past.peek(), { definition: before, label }].slice(-maxSteps)
      }
      this.#future.value = []
      this.#become(after, mergeKey)
    })
  }

  #become(definition: JsonObject, mergeKey: string | undefined): void {
    this.#mergeKey = mergeKey
    this.isSaved.value = false
    this.definition.value = definition
  }

  /** One field; undefined removes the key or the item. Typing in one field is one step of undo. */
  set(path: Path, value: unknown, label: string): void {
    this.change(label, (definition) => withValueAt(definition, path, value), JSON.stringify(path))
  }

  /** Without a text, the field has a value, or is left as it was. */
  hold(path: Path, text: string | undefined, message: string): void {
    const definition = this.definition.peek()
    const [stage, value] = [stageAt(definition, path), valueAt(definition, path)]
    const others = this.held.peek().filter((other) => !isSamePath(other.path, path))
    this.#held.value =
      text === undefined
        ? others
        : [...others, { path, text, message, severity: 'error', stage, value }]
  }

  undo(): void {
    this.#travel(this.#past, this.#future)
  }

  redo(): void {
    this.#travel(this.#future, this.#past)
  }

  #travel(from: Signal<readonly Step[]>, to: Signal<readonly Step[]>): void {
    const step = from.peek().at(-1)
    if (step === undefined) return
    batch(() => {
      from.value = from.peek().slice(0, -1)
      to.value = [...to.peek(), { definition: this.definition.peek(), label: step.label }]
      this.#become(step.definition, undefined)
    })
  }

  /** The next change is a step of undo of its own, whatever it changes. */
  endStep(): void {
    this.#mergeKey = undefined
  }

  /** Back to what is stored; undo brings the changes back. */
  discard(): void {
    this.#held.value = []
    this.unreadable.value = undefined
    this.change('Discard changes', () => this.stored.peek() ?? this.#begun)
  }

  /** After a save of anyone. What changed from `base` to `stored` goes into every step of undo, so that no step takes it back. */
  rebase(base: JsonObject, stored: JsonObject, choose?: Choose): void {
    const move = (definition: JsonObject) =>
      mergeDefinitions(base, definition, stored, choose).definition
    const moveSteps = (steps: readonly Step[]) =>
      steps.map((step) => ({ ...step, definition: move(step.definition) }))
    batch(() => {
      this.definition.value = move(this.definition.peek())
      this.#past.value = moveSteps(this.#past.peek())
      this.#future.value = moveSteps(this.#future.peek())
      this.#mergeKey = undefined
      this.stored.value = stored
    })
  }

  get mayUnlock(): boolean {
    const { ui, allowUnlockUi } = objectOf(this.stored.peek()?.['locked'])
    return ui === true && allowUnlockUi !== false && this.readOnly.value !== undefined
  }

  /** From the next save on the pipeline has no lock. */
  unlock(): void {
    this.#isUnlocked.value = true
    this.set(['locked'], undefined, 'Unlock')
  }

  toKept(): KeptDraft {
    return {
      stored: this.stored.value,
      definition: this.definition.value,
      begun: this.#begun,
      held: this.held.value,
    }
  }
}

/** A locked pipeline is changed where it is made, one of a template in the template. */
function describeReadOnly(stored: JsonObject | undefined) {
  const { ui, description } = objectOf(stored?.['locked'])
  const why = scalarOf(description) === undefined ? '' : ` (${description})`
  if (ui === true) return `This pipeline is locked${why}: it is changed where it is made, not here.`
  if (stored?.['type'] !== 'templatedPipeline') return undefined
  return 'This pipeline comes from a template. Change the template, or its variables where they are kept.'
}

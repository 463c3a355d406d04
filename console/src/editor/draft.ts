/**
 * The working copy of a pipeline: graph, forms, text, difference, history and dry run are views of one `Draft`.
 *
 * A view is a component `({ draft }: TabProps)` in a file of its own, loaded when its tab is opened. It reads signals, and changes the
 * definition only by `change`, `set` and `replace`, which keep undo: values are immutable, and what a view does not know stays.
 *
 * - `draft.definition.value`: the definition as it would be saved. `draft.stored.value`: what it began from, undefined for a new one.
 * - `draft.set(path, value, label)`: one field; undefined removes it. Typing in one field is one step of undo.
 * - `draft.replace(definition, label, mergeKey?)`: the whole definition, as from text, a revision or an import.
 * - `draft.hold(path, text, message)`: what was typed into a field and is no value yet, such as half a number or broken JSON. It survives a
 *   change of the view, is shown again by `draft.heldAt(path)?.text`, and keeps the draft from being saved until `draft.release(path)`.
 * - `draft.unreadable.value`: text that is no definition yet, set by the text view; the other views keep the last valid definition.
 * - `draft.problems.value`: what is wrong, by path from the definition; refusals of the server are among them.
 * - `draft.selected.value`: key of the selected stage. `draft.types.value`: the stage types, once they are loaded.
 * - `draft.readOnly.value`: why it cannot be changed; changes are ignored then.
 */
import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { digitsLost, hasInexact, keepsDigits } from '../model/exact-json.ts'
import type { Json } from '../model/read.ts'
import { numberOf, objectOf, textOf } from '../model/read.ts'
import { type DefinitionChange, type KeyPath, listChanges, type MergeChoice, mergeDefinitions } from './changes.ts'
import type { StageTypes } from './descriptions.ts'
import { isSamePath, isSameValue, type Path, valueAt, withValueAt } from './json-path.ts'
import { findProblems, type Problem } from './problems.ts'
import { toNodes } from './stages.ts'

export interface TabProps {
  readonly draft: Draft
}

/** What the draft was read from. */
export interface Stored {
  readonly definition: Json
  /** Milliseconds since the epoch, as the store writes them; a save that names another one is stale. */
  readonly updateTs: string | undefined
  readonly lastModifiedBy: string | undefined
}

export function toStored(definition: Json): Stored {
  const { updateTs, lastModifiedBy } = definition
  const stamp = numberOf(updateTs)
  return { definition, updateTs: stamp === undefined ? undefined : String(stamp), lastModifiedBy: textOf(lastModifiedBy) }
}

/** Text that cannot be read; it survives a change of the view. */
interface Unreadable {
  readonly text: string
  readonly format: 'json' | 'yaml'
  /** With the line, such as "Line 12: a comma is missing". */
  readonly message: string
}

/** Text of a field that is no value. */
interface HeldText {
  readonly path: Path
  readonly text: string
  /** A sentence that says what is wrong with it. */
  readonly message: string
  /** The stage of the field, and what the definition has there: once either is another, the text is outdated. */
  readonly stage: string | undefined
  readonly value: unknown
}

interface Step {
  readonly definition: Json
  /** What led from here to the next one, such as "Remove Deploy". */
  readonly label: string
}

/** What survives a reload of the page. */
export interface KeptDraft {
  readonly stored: Json | undefined
  readonly definition: Json
  /** What a new one began with; the definition unless given. */
  readonly begun?: Json | undefined
  readonly held?: readonly HeldText[] | undefined
}

const maxSteps = 100
/** The store sets these; they are no change of the user's. */
const stamps = ['updateTs', 'lastModifiedBy', 'lastModified', 'createTs']

export class Draft {
  readonly application: string
  readonly definition: ReadonlySignal<Json>
  readonly stored: Signal<Stored | undefined>
  readonly types = signal<StageTypes | undefined>(undefined)
  readonly selected = signal<string | undefined>(undefined)
  readonly unreadable = signal<Unreadable | undefined>(undefined)
  /** Whether the user lifted the lock of the pipeline. */
  readonly isUnlocked = signal(false)
  /** The field to open and focus next, such as that of a problem. */
  readonly shown = signal<Path | undefined>(undefined)
  /** Whether fields that are missing are marked before the user was there: from the first save on. */
  readonly showsMissing = signal(false)
  /** Whether the last change was saved here. */
  readonly isSaved = signal(false)
  /** Reads what was typed last, set by the text view. */
  readText: (() => void) | undefined
  readonly held: ReadonlySignal<readonly HeldText[]>
  /** What the server found in the last save, until the definition changes. */
  readonly refusals = signal<readonly Problem[]>([])
  readonly isDirty: ReadonlySignal<boolean>
  /** What a save would change. */
  readonly changes: ReadonlySignal<readonly DefinitionChange[]>
  readonly problems: ReadonlySignal<readonly Problem[]>
  readonly readOnly: ReadonlySignal<string | undefined>
  /** What undo takes back, and redo does again. */
  readonly undoLabel: ReadonlySignal<string | undefined>
  readonly redoLabel: ReadonlySignal<string | undefined>
  readonly #definition: Signal<Json>
  readonly #past = signal<readonly Step[]>([])
  readonly #future = signal<readonly Step[]>([])
  readonly #held: Signal<readonly HeldText[]>
  readonly #begun: Json
  #mergeKey: string | undefined

  constructor(application: string, { stored, definition, begun = definition, held = [] }: KeptDraft) {
    this.application = application
    this.#begun = begun
    this.#definition = signal(definition)
    this.definition = this.#definition
    this.stored = signal(stored === undefined ? undefined : toStored(stored))
    this.#held = signal(held)
    this.held = computed(() => this.#held.value.filter((each) => isCurrent(each, this.#definition.value)))
    this.isDirty = computed(
      () =>
        this.unreadable.value !== undefined ||
        this.held.value.length > 0 ||
        !isSameDefinition(this.stored.value?.definition ?? begun, this.#definition.value),
    )
    this.changes = computed(() => {
      const base = withoutStamps(this.stored.value?.definition ?? begun)
      return listChanges(base, withoutStamps(this.#definition.value))
    })
    const found = computed(() => findProblems(this.#definition.value, this.types.value))
    this.problems = computed(() => [...this.refusals.value, ...this.held.value.map(toProblem), ...found.value])
    this.readOnly = computed(() => (this.isUnlocked.value ? undefined : describeReadOnly(this.stored.value?.definition)))
    this.undoLabel = computed(() => this.#past.value.at(-1)?.label)
    this.redoLabel = computed(() => this.#future.value.at(-1)?.label)
  }

  /** @param mergeKey Changes of one key in a row are one step of undo. */
  change(label: string, edit: (definition: Json) => Json, mergeKey?: string): void {
    const before = this.#definition.peek()
    const after = edit(before)
    if (this.readOnly.peek() !== undefined || isSameValue(before, after)) return
    batch(() => {
      if (mergeKey === undefined || mergeKey !== this.#mergeKey) {
        this.#past.value = [...this.#past.peek(), { definition: before, label }].slice(-maxSteps)
      }
      this.#mergeKey = mergeKey
      this.#future.value = []
      this.refusals.value = []
      this.isSaved.value = false
      this.#definition.value = after
    })
  }

  /** Undefined removes the key or the item. */
  set(path: Path, value: unknown, label: string): void {
    this.change(label, (definition) => withValueAt(definition, path, value), JSON.stringify(path))
  }

  replace(definition: Json, label: string, mergeKey?: string): void {
    this.change(label, () => definition, mergeKey)
  }

  /** @param message A sentence that says why the text is no value. */
  hold(path: Path, text: string, message: string): void {
    const definition = this.#definition.peek()
    const held = { path, text, message, stage: stageAt(definition, path), value: valueAt(definition, path) }
    this.#held.value = [...this.held.peek().filter((other) => !isSamePath(other.path, path)), held]
  }

  /** The field has a value, or is left as it was. */
  release(path: Path): void {
    if (this.heldAt(path) !== undefined) this.#held.value = this.held.peek().filter((other) => !isSamePath(other.path, path))
  }

  heldAt(path: Path): HeldText | undefined {
    return this.held.value.find((each) => isSamePath(each.path, path))
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
      to.value = [...to.peek(), { definition: this.#definition.peek(), label: step.label }]
      this.#definition.value = step.definition
      this.#mergeKey = undefined
      this.refusals.value = []
    })
  }

  /** The next change is a step of undo of its own, whatever it changes. */
  endStep(): void {
    this.#mergeKey = undefined
  }

  /** Back to what is stored; undo brings the changes back. */
  discard(): void {
    const base = this.stored.peek()?.definition
    this.#held.value = []
    this.unreadable.value = undefined
    if (base !== undefined) this.replace(base, 'Discard changes')
  }

  /**
   * After a save, or when another user saved: the draft is now based on `stored`. What changed between `base` and that goes into every
   * step of undo, so that no step takes it back.
   *
   * @param choose Where draft and `stored` differ; `mine` unless it says otherwise.
   */
  rebase(base: Json, stored: Json, choose?: (path: KeyPath) => MergeChoice | undefined): void {
    const move = (step: Step) => ({ ...step, definition: mergeDefinitions(base, step.definition, stored, choose).definition })
    batch(() => {
      this.#definition.value = mergeDefinitions(base, this.#definition.peek(), stored, choose).definition
      this.#past.value = this.#past.peek().map(move)
      this.#future.value = this.#future.peek().map(move)
      this.#mergeKey = undefined
      this.stored.value = toStored(stored)
    })
  }

  /** Whether the lock may be lifted here. */
  get mayUnlock(): boolean {
    const locked = objectOf(this.stored.peek()?.definition['locked'])
    return locked['ui'] === true && locked['allowUnlockUi'] !== false
  }

  /** From the next save on the pipeline has no lock. */
  unlock(): void {
    this.isUnlocked.value = true
    this.set(['locked'], undefined, 'Unlock')
  }

  /** The stored pipeline is gone: the next save creates a new one. */
  detach(): void {
    this.stored.value = undefined
  }

  toKept(): KeptDraft {
    return {
      stored: this.stored.peek()?.definition,
      definition: this.#definition.peek(),
      begun: this.#begun,
      held: this.held.peek(),
    }
  }
}

function stageAt(definition: Json, [list, index]: Path): string | undefined {
  return list === 'stages' && typeof index === 'number' ? toNodes(definition)[index]?.key : undefined
}

function isCurrent({ path, stage, value }: HeldText, definition: Json): boolean {
  return isSameValue(valueAt(definition, path), value) && stageAt(definition, path) === stage
}

function toProblem({ path, message, stage }: HeldText): Problem {
  return { path, message, stage, kind: 'wrong', severity: 'error' }
}

/** Equal apart from what the store sets. */
export function isSameDefinition(left: Json, right: Json): boolean {
  return isSameValue(withoutStamps(left), withoutStamps(right))
}

export function withoutStamps(definition: Json): Json {
  return Object.fromEntries(Object.entries(definition).filter(([name]) => !stamps.includes(name)))
}

/** A locked pipeline is changed where it is made, one of a template in the template. */
function describeReadOnly(stored: Json | undefined): string | undefined {
  if (stored === undefined) return undefined
  if (!keepsDigits && hasInexact(stored)) return digitsLost
  const locked = objectOf(stored['locked'])
  const why = textOf(locked['description'])
  if (locked['ui'] === true)
    return `This pipeline is locked${why === undefined ? '' : ` (${why})`}: it is changed where it is made, not here.`
  if (stored['type'] !== 'templatedPipeline') return undefined
  return 'This pipeline comes from a template. Change the template, or its variables where they are kept.'
}

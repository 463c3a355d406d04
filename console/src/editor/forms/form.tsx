/** Forms made by hand, of parts: fields under labels that people use, rows, folds, choices of a few ways. */
import { type ComponentChildren, createContext, type FunctionComponent, type VNode } from 'preact'
import { useContext, useId } from 'preact/hooks'
import { type Json, objectOf } from '../../model/read.ts'
import { describeText, type FieldDescription, namesOf } from '../descriptions.ts'
import type { Draft } from '../draft.ts'
import { FieldView, MoreFields, type ShownField } from '../fields.tsx'
import { type Path, valueAt, withValueAt } from '../json-path.ts'

interface FormPlace {
  readonly draft: Draft
  /** Leads to the object that the form edits: a stage, or a cluster of one. */
  readonly base: Path
  readonly fields: readonly FieldDescription[]
}

export interface Form extends FormPlace {
  /** The object. */
  readonly holder: Json
  /** Names may be paths with dots. */
  readonly get: (name: string) => unknown
}

const FormContext = createContext<FormPlace | undefined>(undefined)

export function useForm(): Form {
  const place = useContext(FormContext) as FormPlace
  const holder = objectOf(valueAt(place.draft.definition.value, place.base))
  return { ...place, holder, get: (name) => valueAt(holder, name.split('.')) }
}

export interface Part {
  readonly View: FunctionComponent
  /** Keys of the object that it shows. */
  readonly shows: readonly string[]
}

/** A field, with what the description of the stage says about it unless the form says otherwise. */
export function field(name: string, label: string, help = '', more: Partial<ShownField> = {}): Part {
  const steps = name.split('.')
  const last = steps.pop() ?? ''
  const View = () => {
    const { draft, base, fields } = useForm()
    const within = steps.reduce((outer, step) => outer.find((each) => each.name === step)?.fields ?? [], fields)
    const known = within.find((each) => each.name === last) ?? describeText(last)
    return <FieldView draft={draft} base={[...base, ...steps]} field={{ ...known, label, help, ...more }} />
  }
  return { View, shows: [steps[0] ?? last] }
}

/** @param View Draws the parts in its own way. */
export function group(parts: readonly Part[], View: FunctionComponent): Part {
  return { View, shows: parts.flatMap(({ shows }) => shows) }
}

export function Parts({ parts }: { parts: readonly Part[] }) {
  return (
    <>
      {parts.map(({ View }, index) => (
        <View key={index} />
      ))}
    </>
  )
}

/** Beside each other. */
export function row(...parts: readonly Part[]): Part {
  return group(parts, () => (
    <div class="form-row">
      <Parts parts={parts} />
    </div>
  ))
}

/** What is rarely needed. */
export function fold(title: string, ...parts: readonly Part[]): Part {
  return group(parts, () => (
    <details class="advanced">
      <summary>{title}</summary>
      <Parts parts={parts} />
    </details>
  ))
}

export function only(isShown: (form: Form) => boolean, ...parts: readonly Part[]): Part {
  return group(parts, () => (isShown(useForm()) ? <Parts parts={parts} /> : null))
}

interface Choosing<Id extends string> {
  readonly ways: readonly Way<Id>[] | ((form: Form) => readonly Way<Id>[])
  readonly chosen: (form: Form) => Id | undefined
  /** The values that it sets, by names that may be paths with dots; undefined removes one. */
  readonly set: (id: Id, form: Form) => Json
  readonly shows?: readonly string[]
}

export function oneOf<Id extends string>(label: string, choosing: Choosing<Id>): Part {
  const { ways: known, chosen, set, shows = [] } = choosing
  const View = () => {
    const form = useForm()
    const choose = (id: Id) =>
      form.draft.change(`Change ${label}`, (definition) =>
        Object.entries(set(id, form)).reduce(
          (whole, [name, value]) => withValueAt(whole, [...form.base, ...name.split('.')], value),
          definition,
        ),
      )
    return <Ways label={label} ways={typeof known === 'function' ? known(form) : known} chosen={chosen(form)} onChoose={choose} />
  }
  return { View, shows }
}

interface FormViewProps extends FormPlace {
  readonly parts: readonly Part[]
  /** Keys that others show; unless given, there are no further fields. */
  readonly known?: readonly string[]
}

export function FormView({ parts, known, ...place }: FormViewProps) {
  const shown = new Set(parts.flatMap(({ shows }) => shows))
  const { draft, base, fields } = place
  const rest = fields.filter(({ name }) => !shown.has(name))
  return (
    <FormContext.Provider value={place}>
      <Parts parts={parts} />
      {known && <MoreFields draft={draft} base={base} fields={rest} known={[...fields.flatMap(namesOf), ...shown, ...known]} />}
    </FormContext.Provider>
  )
}

export interface Way<Id extends string> {
  readonly id: Id
  readonly label: string
  readonly help?: ComponentChildren
  readonly picture?: VNode
  /** Why it cannot be chosen here. */
  readonly refused?: string | undefined
}

interface WaysProps<Id extends string> {
  readonly label: string
  readonly ways: readonly Way<Id>[]
  readonly chosen: string | undefined
  readonly onChoose: (id: Id) => void
}

/** A few ways to do a thing, of which one is chosen: cards that say when to choose them. */
export function Ways<Id extends string>({ label, ways: cards, chosen, onChoose }: WaysProps<Id>) {
  const name = useId()
  return (
    <fieldset class={`field ways ${cards.some(({ picture }) => picture !== undefined) ? 'has-pictures' : ''}`}>
      <legend>{label}</legend>
      <div class="ways-list">
        {cards.map(({ id, label: text, help, picture, refused }) => (
          <label key={id} class="way">
            <input
              type="radio"
              name={name}
              checked={id === chosen}
              disabled={refused !== undefined}
              onChange={() => onChoose(id)}
            />
            <span>
              {picture}
              <strong>{text}</strong>
              {(refused ?? help) !== undefined && <span class="help">{refused ?? help}</span>}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}

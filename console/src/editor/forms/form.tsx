/** Parts of the forms made by hand: a field by its name, a choice of a few ways, a fold. */
import { type ComponentChildren, createContext, type VNode } from 'preact'
import { useContext, useId } from 'preact/hooks'
import { type Json, objectOf } from '../../model/read.ts'
import { describeText, type FieldDescription } from '../descriptions.ts'
import type { Draft } from '../draft.ts'
import { FieldView, type FieldViewProps } from '../fields.tsx'
import { type Path, valueAt } from '../json-path.ts'

interface FormPlace {
  readonly draft: Draft
  /** Leads to the object that the form edits: a stage, or a cluster of one. */
  readonly base: Path
  readonly fields: readonly FieldDescription[]
}

export const FormContext = createContext<FormPlace | undefined>(undefined)

interface Form extends FormPlace {
  readonly holder: Json
  /** Paths are written with dots, from the object of the form. */
  readonly get: (name: string) => unknown
  readonly set: (name: string, value: unknown) => void
}

export function useForm(): Form {
  const place = useContext(FormContext) as FormPlace
  const { draft, base } = place
  const holder = objectOf(valueAt(draft.definition.value, base))
  return {
    ...place,
    holder,
    get: (name) => valueAt(holder, name.split('.')),
    set: (name, value) => draft.set([...base, ...name.split('.')], value, `Change ${name}`),
  }
}

type FProps = Partial<Pick<FieldDescription, 'kind' | 'required'>> &
  Omit<FieldViewProps, 'draft' | 'base' | 'field' | 'label'> & { readonly name: string; readonly label: string }

/** A field of the stage under a label that people use; what the form does not say comes from the description. */
export function F({ name, kind, required, ...view }: FProps) {
  const { draft, base, fields } = useContext(FormContext) as FormPlace
  const steps = name.split('.')
  const last = steps.pop() as string
  const holders = steps.reduce((within, step) => within.find((field) => field.name === step)?.fields ?? [], fields)
  const known = holders.find((field) => field.name === last) ?? describeText(last)
  const field = { ...known, kind: kind ?? known.kind, required: required ?? known.required }
  return <FieldView key={name} draft={draft} base={[...base, ...steps]} field={field} {...view} />
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
  readonly chosen: Id | undefined
  readonly onChoose: (id: Id) => void
  readonly help?: ComponentChildren
}

/** A few ways to do a thing, of which one is chosen: cards that say when to choose them. */
export function Ways<Id extends string>({ label, ways, chosen, onChoose, help }: WaysProps<Id>) {
  const name = useId()
  return (
    <fieldset class={`field ways ${ways.some(({ picture }) => picture !== undefined) ? 'has-pictures' : ''}`}>
      <legend>{label}</legend>
      <div class="ways-list">
        {ways.map(({ id, label: text, help: when, picture, refused }) => (
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
              {(refused ?? when) !== undefined && <span class="help">{refused ?? when}</span>}
            </span>
          </label>
        ))}
      </div>
      {help !== undefined && <p class="help">{help}</p>}
    </fieldset>
  )
}

/** What is rarely needed. */
export function Fold({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <details class="advanced">
      <summary>{title}</summary>
      {children}
    </details>
  )
}

/** Forms made by hand, of parts: fields under labels that people use, rows, folds, choices of a few ways. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { ComponentChildren, VNode } from 'preact'
import { useId } from 'preact/hooks'
import { FieldView, type Form, type Part, Parts, type ShownField, useForm } from '../fields.tsx'
import { withValueAt } from '../json-path.ts'
import { describeText } from '../stages.ts'

/** A field, with what the description of the stage says about it unless the form says otherwise. */
export function field(
  name: string,
  label: string,
  help = '',
  more: Partial<ShownField> = {},
): Part {
  const steps = name.split('.')
  const last = steps.pop() ?? ''
  const View = () => {
    const outer = steps.reduce(
      (all, step) => all.find((each) => each.name === step)?.fields ?? [],
      useForm().fields,
    )
    const known = outer.find((each) => each.name === last) ?? describeText(last)
    return <FieldView within={steps} field={{ ...known, label, help, ...more }} />
  }
  return { View, shows: steps.length === 0 ? [last] : [] }
}

/** @param draw What surrounds the parts, or null instead of them. */
export function group(
  parts: readonly Part[],
  draw: (content: VNode, form: Form) => VNode | null,
): Part {
  return {
    View: () => draw(<Parts parts={parts} />, useForm()),
    shows: parts.flatMap(({ shows }) => shows),
  }
}

/** Puts the parts beside each other. */
export function row(...parts: readonly Part[]): Part {
  return group(parts, (content) => <div class="form-row">{content}</div>)
}

export function only(isShown: (form: Form) => boolean, ...parts: readonly Part[]): Part {
  return group(parts, (content, form) => (isShown(form) ? content : null))
}

interface Choosing<Id extends string> {
  readonly ways: readonly Way<Id>[] | ((form: Form) => readonly Way<Id>[])
  readonly chosen: (form: Form) => Id
  /** The values that it sets, by names that may be paths with dots; undefined removes one. */
  readonly set: (id: Id, form: Form) => JsonObject
  readonly shows?: readonly string[]
}

export function oneOf<Id extends string>(
  label: string,
  { ways, chosen, set, shows = [] }: Choosing<Id>,
): Part {
  const View = () => {
    const form = useForm()
    const choose = (id: Id) =>
      form.draft.change(`Change ${label}`, (definition) =>
        Object.entries(set(id, form)).reduce(
          (whole, [name, value]) => withValueAt(whole, [...form.base, ...name.split('.')], value),
          definition,
        ),
      )
    return (
      <Ways
        label={label}
        ways={typeof ways === 'function' ? ways(form) : ways}
        chosen={chosen(form)}
        onChoose={choose}
      />
    )
  }
  return { View, shows }
}

export interface Way<Id extends string> {
  readonly id: Id
  readonly label: string
  readonly help?: ComponentChildren
  readonly picture?: VNode
  /** Why it cannot be chosen here. */
  readonly refused?: string
}

interface WaysProps<Id extends string> {
  readonly label: string
  readonly ways: readonly Way<Id>[]
  readonly chosen: string | undefined
  readonly onChoose: (id: Id) => void
}

/** A few ways to do a thing, of which one is chosen: cards that say when to choose them. */
export function Ways<Id extends string>({ label, ways, chosen, onChoose }: WaysProps<Id>) {
  const name = useId()
  return (
    <fieldset class={`field ways ${ways.some(({ picture }) => picture) ? 'has-pictures' : ''}`}>
      <legend>{label}</legend>
      <div class="ways-list">
        {ways.map(({ id, label: text, help, picture, refused }) => (
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

/** Forms of the objects of a definition: parts made by hand, and fields by their description. */

import { type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { isExpression } from '@fairlead/model/stage-types/check-stage.ts'
import { namesOf } from '@fairlead/model/stage-types/description.ts'
import { fieldLabelOf } from '@fairlead/model/stage-types/labels.ts'
import { createContext, type FunctionComponent } from 'preact'
import { useContext, useId, useRef, useState } from 'preact/hooks'
import { Banner } from '../components/button.tsx'
import { Check, Field } from '../components/form-fields.tsx'
import { Name } from '../components/text.tsx'
import { useChoices } from './choices.ts'
import type { Draft } from './draft.ts'
import { type InputProps, inputOf, JsonInput, kindOf, switchedKinds, TextInput } from './inputs.tsx'
import { ItemList, useFocus, useFold } from './item-list.tsx'
import { isSamePath, isWithin, type Path, valueAt } from './json-path.ts'
import type { FieldDescription } from './stages.ts'
import { FieldContext } from './suggest.tsx'

/** So many fields are shown even if they are neither required nor set. */
const firstShown = 6

interface FormPlace {
  readonly draft: Draft
  /** Leads to the object that the form edits, the holder: a stage, a cluster of one, a trigger. */
  readonly base: Path
  readonly fields: readonly FieldDescription[]
}

export interface Form extends FormPlace {
  readonly holder: JsonObject
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

export function Parts({ parts }: { parts: readonly Part[] }) {
  return (
    <>
      {parts.map(({ View }, index) => (
        <View key={index} />
      ))}
    </>
  )
}

interface FormViewProps extends FormPlace {
  readonly parts: readonly Part[]
  /** Keys that others show; unless given, there are no further fields. */
  readonly known?: readonly string[]
}

export function FormView({ parts, known, ...place }: FormViewProps) {
  return (
    <FormContext.Provider value={place}>
      <Parts parts={parts} />
      {known && <MoreFields shown={[...parts.flatMap(({ shows }) => shows), ...known]} />}
    </FormContext.Provider>
  )
}

/** The form of what has none made by hand: what is needed, then the rest. */
export function FieldList({ known = [], ...place }: FormPlace & Pick<FormViewProps, 'known'>) {
  const parts = useNeeded(place.fields, objectOf(valueAt(place.draft.definition.value, place.base)))
  return <FormView {...place} parts={parts} known={known} />
}

/** Decided once: a field does not move away from under the fingers when it gets its first value. */
export function useNeeded(
  fields: readonly FieldDescription[],
  holder: JsonObject,
): readonly Part[] {
  const isSet = (field: FieldDescription) =>
    namesOf(field).some((name) => holder[name] !== undefined)
  const isShown = (field: FieldDescription, index: number) =>
    index < firstShown || field.required || isSet(field)
  const toPart = (field: FieldDescription): Part => ({
    View: () => <FieldView field={field} />,
    shows: [field.name],
  })
  return useState(() => fields.filter(isShown).map(toPart))[0]
}

/** A field as a form shows it. */
export interface ShownField extends FieldDescription {
  readonly label?: string
  readonly placeholder?: string
  readonly isCode?: boolean
  /** Replaces the input for its kind. */
  readonly Input?: FunctionComponent<InputProps>
  /** The key stays when its text is deleted. */
  readonly isKept?: boolean
}

/** What the parts leave out: rarer fields, then as JSON those without a description. */
function MoreFields({ shown }: { shown: readonly string[] }) {
  const { draft, base, fields, holder } = useForm()
  const rest = fields.filter(({ name }) => !shown.includes(name))
  const known = [...fields.flatMap(namesOf), ...shown]
  const others = Object.entries(holder).filter(([name]) => !known.includes(name))
  const wanted = draft.shown.value ?? []
  const isWanted =
    isWithin(wanted, base) &&
    rest.some((field) => namesOf(field).includes(String(wanted[base.length])))
  const fold = useFold(rest.length === 0 && others.length > 0, isWanted)
  const change = (next: unknown) => {
    const own = Object.entries(holder).filter(([name]) => known.includes(name))
    draft.set(base, { ...Object.fromEntries(own), ...objectOf(next) }, 'Change other fields')
  }
  const count = rest.length + others.length
  if (count === 0) return null
  return (
    <details class="advanced" {...fold}>
      <summary>More fields ({count})</summary>
      {fold.open && rest.map((field) => <FieldView key={field.name} field={field} />)}
      {fold.open && others.length > 0 && (
        <FieldContext.Provider value={{ draft, path: [...base, ''], expression: false }}>
          <Field label="Other fields" help="Fields without a description, as JSON.">
            {(tied) => (
              <JsonInput tied={tied} value={Object.fromEntries(others)} onChange={change} />
            )}
          </Field>
        </FieldContext.Provider>
      )}
    </details>
  )
}

/** Problems of an object that none of its fields shows. */
export function OtherProblems({ draft, base, fields }: FormPlace) {
  const shown = fields.flatMap(namesOf).filter((name) => name !== 'type')
  const problems = draft.problems.value.filter(
    ({ path }) => isWithin(path, base) && !shown.includes(String(path[base.length])),
  )
  return problems.map(({ message, severity }) => (
    <Banner key={message} tone={severity === 'note' ? 'info' : 'warning'}>
      <Name text={message} max={400} />
    </Banner>
  ))
}

/** The problem of a field; what is missing is said once the user was there. */
function useProblem(draft: Draft, path: Path) {
  const [isTouched, setTouched] = useState(false)
  const problem = draft.problems.value.find((each) => isSamePath(each.path, path))
  const isShown = problem?.isMissing !== true || isTouched || draft.showsMissing.value
  // The draft ends a step of undo where typing ends.
  const leave = () => {
    setTouched(true)
    draft.endStep()
  }
  return { error: isShown ? problem?.message : undefined, leave }
}

/** @param within Leads from the object of the form to the one that the field belongs to. */
export function FieldView({ field, within = [] }: { field: ShownField; within?: Path }) {
  const { draft, base: outer } = useForm()
  const base = [...outer, ...within]
  const {
    label = fieldLabelOf(field.name),
    expression = false,
    required = false,
    placeholder,
    isCode,
  } = field
  const holder = objectOf(valueAt(draft.definition.value, base))
  // Where another key of the same meaning is set, that one is edited.
  const path = [...base, namesOf(field).find((name) => holder[name] !== undefined) ?? field.name]
  const value = valueAt(draft.definition.value, path)
  const box = useRef<HTMLDivElement>(null)
  const [wantsExpression, setWantsExpression] = useState(false)
  const choices = useChoices(field, {
    application: draft.application,
    definition: draft.definition.value,
    holder,
  })
  useFocus(draft, path, box)
  const { error, leave } = useProblem(draft, path)
  const kind = kindOf(field, value)
  const mayBeExpression = expression && switchedKinds.includes(kind)
  const isText = mayBeExpression && (wantsExpression || isExpression(value))
  const set = (next: unknown) => {
    draft.set(path, next ?? (field.isKept === true ? '' : undefined), `Change ${label}`)
    // An account that is chosen brings its provider, unless another one is set.
    const account = field.choicesFrom?.endsWith('accounts')
      ? choices.find((choice) => choice.value === next)
      : undefined
    if (account !== undefined && holder['cloudProvider'] === undefined)
      draft.set([...base, 'cloudProvider'], account.note, 'Change Cloud provider')
  }
  const toggle = () => {
    setWantsExpression(!isText)
    if (isText) set(undefined)
  }
  const Input = isText ? TextInput : (field.Input ?? inputOf(kind))
  const input = isText ? { isCode: true } : { choices, placeholder, isCode }
  const usual = kind === 'choice' && !isText ? field.default : undefined
  const Body = isText ? undefined : bodies[kind]
  return (
    <FieldContext.Provider value={{ draft, path, expression }}>
      <div ref={box} class="form-field" onFocusOut={leave}>
        {mayBeExpression && <ExpressionSwitch label={label} isOn={isText} onClick={toggle} />}
        {Body !== undefined && (
          <Body
            draft={draft}
            path={path}
            field={field}
            label={label}
            error={error}
            value={value}
            onChange={set}
          />
        )}
        {Body === undefined && (
          <Field label={label} help={helpOf(field)} error={error} required={required}>
            {(tied) => (
              <Input {...input} tied={tied} label={label} value={value ?? usual} onChange={set} />
            )}
          </Field>
        )}
      </div>
    </FieldContext.Provider>
  )
}

function ExpressionSwitch({
  label,
  isOn,
  onClick,
}: {
  label: string
  isOn: boolean
  onClick: () => void
}) {
  const name = `Expression for ${label}`
  return (
    <button
      type="button"
      class="expression-switch"
      aria-pressed={isOn}
      aria-label={name}
      title={name}
      onClick={onClick}
    >
      {'${ }'}
    </button>
  )
}

interface BodyProps extends Pick<InputProps, 'value' | 'onChange'> {
  readonly draft: Draft
  readonly path: Path
  readonly field: ShownField
  readonly label: string
  readonly error: string | undefined
}

/** Instead of an input below a label. */
const bodies: Readonly<Record<string, FunctionComponent<BodyProps>>> = {
  flag: Flag,
  object: Group,
  objects: Group,
}

function Flag({ field, label, value, error, onChange }: BodyProps) {
  const id = useId()
  return (
    <div class="field is-flag">
      <Check
        checked={String(value ?? field.default) === 'true'}
        describedBy={id}
        onChange={onChange}
      >
        <span>{label}</span>
      </Check>
      <p id={id} class="help">
        {helpOf(field)}
      </p>
      {error !== undefined && <p class="error">{error}</p>}
    </div>
  )
}

function Group({
  draft,
  path,
  field: { kind, required, help, fields = [] },
  label,
  error,
}: BodyProps) {
  const form = (at: Path) => <FieldList draft={draft} base={at} fields={fields} />
  const itemName = label.replace(/ies$/, 'y').replace(/s$/, '').toLowerCase()
  return (
    <fieldset
      class={`form-group ${fields.every((each) => each.kind === 'number') ? 'is-row' : ''}`}
    >
      <legend>
        {label}
        {required && <span aria-hidden="true"> *</span>}
      </legend>
      {help !== '' && <p class="help">{help}</p>}
      {kind === 'objects' ? (
        <ItemList draft={draft} path={path} kind={{ itemName, form: (_item, at) => form(at) }} />
      ) : (
        form(path)
      )}
      {error !== undefined && <p class="error">{error}</p>}
    </fieldset>
  )
}

/** Names of fields and values stand between backticks. */
function helpOf({ help, kind, default: usual }: ShownField) {
  const isShown =
    kind !== 'flag' && usual !== undefined && usual !== '' && typeof usual !== 'object'
  if (help === '' && !isShown) return undefined
  return (
    <>
      {help
        .split('`')
        .map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}{' '}
      {isShown && <span class="usual">Empty means {String(usual)}.</span>}
    </>
  )
}

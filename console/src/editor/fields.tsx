/** Fields of a stage, a trigger or a parameter, made of their description. */
import type { ComponentChildren, FunctionComponent } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { apiPath } from '../address.ts'
import { useLive } from '../api/live.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { Field } from '../components/field.tsx'
import { stepWords } from '../model/names.ts'
import { type Json, objectOf, textOf } from '../model/read.ts'
import { formatTimes, isReadersZone } from '../model/time.ts'
import { useChoices } from './choices.ts'
import { type FieldDescription, namesOf } from './descriptions.ts'
import type { Draft } from './draft.ts'
import { type InputProps, JsonInput, MapInput, MomentInput, NumberInput, SelectInput, TextInput, TextsInput } from './inputs.tsx'
import { ItemList, useFocus, useFold } from './item-list.tsx'
import { isSamePath, isWithin, type Path, valueAt } from './json-path.ts'
import { Lazy } from './lazy.tsx'
import { loadManifestsInput } from './manifests-input.tsx'
import { isExpression } from './problems.ts'
import { FieldContext } from './suggest.tsx'

/** So many fields are shown even if they are neither required nor set. */
const firstShown = 5
const cronPauseMs = 400

/** A field as a form shows it. */
export interface ShownField extends FieldDescription {
  readonly label?: string
  readonly placeholder?: string
  readonly isCode?: boolean
  /** Instead of the input for its kind. */
  readonly Input?: FunctionComponent<InputProps>
  /** The key stays when its text is deleted. */
  readonly isKept?: boolean
}

interface FieldListProps {
  readonly draft: Draft
  /** Leads to the object with these fields. */
  readonly base: Path
  readonly fields: readonly FieldDescription[]
  /** Keys that something else shows. */
  readonly known?: readonly string[]
}

export function FieldList({ draft, base, fields, known = [] }: FieldListProps) {
  const holder = objectOf(valueAt(draft.definition.value, base))
  const isNeeded = (field: FieldDescription) => field.required || namesOf(field).some((name) => holder[name] !== undefined)
  // Decided once: a field does not move away from under the fingers when it gets its first value.
  const [first] = useState(() => fields.filter((field, index) => index < firstShown || isNeeded(field)).map(({ name }) => name))
  const isFirst = ({ name }: FieldDescription) => first.includes(name)
  return (
    <>
      {fields.filter(isFirst).map((field) => (
        <FieldView key={field.name} draft={draft} base={base} field={field} />
      ))}
      <MoreFields
        draft={draft}
        base={base}
        fields={fields.filter((field) => !isFirst(field))}
        known={[...fields.flatMap(namesOf), ...known]}
      />
    </>
  )
}

/** What the fields above leave out: rarer fields, then as JSON those without a description. */
export function MoreFields({ draft, base, fields, known }: Required<FieldListProps>) {
  const holder = Object.entries(objectOf(valueAt(draft.definition.value, base)))
  const others = holder.filter(([name]) => !known.includes(name))
  const shown = draft.shown.value ?? []
  const isWanted = fields.some((field) => namesOf(field).some((name) => isWithin(shown, [...base, name])))
  const fold = useFold(fields.length === 0 && others.length > 0, isWanted)
  const count = fields.length + others.length
  const change = (next: unknown) =>
    draft.set(
      base,
      { ...Object.fromEntries(holder.filter((entry) => !others.includes(entry))), ...objectOf(next) },
      'Change other fields',
    )
  if (count === 0) return null
  return (
    <details class="advanced" {...fold}>
      <summary>More fields ({count})</summary>
      {fold.open && fields.map((field) => <FieldView key={field.name} draft={draft} base={base} field={field} />)}
      {fold.open && others.length > 0 && (
        <FieldContext.Provider value={{ draft, path: [...base, ''], expression: false }}>
          <Field label="Other fields" help="Fields without a description, as JSON.">
            {(tied) => <JsonInput tied={tied} value={Object.fromEntries(others)} onChange={change} />}
          </Field>
        </FieldContext.Provider>
      )}
    </details>
  )
}

export function FieldView({ draft, base, field }: { draft: Draft; base: Path; field: ShownField }) {
  const { label = stepWords(field.name), expression } = field
  const holder = objectOf(valueAt(draft.definition.value, base))
  // Where another key of the same meaning is set, that one is edited.
  const path = [...base, namesOf(field).find((each) => holder[each] !== undefined) ?? field.name]
  const value = valueAt(draft.definition.value, path)
  const box = useRef<HTMLDivElement>(null)
  const [isTouched, setTouched] = useState(false)
  const [wantsExpression, setWantsExpression] = useState(false)
  const choices = useChoices(field, { application: draft.application, definition: draft.definition.value, holder })
  useFocus(draft, path, box)
  const problem = draft.problems.value.find((each) => isSamePath(each.path, path))
  const isShown = problem?.kind !== 'missing' || isTouched || draft.showsMissing.value
  const error = isShown ? problem?.message : undefined
  const kind = kindOf(field, value)
  const mayBeExpression = expression && kinds[kind]?.isSwitched === true
  const isText = mayBeExpression && (wantsExpression || isExpression(value))
  const set = (next: unknown) => draft.set(path, next ?? (field.isKept === true ? '' : undefined), `Change ${label}`)
  const change = (next: unknown) => {
    set(next)
    // An account that is chosen brings its provider, unless another one is set.
    const account = field.choicesFrom?.endsWith('accounts') ? choices.find((choice) => choice.value === next) : undefined
    if (account !== undefined && holder['cloudProvider'] === undefined)
      draft.set([...base, 'cloudProvider'], account.note, 'Change Cloud provider')
  }
  const toggle = () => {
    setWantsExpression(!isText)
    if (isText) set(undefined)
  }
  // The draft ends a step of undo where typing ends.
  const leave = () => {
    setTouched(true)
    draft.endStep()
  }
  const { View = InputView, Input = JsonInput }: Kind = (isText ? expressionKind : kinds[kind]) ?? {}
  const shown = { draft, path, field, label, error, value, choices, Input: isText ? Input : (field.Input ?? Input) }
  return (
    <FieldContext.Provider value={{ draft, path, expression }}>
      <div ref={box} class={`form-field is-${kind}`} onFocusOut={leave}>
        {mayBeExpression && <ExpressionSwitch label={label} isOn={isText} onClick={toggle} />}
        <View {...shown} onChange={isText ? set : change} />
      </div>
    </FieldContext.Provider>
  )
}

function ExpressionSwitch({ label, isOn, onClick }: { label: string; isOn: boolean; onClick: () => void }) {
  const name = `Expression for ${label}`
  return (
    <button type="button" class="expression-switch" aria-pressed={isOn} aria-label={name} title={name} onClick={onClick}>
      {'${ }'}
    </button>
  )
}

interface ViewProps extends Required<Pick<InputProps, 'value' | 'onChange' | 'label' | 'choices'>> {
  readonly draft: Draft
  readonly path: Path
  readonly field: ShownField
  readonly error: string | undefined
  readonly Input: FunctionComponent<InputProps>
}

/** What is particular to a kind of values; without any of it, the value is edited as JSON. */
interface Kind {
  readonly takes?: (value: unknown) => boolean
  readonly Input?: FunctionComponent<InputProps>
  /** Instead of an input below a label. */
  readonly View?: FunctionComponent<ViewProps>
  /** Its input takes no expression: another one does. */
  readonly isSwitched?: boolean
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
const isFlag = (value: unknown) => typeof value === 'boolean' || value === 'true' || value === 'false'
const isListOf = (fits: (item: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(fits)

const expressionKind: Kind = { Input: (props) => <TextInput {...props} choices={[]} isCode /> }
const kinds: Readonly<Record<string, Kind>> = {
  text: { takes: isPlain, Input: TextInput },
  'long-text': { takes: isPlain, Input: (props) => <TextInput {...props} isLong /> },
  number: { takes: isPlain, Input: NumberInput },
  moment: { takes: isPlain, Input: MomentInput, isSwitched: true },
  choice: { takes: isPlain, Input: SelectInput, isSwitched: true },
  texts: { takes: isListOf(isPlain), Input: TextsInput, isSwitched: true },
  map: {
    takes: (value) => isObject(value) && Object.values(objectOf(value)).every((item) => typeof item !== 'object'),
    Input: MapInput,
    isSwitched: true,
  },
  flag: { takes: isFlag, View: FlagView, isSwitched: true },
  object: { takes: isObject, View: GroupView, isSwitched: true },
  objects: { takes: isListOf(isObject), View: GroupView, isSwitched: true },
  manifest: { takes: () => true, Input: (props) => <ManifestsField {...props} isOne /> },
  manifests: { takes: () => true, Input: ManifestsField },
  cron: { takes: isPlain, Input: CronInput },
  'webhook-source': { takes: isPlain, Input: WebhookInput },
}

/** A value of another shape than the description says is edited as JSON. */
function kindOf({ name, kind, fields }: FieldDescription, value: unknown): string {
  // Objects of a cluster have no fields that a form could know.
  if (fields === undefined && ['manifest', 'manifests', 'patchBody'].includes(name))
    return name === 'manifest' ? name : 'manifests'
  const takes = kind === 'object' && fields === undefined ? undefined : kinds[kind]?.takes
  if (takes === undefined) return 'json'
  if (value === undefined || value === null || isExpression(value) || takes(value)) return kind
  return kind === 'texts' && isPlain(value) ? 'text' : 'json'
}

function InputView({ field, label, error, Input, value, ...input }: ViewProps) {
  const { placeholder, isCode, required, kind } = field
  const shown = kind === 'choice' ? (value ?? field.default) : value
  return (
    <Field label={label} help={helpOf(field)} error={error} required={required}>
      {(tied) => <Input {...input} value={shown} tied={tied} label={label} placeholder={placeholder} isCode={isCode} />}
    </Field>
  )
}

function FlagView({ field, label, value, error, onChange }: ViewProps) {
  const id = useId()
  return (
    <div class="field is-flag">
      <label class="check">
        <input
          type="checkbox"
          checked={String(value ?? field.default) === 'true'}
          aria-describedby={`${id}-help`}
          aria-invalid={error !== undefined}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      <p id={`${id}-help`} class="help">
        {helpOf(field)}
      </p>
      {error !== undefined && <p class="error">{error}</p>}
    </div>
  )
}

function GroupView({ draft, path, field: { kind, required, help, fields = [] }, label, error }: ViewProps) {
  const form = (_item: Json, at: Path) => <FieldList draft={draft} base={at} fields={fields} />
  const itemName = label.replace(/ies$/, 'y').replace(/s$/, '').toLowerCase()
  return (
    <fieldset class={`form-group ${fields.every((each) => each.kind === 'number') ? 'is-row' : ''}`}>
      <legend>
        {label}
        {required && <span aria-hidden="true"> *</span>}
      </legend>
      <p class="help">{help}</p>
      {kind === 'objects' ? <ItemList draft={draft} path={path} kind={{ itemName, form }} /> : form({}, path)}
      {error !== undefined && <p class="error">{error}</p>}
    </fieldset>
  )
}

function ManifestsField({ tied, label = '', value, onChange, isOne = false }: InputProps & { readonly isOne?: boolean }) {
  return (
    <div id={tied.id} role="group" aria-label={label} aria-describedby={tied['aria-describedby']}>
      <Lazy load={loadManifestsInput} props={{ label, isOne, value, onChange }} />
    </div>
  )
}

/** Names of fields and values stand between backticks. */
function helpOf({ help, kind, default: usual }: ShownField): ComponentChildren {
  const isShown = kind !== 'flag' && usual !== undefined && usual !== '' && typeof usual !== 'object'
  if (help === '' && !isShown) return undefined
  return (
    <>
      {help.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}{' '}
      {isShown && <span class="usual">Default: {String(usual)}.</span>}
    </>
  )
}

function CronInput(props: InputProps) {
  return (
    <>
      <TextInput {...props} isCode />
      <CronVerdict text={textOf(props.value) ?? ''} />
    </>
  )
}

/** What the service that fires it thinks of an expression, after a pause in typing. */
function CronVerdict({ text }: { text: string }) {
  const [asked, setAsked] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), cronPauseMs)
    return () => clearTimeout(timer)
  }, [text])
  const query = asked.trim() === '' || isExpression(asked) ? undefined : { query: { expression: asked } }
  const { body } = useLive('/cron/validate', query, { refresh: 'open' }).reading.value
  if (body === undefined || asked !== text) return null
  if (!body.valid) return <p class="verdict error">{body.message ?? ''}</p>
  const { description = '', nextTimes = [], timeZone } = body
  return (
    <p class="verdict muted">
      {description}
      <br />
      Next, in your zone: {formatTimes(nextTimes)}.
      {timeZone !== undefined && !isReadersZone(timeZone) && ` In ${timeZone}: ${formatTimes(nextTimes, timeZone)}.`}
    </p>
  )
}

function WebhookInput(props: InputProps) {
  const source = textOf(props.value)
  const address = `${location.origin}${apiPath}/webhooks/webhook/${encodeURIComponent(source ?? '')}`
  return (
    <>
      <TextInput {...props} />
      {source !== undefined && (
        <p class="verdict muted row tight">
          <code class="cut">{address}</code> <CopyButton text={address} label="Copy the address" />
        </p>
      )}
    </>
  )
}

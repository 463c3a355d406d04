/** Fields of a stage, a trigger or a parameter, made of their description. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { apiPath } from '../address.ts'
import { useLive } from '../api/live.ts'
import { Banner } from '../components/banner.tsx'
import { IconButton } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Field } from '../components/field.tsx'
import { CheckList } from '../components/form-fields.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { type Json, objectOf, objectsOf, textOf, textsOf } from '../model/read.ts'
import { formatTimes, isReadersZone } from '../model/time.ts'
import { plural } from '../words.ts'
import { type Choice, useAccounts, useChoices } from './choices.ts'
import type { FieldDescription } from './descriptions.ts'
import type { Draft } from './draft.ts'
import {
  AddButton,
  type InputProps,
  JsonInput,
  MapInput,
  MomentInput,
  NumberInput,
  SelectInput,
  TextInput,
  TextsInput,
  type Tied,
} from './inputs.tsx'
import { isSamePath, type Path, valueAt, withValueAt } from './json-path.ts'
import { Lazy } from './lazy.tsx'
import { loadManifestsInput } from './manifests-input.tsx'
import { isExpression } from './problems.ts'
import { FieldContext } from './suggest.tsx'

/** Above that, fields that are neither required nor set wait behind "More". */
const maxShown = 8
const firstShown = 5
/** Above that, a list of objects is folded. */
const maxOpenItems = 2
const cronPauseMs = 400

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
  // Decided once: a field does not move away from under the fingers when it gets its first value.
  const [first] = useState(() => new Set(firstFields(fields, holder)))
  const rest = fields.filter(({ name }) => !first.has(name))
  return (
    <>
      {fields.map((field) => first.has(field.name) && <FieldView key={field.name} draft={draft} base={base} field={field} />)}
      <MoreFields draft={draft} base={base} fields={rest} known={[...fields.flatMap(namesOf), ...known]} />
    </>
  )
}

function firstFields(fields: readonly FieldDescription[], holder: Json): readonly string[] {
  if (fields.length <= maxShown) return fields.map(({ name }) => name)
  const needed = fields.filter((field) => field.required || namesOf(field).some((name) => holder[name] !== undefined))
  const others = fields.filter((field) => !needed.includes(field)).slice(0, Math.max(0, firstShown - needed.length))
  return [...needed, ...others].map(({ name }) => name)
}

function namesOf({ name, otherNames = [] }: FieldDescription): readonly string[] {
  return [name, ...otherNames]
}

/** What the fields above leave out: rarer fields, then those without a description. */
export function MoreFields({ draft, base, fields, known }: Required<FieldListProps>) {
  const holder = objectOf(valueAt(draft.definition.value, base))
  const others = Object.keys(holder).filter((name) => !known.includes(name))
  const [open, setOpen] = useState(fields.length === 0 && others.length > 0)
  const shown = draft.shown.value
  const isWanted = shown !== undefined && fields.some((field) => namesOf(field).some((name) => isWithin(shown, [...base, name])))
  useEffect(() => {
    if (isWanted) setOpen(true)
  }, [isWanted])
  const count = fields.length + others.length
  if (count === 0) return null
  return (
    <details class="advanced" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>More fields ({count})</summary>
      {open && (
        <>
          {fields.map((field) => (
            <FieldView key={field.name} draft={draft} base={base} field={field} />
          ))}
          {others.length > 0 && <OtherFields draft={draft} base={base} names={others} known={known} />}
        </>
      )}
    </details>
  )
}

function isWithin(path: Path, outer: Path): boolean {
  return isSamePath(path.slice(0, outer.length), outer)
}

interface OtherFieldsProps extends Omit<Required<FieldListProps>, 'fields'> {
  readonly names: readonly string[]
}

/** What no description mentions is kept, and edited as it is. */
function OtherFields({ draft, base, names, known }: OtherFieldsProps) {
  const pick = (holder: unknown, isWanted: (name: string) => boolean) =>
    Object.fromEntries(Object.entries(objectOf(holder)).filter(([name]) => isWanted(name)))
  const value = pick(valueAt(draft.definition.value, base), (name) => names.includes(name))
  const change = (next: unknown) => {
    const given = pick(next, (name) => !known.includes(name))
    const edit = (definition: Json) =>
      withValueAt(definition, base, { ...pick(valueAt(definition, base), (name) => !names.includes(name)), ...given })
    draft.change('Change other fields', edit, JSON.stringify([...base, '']))
  }
  return (
    <Field label="Other fields" help="Fields without a description, as JSON.">
      {(tied) => <JsonInput tied={tied} value={value} onChange={change} rows={3} at={[...base, '']} />}
    </Field>
  )
}

export interface FieldViewProps {
  readonly draft: Draft
  readonly base: Path
  readonly field: FieldDescription
  readonly label?: string
  /** Instead of the help of the description. */
  readonly help?: ComponentChildren
  /** Instead of the choices of the description. */
  readonly choices?: readonly Choice[] | undefined
  readonly placeholder?: string
  readonly isCode?: boolean
  /** Draws the input instead of the one for its kind. */
  readonly render?: (input: InputProps) => ComponentChildren
}

export function FieldView(props: FieldViewProps) {
  const { draft, base, field, label = toLabel(field.name), help = <Help field={field} />, render } = props
  const holder = objectOf(valueAt(draft.definition.value, base))
  // Where another key of the same meaning is set, that one is edited.
  const name = namesOf(field).find((each) => holder[each] !== undefined) ?? field.name
  const path = [...base, name]
  const value = holder[name]
  const box = useRef<HTMLDivElement>(null)
  const [isTouched, setTouched] = useState(false)
  const [wantsExpression, setWantsExpression] = useState(false)
  const offered = useChoicesOf(field, draft, holder)
  const choices = props.choices ?? offered
  const problem = draft.problems.value.find((each) => isSamePath(each.path, path))
  const isShown = problem?.kind !== 'missing' || isTouched || draft.showsMissing.value
  const error = problem !== undefined && isShown ? problem.message : undefined
  useFocus(draft, path, box)

  const set = (next: unknown) => draft.set(path, next, `Change ${label}`)
  const change = useProviderChange(draft, base, field, holder, set)
  const kind = kindOf(field, value)
  const mayBeExpression = field.expression && switched.includes(kind)
  const asExpression = mayBeExpression && (wantsExpression || isExpression(value))
  const body = () => {
    if (kind === 'flag' && !asExpression) {
      return <FlagInput label={label} help={help} isUsual={field.default === true} value={value} error={error} onChange={set} />
    }
    if ((kind === 'objects' || (kind === 'object' && field.fields !== undefined)) && !asExpression) {
      return <Group draft={draft} path={path} field={field} label={label} help={help} error={error} />
    }
    const own = (tied: Tied) =>
      render?.({ tied, value, onChange: change }) ?? (
        <ValueInput {...props} kind={kind} tied={tied} value={value} onChange={change} choices={choices} label={label} />
      )
    return (
      <Field label={label} help={help} error={error} required={field.required}>
        {(tied) => (asExpression ? <TextInput tied={tied} value={value} onChange={set} isCode /> : own(tied))}
      </Field>
    )
  }
  const leave = () => {
    setTouched(true)
    // The draft ends a step of undo where typing ends.
    draft.endStep()
  }
  const toggle = () => {
    setWantsExpression(!asExpression)
    if (asExpression) set(undefined)
  }
  return (
    <FieldContext.Provider value={{ draft, path, expression: field.expression }}>
      <div ref={box} class={`form-field is-${kind}`} onFocusOut={leave}>
        {mayBeExpression && <ExpressionSwitch label={label} isOn={asExpression} onClick={toggle} />}
        {body()}
        {kind === 'cron' && <CronVerdict expression={textOf(value) ?? ''} />}
        {kind === 'webhook-source' && <WebhookAddress source={textOf(value)} />}
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

function useFocus(draft: Draft, path: Path, box: { readonly current: HTMLElement | null }): void {
  const isWanted = draft.shown.value !== undefined && isSamePath(draft.shown.value, path)
  useEffect(() => {
    if (!isWanted) return
    draft.shown.value = undefined
    for (let fold = box.current?.closest('details'); fold != null; fold = fold.parentElement?.closest('details')) fold.open = true
    const input = box.current?.querySelector<HTMLElement>('input, select, textarea, .cm-content, button:not(.expression-switch)')
    input?.focus()
    if (input instanceof HTMLInputElement) input.select()
    box.current?.scrollIntoView({ block: 'center' })
  }, [isWanted])
}

function useChoicesOf(field: FieldDescription, draft: Draft, holder: Json): readonly Choice[] {
  const found = useChoices(field.choicesFrom, draft, holder)
  const own = (field.choices ?? []).map((value) => ({ value }))
  return [...own, ...found.filter(({ value }) => !own.some((choice) => choice.value === value))]
}

/** An account that is chosen brings its provider, unless another one is set. */
function useProviderChange(draft: Draft, base: Path, field: FieldDescription, holder: Json, set: (value: unknown) => void) {
  const isAccount = field.choicesFrom === 'accounts' && ['credentials', 'account'].includes(field.name)
  const accounts = useAccounts(isAccount)
  return (next: unknown) => {
    const isWanted = isAccount && holder['cloudProvider'] === undefined
    const provider = isWanted ? accounts.find(({ name }) => name === next)?.type : undefined
    set(next)
    if (provider !== undefined) draft.set([...base, 'cloudProvider'], provider, 'Change Cloud provider')
  }
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
const isListOf = (fits: (item: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(fits)

/** Kinds with an input of their own, and the values that it takes. */
const fits: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...{ text: isPlain, 'long-text': isPlain, number: isPlain, moment: isPlain, choice: isPlain, cron: isPlain },
  ...{ 'webhook-source': isPlain, map: isObject, object: isObject, objects: isListOf(isObject) },
  ...{ texts: isListOf(isPlain), checks: isListOf(isPlain), manifest: () => true, manifests: () => true },
  flag: (value) => typeof value === 'boolean' || value === 'true' || value === 'false',
}

/** A value of another shape than the description says is edited as JSON. */
function kindOf({ name, kind: described, fields, choices = [], choicesFrom }: FieldDescription, value: unknown): string {
  // Objects of a cluster have no fields that a form could know.
  if (fields === undefined && name === 'manifest') return 'manifest'
  if (fields === undefined && (name === 'manifests' || name === 'patchBody')) return 'manifests'
  const kind = described === 'texts' && choices.length > 0 && choicesFrom === undefined ? 'checks' : described
  if (fits[kind] === undefined || (kind === 'object' && fields === undefined)) return 'json'
  if (value === undefined || value === null || isExpression(value) || fits[kind](value)) return kind
  return described === 'texts' && isPlain(value) ? 'text' : 'json'
}

/** Others take an expression as they are, or hold none. */
const switched = ['moment', 'flag', 'choice', 'texts', 'checks', 'objects', 'object', 'map']

interface ValueInputProps extends InputProps {
  readonly kind: string
  readonly choices: readonly Choice[]
  readonly label: string
  readonly placeholder?: string | undefined
  readonly isCode?: boolean | undefined
}

function ValueInput({ kind, choices, label, placeholder, isCode, tied, value, onChange }: ValueInputProps) {
  const input = { tied, value, onChange }
  switch (kind) {
    case 'number':
      return <NumberInput {...input} />
    case 'moment':
      return <MomentInput {...input} />
    case 'choice':
      return <SelectInput {...input} choices={choices} />
    case 'texts':
      return <TextsInput {...input} choices={choices} />
    case 'checks': {
      const chosen = textsOf(input.value)
      const all = [...new Set([...choices.map((choice) => choice.value), ...chosen])].map((id) => ({ id, label: id }))
      const change = (next: readonly string[]) => input.onChange(next.length === 0 ? undefined : next)
      return <CheckList label={label} head="" choices={all} chosen={chosen} onChange={change} />
    }
    case 'map':
      return <MapInput {...input} label={label} />
    case 'json':
      return <JsonInput {...input} />
    case 'manifest':
    case 'manifests':
      return (
        <div id={input.tied.id} role="group" aria-label={label} aria-describedby={input.tied['aria-describedby']}>
          <Lazy
            load={loadManifestsInput}
            props={{ label, isOne: kind === 'manifest', value: input.value, onChange: input.onChange }}
          />
        </div>
      )
    default: {
      const [isLong, isProgram] = [kind === 'long-text', isCode || kind === 'cron']
      return <TextInput {...input} choices={choices} placeholder={placeholder} isLong={isLong} isCode={isProgram} />
    }
  }
}

function Help({ field: { help, default: usual } }: { field: FieldDescription }) {
  const shown = usual === undefined || usual === '' || typeof usual === 'object' ? undefined : String(usual)
  return (
    <>
      <HelpText text={help} /> {shown !== undefined && <span class="usual">Default: {shown}.</span>}
    </>
  )
}

/** Names of fields and values stand between backticks. */
function HelpText({ text }: { text: string }) {
  return <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}</>
}

interface FlagInputProps {
  readonly label: string
  readonly help: ComponentChildren
  /** What it is unless it is set. */
  readonly isUsual: boolean
  readonly value: unknown
  readonly error: string | undefined
  readonly onChange: (value: boolean) => void
}

function FlagInput({ label, help, isUsual, value, error, onChange }: FlagInputProps) {
  const id = useId()
  const isOn = value === undefined || value === null ? isUsual : value === true || value === 'true'
  return (
    <div class="field is-flag">
      <label class="check">
        <input
          type="checkbox"
          checked={isOn}
          aria-describedby={`${id}-help`}
          aria-invalid={error !== undefined}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      <p id={`${id}-help`} class="help">
        {help}
      </p>
      {error !== undefined && <p class="error">{error}</p>}
    </div>
  )
}

interface GroupProps {
  readonly draft: Draft
  readonly path: Path
  readonly field: FieldDescription
  readonly label: string
  readonly help: ComponentChildren
  readonly error: string | undefined
}

function Group({ draft, path, field: { kind, required, fields = [] }, label, help, error }: GroupProps) {
  // "Clusters" has items that are each a "cluster".
  const itemName = label.replace(/ies$/, 'y').replace(/s$/, '').toLowerCase()
  return (
    <fieldset class={`form-group ${kind === 'object' && fields.every((each) => each.kind === 'number') ? 'is-row' : ''}`}>
      <legend>
        {label}
        {required && <span aria-hidden="true"> *</span>}
      </legend>
      <p class="help">{help}</p>
      {kind === 'objects' ? (
        <ItemList draft={draft} path={path} kind={{ itemName, fields: () => fields }} />
      ) : (
        <FieldList draft={draft} base={path} fields={fields} />
      )}
      {error !== undefined && <p class="error">{error}</p>}
    </fieldset>
  )
}

/** What a list has items of. */
export interface ItemKind {
  readonly itemName: string
  readonly fields: (item: Json) => readonly FieldDescription[]
  /** Instead of what is called a name, usually. */
  readonly title?: (item: Json) => string | undefined
  readonly detail?: (item: Json) => string | undefined
  readonly fresh?: (items: readonly Json[]) => Json
  /** Instead of a list without items. */
  readonly empty?: string
  /** Keys that `head` shows. */
  readonly known?: readonly string[]
  readonly head?: (item: Json, path: Path) => ComponentChildren
  /** Instead of the fields. */
  readonly form?: (path: Path) => ComponentChildren
}

/** Objects of one kind, each of which opens as a form. */
export function ItemList({ draft, path, kind }: { draft: Draft; path: Path; kind: ItemKind }) {
  const { itemName, fields, title = titleOf, detail, fresh = () => ({}), empty, known = [], head, form } = kind
  const value = valueAt(draft.definition.value, path)
  if (value !== undefined && value !== null && (!Array.isArray(value) || objectsOf(value).length < value.length)) {
    return <Banner tone="warning">This is not a list of objects. Correct it in the text.</Banner>
  }
  const items = objectsOf(value)
  const add = () => {
    draft.set([...path, items.length], fresh(items), `Add ${itemName}`)
    draft.shown.value = [...path, items.length, fields({})[0]?.name ?? '']
  }
  return (
    <div class="item-list">
      {items.length === 0 && empty !== undefined && <p class="quiet">{empty}</p>}
      {items.map((item, index) => (
        // Items have no identity but their place.
        <ListItem
          key={index}
          draft={draft}
          path={path}
          index={index}
          count={items.length}
          title={title(item) ?? `${itemName} ${index + 1}`}
          detail={detail?.(item)}
        >
          {head?.(item, [...path, index])}
          {form?.([...path, index]) ?? (
            <FieldList key={textOf(item['type'])} draft={draft} base={[...path, index]} fields={fields(item)} known={known} />
          )}
        </ListItem>
      ))}
      <AddButton label={`Add ${itemName}`} onClick={add} />
    </div>
  )
}

function titleOf(item: Json): string | undefined {
  return textOf(item['name'] ?? item['displayName'] ?? item['key'] ?? item['value'] ?? item['stack'])
}

interface ListItemProps {
  readonly draft: Draft
  /** Leads to the list. */
  readonly path: Path
  readonly index: number
  readonly count: number
  readonly title: string
  readonly detail?: string | undefined
  readonly children: ComponentChildren
}

/** One of a list: folded where there are many, with its place and its removal. */
function ListItem({ draft, path, index, count, title, detail, children }: ListItemProps) {
  const [open, setOpen] = useState(count <= maxOpenItems)
  const shown = draft.shown.value
  const isWanted = shown !== undefined && isWithin(shown, [...path, index])
  useEffect(() => {
    if (isWanted) setOpen(true)
  }, [isWanted])
  const problems = draft.problems.value.filter((problem) => isWithin(problem.path, [...path, index])).length
  const move = (by: -1 | 1) =>
    draft.change(`Move ${title}`, (definition) => {
      const list = valueAt(definition, path) as readonly unknown[]
      return withValueAt(definition, path, list.toSpliced(index, 1).toSpliced(index + by, 0, list[index]))
    })
  return (
    <details class="list-item" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="right" />
        <span class="grow cut">
          <Name text={title} max={60} />
          {detail !== undefined && (
            <span class="muted regular">
              {' '}
              <Name text={detail} max={60} />
            </span>
          )}
        </span>
        {problems > 0 && <ProblemCount count={problems} />}
      </summary>
      <div class="list-item-tools">
        {index > 0 && <IconButton icon="up" label={`Move ${title} up`} small onClick={() => move(-1)} />}
        {index < count - 1 && <IconButton icon="down" label={`Move ${title} down`} small onClick={() => move(1)} />}
        <IconButton
          icon="trash"
          label={`Remove ${title}`}
          small
          onClick={() => draft.set([...path, index], undefined, `Remove ${title}`)}
        />
      </div>
      {open && <div class="list-item-body">{children}</div>}
    </details>
  )
}

export function ProblemCount({ count }: { count: number }) {
  return (
    <span class="problem-count">
      <Icon name="warn" /> <span>{count}</span> <span class="visually-hidden">{plural(count, 'problem')} here</span>
    </span>
  )
}

/** What the service that fires it thinks of an expression, after a pause in typing. */
function CronVerdict({ expression }: { expression: string }) {
  const [asked, setAsked] = useState(expression)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(expression), cronPauseMs)
    return () => clearTimeout(timer)
  }, [expression])
  const isAsked = asked.trim() !== '' && !isExpression(asked)
  const { body } = useLive('/cron/validate', isAsked ? { query: { expression: asked } } : undefined, { refresh: 'open' }).reading
    .value
  if (body === undefined || !isAsked || asked !== expression) return null
  if (!body.valid) return <p class="verdict error">{body.message ?? ''}</p>
  const { description = '', nextTimes = [], timeZone } = body
  return (
    <p class="verdict muted">
      {description}
      {nextTimes.length > 0 && (
        <>
          <br />
          Next, in your zone: {formatTimes(nextTimes)}.
          {timeZone !== undefined && !isReadersZone(timeZone) && ` In ${timeZone}: ${formatTimes(nextTimes, timeZone)}.`}
        </>
      )}
    </p>
  )
}

function WebhookAddress({ source }: { source: string | undefined }) {
  if (source === undefined) return null
  const address = `${location.origin}${apiPath}/webhooks/webhook/${encodeURIComponent(source)}`
  return (
    <p class="verdict muted row tight">
      <code class="cut">{address}</code> <CopyButton text={address} label="Copy the address" />
    </p>
  )
}

/** `waitTime` becomes "Wait time". */
function toLabel(name: string): string {
  const spaced = name.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
  const lower = spaced.split(/[\s_-]+/).map((word) => (/^[A-Z\d]{2,}$/.test(word) ? word : word.toLowerCase()))
  const text = lower.join(' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

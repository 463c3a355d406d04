/** Fields of a stage, a trigger or a parameter, made of their description. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { apiPath } from '../address.ts'
import { useLive } from '../api/live.ts'
import { IconButton } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Field } from '../components/field.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { type Json, objectOf, textOf } from '../model/read.ts'
import { formatTimes, isReadersZone } from '../model/time.ts'
import { type Choice, useChoices, useProviders } from './choices.ts'
import type { FieldDescription } from './descriptions.ts'
import type { Draft } from './draft.ts'
import { CompletionSource } from './expression-completion.tsx'
import {
  AddButton,
  ChecksInput,
  JsonInput,
  MapInput,
  MomentInput,
  NumberInput,
  SelectInput,
  SuggestInput,
  TextInput,
  TextsInput,
  type Tied,
} from './inputs.tsx'
import { isSamePath, type Path, valueAt, withValueAt } from './json-path.ts'
import { Lazy } from './lazy.tsx'
import { loadManifestsInput } from './manifests-input.tsx'
import { isExpression } from './problems.ts'
import { editorWords } from './words.ts'

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

function MoreFields({ draft, base, fields, known }: Required<FieldListProps>) {
  const [open, setOpen] = useState(false)
  const holder = objectOf(valueAt(draft.definition.value, base))
  const others = Object.keys(holder).filter((name) => !known.includes(name))
  const shown = draft.shown.value
  const isWanted = shown !== undefined && fields.some(({ name }) => isWithin(shown, [...base, name]))
  useEffect(() => {
    if (isWanted) setOpen(true)
  }, [isWanted])
  return (
    <>
      {others.length > 0 && <OtherFields draft={draft} base={base} names={others} known={known} />}
      {(fields.length > 0 || (others.length === 0 && isOpenEnded(base))) && (
        <details class="advanced" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{fields.length === 0 ? editorWords.otherFields : editorWords.moreFields(fields.length)}</summary>
          {open && (
            <>
              {fields.map((field) => (
                <FieldView key={field.name} draft={draft} base={base} field={field} />
              ))}
              {others.length === 0 && <OtherFields draft={draft} base={base} names={[]} known={known} />}
            </>
          )}
        </details>
      )}
    </>
  )
}

/** Stages have fields of plug-ins, which no description lists. */
function isOpenEnded(base: Path): boolean {
  return base.length === 2 && base[0] === 'stages'
}

function isWithin(path: Path, outer: Path): boolean {
  return isSamePath(path.slice(0, outer.length), outer)
}

interface OtherFieldsProps {
  readonly draft: Draft
  readonly base: Path
  readonly names: readonly string[]
  readonly known: readonly string[]
}

/** What no description mentions is kept, and edited as it is. */
function OtherFields({ draft, base, names, known }: OtherFieldsProps) {
  const holder = objectOf(valueAt(draft.definition.value, base))
  const value = names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, holder[name]]))
  const change = (next: unknown) => {
    const given = Object.entries(objectOf(next)).filter(([name]) => !known.includes(name))
    draft.change(
      editorWords.changeField(editorWords.otherFields),
      (definition) => {
        const kept = names.filter((name) => !given.some(([key]) => key === name))
        const without = kept.reduce((whole, name) => withValueAt(whole, [...base, name], undefined), definition)
        return given.reduce((whole, [name, item]) => withValueAt(whole, [...base, name], item), without)
      },
      JSON.stringify([...base, '']),
    )
  }
  return (
    <Field label={editorWords.otherFields} help={editorWords.otherFieldsHelp}>
      {(tied) => <JsonInput tied={tied} value={value} onChange={change} rows={3} />}
    </Field>
  )
}

interface FieldViewProps {
  readonly draft: Draft
  readonly base: Path
  readonly field: FieldDescription
  readonly label?: string
}

export function FieldView({ draft, base, field, label = toLabel(field.name) }: FieldViewProps) {
  const definition = draft.definition.value
  const holder = objectOf(valueAt(definition, base))
  // Where another key of the same meaning is set, that one is edited.
  const name = namesOf(field).find((each) => holder[each] !== undefined) ?? field.name
  const path = [...base, name]
  const value = holder[name]
  const box = useRef<HTMLDivElement>(null)
  const [isTouched, setTouched] = useState(false)
  const [wantsExpression, setWantsExpression] = useState(false)
  const choices = useChoicesOf(field, draft, holder)
  const problem = draft.problems.value.find((each) => isSamePath(each.path, path))
  const isShown = problem?.kind !== 'missing' || isTouched || draft.showsMissing.value
  const error = problem !== undefined && isShown ? problem.message : undefined
  useFocus(draft, path, box)

  const set = (next: unknown) => draft.set(path, next, editorWords.changeField(label))
  const change = useProviderChange(draft, base, field, holder, set)
  const kind = manifestKindOf(field) ?? kindOf(field, value)
  const asExpression =
    manifestKindOf(field) === undefined &&
    canSwitch(field) &&
    (wantsExpression || (typeof value === 'string' && isExpression(value)))
  const shown = name === field.name ? label : toLabel(name)
  const isGroup = !asExpression && (kind === 'objects' || (kind === 'object' && field.fields !== undefined))
  return (
    // The draft ends a step of undo where typing ends.
    <div
      ref={box}
      class={`form-field is-${kind}`}
      onFocusOut={() => {
        setTouched(true)
        draft.endStep()
      }}
    >
      {manifestKindOf(field) === undefined && canSwitch(field) && (
        <ExpressionSwitch
          label={shown}
          isOn={asExpression}
          onClick={() => {
            setWantsExpression(!asExpression)
            if (asExpression) set(undefined)
          }}
        />
      )}
      {kind === 'flag' && !asExpression ? (
        <FlagInput label={shown} field={field} value={value} error={error} onChange={set} />
      ) : isGroup ? (
        <Group draft={draft} path={path} field={field} label={shown} error={error} />
      ) : (
        <CompletionSource.Provider value={field.expression ? draft : undefined}>
          <Field label={shown} help={<Help field={field} />} error={error} required={field.required}>
            {(tied) =>
              asExpression ? (
                <TextInput tied={tied} value={value} onChange={set} isCode />
              ) : (
                <ValueInput kind={kind} tied={tied} value={value} onChange={change} choices={choices} label={shown} />
              )
            }
          </Field>
        </CompletionSource.Provider>
      )}
      {kind === 'cron' && <CronVerdict expression={textOf(value) ?? ''} />}
      {kind === 'webhook-source' && <WebhookAddress source={textOf(value)} />}
    </div>
  )
}

function ExpressionSwitch({ label, isOn, onClick }: { label: string; isOn: boolean; onClick: () => void }) {
  const name = editorWords.asExpression(label)
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
  const providerOf = useProviders(isAccount)
  return (next: unknown) => {
    const provider = isAccount && holder['cloudProvider'] === undefined ? providerOf(textOf(next) ?? '') : undefined
    set(next)
    if (provider !== undefined) draft.set([...base, 'cloudProvider'], provider, editorWords.changeField(toLabel('cloudProvider')))
  }
}

/** Objects of a cluster have no fields that a form could know. */
function manifestKindOf({ name, fields }: FieldDescription): 'manifest' | 'manifests' | undefined {
  if (fields !== undefined) return undefined
  return name === 'manifest' ? 'manifest' : name === 'manifests' || name === 'patchBody' ? 'manifests' : undefined
}

const knownKinds = [
  'text',
  'long-text',
  'number',
  'moment',
  'flag',
  'choice',
  'texts',
  'objects',
  'object',
  'map',
  'cron',
  'webhook-source',
]

/** A value of another shape than the description says is edited as JSON. */
function kindOf({ kind, fields }: FieldDescription, value: unknown): string {
  if (!knownKinds.includes(kind) || (kind === 'object' && fields === undefined)) return 'json'
  if (value === undefined || value === null || isExpression(value)) return kind
  const isObject = typeof value === 'object' && !Array.isArray(value)
  const isList = Array.isArray(value)
  const isText = typeof value === 'string'
  switch (kind) {
    case 'texts':
      if (isText) return 'text'
      return isList && value.every((item) => typeof item !== 'object') ? kind : 'json'
    case 'objects':
      return isList && value.every((item) => typeof item === 'object' && item !== null && !Array.isArray(item)) ? kind : 'json'
    case 'object':
    case 'map':
      return isObject ? kind : 'json'
    case 'flag':
      return typeof value === 'boolean' || value === 'true' || value === 'false' ? kind : 'json'
    default:
      return isObject || isList || typeof value === 'boolean' ? 'json' : kind
  }
}

function canSwitch({ expression, kind }: FieldDescription): boolean {
  return expression && !['text', 'long-text', 'json', 'cron'].includes(kind)
}

interface ValueInputProps {
  readonly kind: string
  readonly tied: Tied
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly choices: readonly Choice[]
  readonly label: string
}

function ValueInput({ kind, choices, label, ...input }: ValueInputProps) {
  switch (kind) {
    case 'number':
      return <NumberInput {...input} />
    case 'moment':
      return <MomentInput {...input} />
    case 'choice':
      return <SelectInput {...input} choices={choices} />
    case 'texts':
      return choices.length > 0 &&
        choices.length <= 5 &&
        choices.every(({ label: text, note }) => (text ?? note) === undefined) ? (
        <ChecksInput value={input.value} onChange={input.onChange} choices={choices} label={label} />
      ) : (
        <TextsInput {...input} choices={choices} />
      )
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
    case 'cron':
      return <TextInput {...input} isCode />
    case 'long-text':
      return <TextInput {...input} isLong />
    default:
      return choices.length === 0 ? <TextInput {...input} /> : <SuggestInput {...input} choices={choices} />
  }
}

function Help({ field: { help, default: usual } }: { field: FieldDescription }) {
  const shown = usual === undefined || usual === '' || typeof usual === 'object' ? undefined : String(usual)
  return (
    <>
      <HelpText text={help} /> {shown !== undefined && <span class="usual">{editorWords.usual(shown)}</span>}
    </>
  )
}

/** Names of fields and values stand between backticks. */
function HelpText({ text }: { text: string }) {
  return <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}</>
}

interface FlagInputProps {
  readonly label: string
  readonly field: FieldDescription
  readonly value: unknown
  readonly error: string | undefined
  readonly onChange: (value: boolean) => void
}

function FlagInput({ label, field, value, error, onChange }: FlagInputProps) {
  const id = useId()
  const isOn = value === undefined || value === null ? field.default === true : value === true || value === 'true'
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
        <HelpText text={field.help} />
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
  readonly error: string | undefined
}

function Group({ draft, path, field, label, error }: GroupProps) {
  const fields = field.fields ?? []
  const value = valueAt(draft.definition.value, path)
  return (
    <fieldset class={`form-group ${field.kind === 'object' && fields.every(({ kind }) => kind === 'number') ? 'is-row' : ''}`}>
      <legend>
        {label}
        {field.required && <span aria-hidden="true"> *</span>}
      </legend>
      <p class="help">
        <HelpText text={field.help} />
      </p>
      {field.kind === 'objects' ? (
        <ObjectList draft={draft} path={path} fields={fields} label={label} items={Array.isArray(value) ? value : []} />
      ) : (
        <FieldList draft={draft} base={path} fields={fields} />
      )}
      {error !== undefined && <p class="error">{error}</p>}
    </fieldset>
  )
}

interface ObjectListProps {
  readonly draft: Draft
  readonly path: Path
  readonly items: readonly unknown[]
  readonly fields: readonly FieldDescription[]
  readonly label: string
}

function ObjectList({ draft, path, items, fields, label }: ObjectListProps) {
  const itemName = editorWords.itemOf(label)
  // Items have no identity but their place.
  const rows = items.map((item, index) => ({ item, index }))
  return (
    <>
      {rows.map(({ item, index }) => (
        <ListItem
          key={index}
          draft={draft}
          path={path}
          index={index}
          count={items.length}
          title={textOf(titleValue(objectOf(item))) ?? `${itemName} ${index + 1}`}
        >
          <FieldList draft={draft} base={[...path, index]} fields={fields} />
        </ListItem>
      ))}
      <AddButton
        label={editorWords.addItem(itemName)}
        onClick={() => draft.set([...path, items.length], {}, editorWords.addItem(itemName))}
      />
    </>
  )
}

function titleValue(item: Json): unknown {
  return item['name'] ?? item['displayName'] ?? item['key'] ?? item['value'] ?? item['stack']
}

interface ListItemProps {
  readonly draft: Draft
  /** Leads to the list. */
  readonly path: Path
  readonly index: number
  readonly count: number
  readonly title: string
  readonly detail?: string | undefined
  readonly isOpen?: boolean
  readonly children: ComponentChildren
}

/** One of a list: folded where there are many, with its place and its removal. */
export function ListItem({ draft, path, index, count, title, detail, isOpen, children }: ListItemProps) {
  const [open, setOpen] = useState(isOpen ?? count <= maxOpenItems)
  const shown = draft.shown.value
  const isWanted = shown !== undefined && isWithin(shown, [...path, index])
  useEffect(() => {
    if (isWanted) setOpen(true)
  }, [isWanted])
  const problems = draft.problems.value.filter((problem) => isWithin(problem.path, [...path, index])).length
  const move = (by: -1 | 1) =>
    draft.change(editorWords.moveItem(title), (definition) => {
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
        {index > 0 && <IconButton icon="up" label={editorWords.moveUp(title)} small onClick={() => move(-1)} />}
        {index < count - 1 && <IconButton icon="down" label={editorWords.moveDown(title)} small onClick={() => move(1)} />}
        <IconButton
          icon="trash"
          label={editorWords.removeItem(title)}
          small
          onClick={() => draft.set([...path, index], undefined, editorWords.removeItem(title))}
        />
      </div>
      {open && <div class="list-item-body">{children}</div>}
    </details>
  )
}

export function ProblemCount({ count }: { count: number }) {
  return (
    <span class="problem-count">
      <Icon name="warn" /> <span>{count}</span> <span class="visually-hidden">{editorWords.problemsHere(count)}</span>
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
          {editorWords.firesNext(formatTimes(nextTimes))}
          {timeZone !== undefined &&
            !isReadersZone(timeZone) &&
            ` ${editorWords.inZone(timeZone, formatTimes(nextTimes, timeZone))}`}
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
      <code class="cut">{address}</code> <CopyButton text={address} label={editorWords.copyAddress} />
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

/** The sections that the form of every stage ends with. */

import {
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  objectsOf,
  scalarOf,
} from '@fairlead/base/json/values.ts'
import { CheckList, RecordRows } from '../../components/form-fields.tsx'
import { Name } from '../../components/text.tsx'
import { capital } from '../../words.ts'
import { type Form, type Part, useForm } from '../fields.tsx'
import { type InputProps, NumberInput, TextInput } from '../inputs.tsx'
import { type ItemKind, ItemList } from '../item-list.tsx'
import { artifacts, notifications } from '../settings-lists.tsx'
import {
  followersOf,
  requisitesOf,
  setRequisites,
  stagesOf,
  titleOfStage,
  toNodes,
} from '../stages.ts'
import { field, group, oneOf, only } from './form.tsx'

/** Stages that do not come after it, and references to stages that do not exist. */
function RequisitesInput({ label = '' }: InputProps) {
  const { draft, base, holder } = useForm()
  const nodes = toNodes(draft.definition.value)
  const { key = '' } = nodes[Number(base[1])] ?? {}
  const followers = followersOf(nodes, key)
  const required = requisitesOf(holder)
  const known = nodes.filter(
    (node) => required.includes(node.key) || (node.key !== key && !followers.has(node.key)),
  )
  const missing = required.filter((id) => nodes.every((node) => node.key !== id))
  const choices = [
    ...known.map(({ key: id, stage }) => ({
      id,
      label: <Name text={`${titleOfStage(stage)} ${id}`} max={50} />,
    })),
    ...missing.map((id) => ({ id, label: <s>{id}</s> })),
  ]
  const change = (ids: readonly string[]) =>
    draft.change('Runs after', (definition) => setRequisites(definition, key, ids))
  return <CheckList label={label} head="" choices={choices} chosen={required} onChange={change} />
}

function ConditionInput({ value, onChange, ...input }: InputProps) {
  const change = (expression: unknown) =>
    onChange(expression === undefined ? undefined : { type: 'expression', expression })
  return <TextInput {...input} value={objectOf(value)['expression']} onChange={change} isCode />
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].map((label, index) => ({
  id: String(index + 1),
  label,
}))

/** No day means each. */
function DaysInput({ value, onChange, label = '' }: InputProps) {
  const days = listOf(value).map(String)
  const chosen = days.length === 0 ? weekdays.map(({ id }) => id) : days
  const change = (ids: readonly string[]) => onChange(ids.map(Number).toSorted((a, b) => a - b))
  return <CheckList label={label} head="" choices={weekdays} chosen={chosen} onChange={change} />
}

const workingDay: JsonObject = { startHour: 9, startMin: 0, endHour: 17, endMin: 0 }

function TimesInput({ tied, value, onChange }: InputProps) {
  return (
    <div class="plain-records" id={tied.id} role="group" aria-label="Times of day">
      <RecordRows noun="time" records={objectsOf(value)} added={workingDay} onChange={onChange}>
        {(range, set) =>
          ['start', 'end'].map((of) => (
            <input
              key={of}
              type="time"
              aria-label={capital(of)}
              value={[range[`${of}Hour`], range[`${of}Min`]]
                .map((part) => String(part ?? 0).padStart(2, '0'))
                .join(':')}
              onInput={({ currentTarget }) => {
                const [hour, minute] = currentTarget.value.split(':').map(Number)
                if (minute !== undefined) set({ [`${of}Hour`]: hour, [`${of}Min`]: minute })
              }}
            />
          ))
        }
      </RecordRows>
    </div>
  )
}

const window = 'restrictedExecutionWindow'

const timeParts = [
  only(
    ({ draft, holder }) =>
      stagesOf(draft.definition.value).length > 1 || requisitesOf(holder).length > 0,
    field('requisiteStageRefIds', 'Runs after', 'At once without any.', { Input: RequisitesInput }),
  ),
  field(
    'stageEnabled',
    'Condition',
    'Skips the stage unless this expression is true. ${} may be left out.',
    { kind: 'text', Input: ConditionInput },
  ),
  field(
    'restrictExecutionDuringTimeWindow',
    'Only in an execution window',
    'In the time zone of the engine.',
  ),
  only(
    ({ get }) => String(get('restrictExecutionDuringTimeWindow')) === 'true',
    field(`${window}.days`, 'Days', '', { Input: DaysInput }),
    field(`${window}.whitelist`, 'Times of day', 'All day without any.', { Input: TimesInput }),
    field(`${window}.jitter`, 'Random wait', 'After the window opens.'),
  ),
]

function summaryOfTime({ draft, holder }: Form) {
  const before = toNodes(draft.definition.value).filter(({ key }) =>
    requisitesOf(holder).includes(key),
  )
  const condition = scalarOf(objectOf(holder['stageEnabled'])['expression'])
  const parts = [
    before.length === 0
      ? 'at once'
      : `after ${before.map(({ stage }) => titleOfStage(stage)).join(', ')}`,
    condition !== undefined && `if ${condition}`,
    holder['restrictExecutionDuringTimeWindow'] === true && 'in the execution window',
  ]
  return parts.filter(Boolean).join(', ')
}

const failureWays = [
  { id: 'stop', label: 'Stop the pipeline' },
  { id: 'stopBranch', label: 'Stop this branch only' },
  { id: 'stopAfterOthers', label: 'Stop this branch, and fail when the others have ended' },
  { id: 'goOn', label: 'Go on' },
] as const

function failureWayOf({ holder }: Form): (typeof failureWays)[number]['id'] {
  const is = (name: string, usual = false) => String(holder[name] ?? usual) === 'true'
  if (is('continuePipeline')) return 'goOn'
  if (is('failPipeline', true)) return 'stop'
  return is('completeOtherBranchesThenFail') ? 'stopAfterOthers' : 'stopBranch'
}

const failure = oneOf('What happens then', {
  ways: failureWays,
  chosen: failureWayOf,
  set: (id) => ({
    failPipeline: id === 'stop',
    continuePipeline: id === 'goOn',
    completeOtherBranchesThenFail: id === 'stopAfterOthers',
  }),
  shows: ['failPipeline', 'continuePipeline', 'completeOtherBranchesThenFail'],
})

const minuteMs = 60_000

function MinutesInput({ value, onChange, ...input }: InputProps) {
  const ms = numberOf(value)
  const change = (minutes: unknown) =>
    onChange(typeof minutes === 'number' ? minutes * minuteMs : minutes)
  return (
    <NumberInput {...input} value={ms === undefined ? value : ms / minuteMs} onChange={change} />
  )
}

/** @param summaryOf What is set in it. */
function section(
  title: string,
  summaryOf: (form: Form) => string | undefined,
  ...parts: readonly Part[]
): Part {
  return group(parts, (content, form) => (
    <details class="form-section">
      <summary>
        <h3>{title}</h3>
        <Name class="muted cut" text={summaryOf(form) ?? ''} max={60} />
      </summary>
      {content}
    </details>
  ))
}

function listSection(title: string, name: string, kind: ItemKind): Part {
  const View = () => {
    const { draft, base } = useForm()
    return <ItemList draft={draft} path={[...base, name]} kind={kind} />
  }
  return section(title, ({ holder }) => scalarOf(objectsOf(holder[name]).length || undefined), {
    View,
    shows: [name],
  })
}

export const everyStage: readonly Part[] = [
  section('When it runs', summaryOfTime, ...timeParts),
  section(
    'If it fails',
    (form) => failureWays.find(({ id }) => id === failureWayOf(form))?.label,
    failure,
    field('stageTimeoutMs', 'Timeout in minutes', 'Unless given, the engine decides.', {
      Input: MinutesInput,
    }),
  ),
  listSection('Notifications', 'notifications', notifications('stage')),
  listSection('Artifacts that it produces', 'expectedArtifacts', artifacts),
  section(
    'Comments',
    ({ holder }) => scalarOf(holder['comments'])?.slice(0, 60),
    field('comments', 'Comments', 'For readers.'),
  ),
]

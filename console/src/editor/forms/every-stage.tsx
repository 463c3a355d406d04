/** Parts of the form of every stage: when it runs, and what a failure does. */
import { Button, IconButton } from '../../components/button.tsx'
import { Check } from '../../components/check.tsx'
import { CheckList } from '../../components/form-fields.tsx'
import { Name } from '../../components/name.tsx'
import { type Json, listOf, numberOf, objectOf, objectsOf } from '../../model/read.ts'
import { type InputProps, NumberInput, TextInput } from '../inputs.tsx'
import { isSamePath } from '../json-path.ts'
import { followersOf, requisitesOf, setRequisites, titleOfStage, toNodes } from '../stages.ts'
import { type Form, field, oneOf, only, row, useForm } from './form.tsx'

function RunsAfter() {
  const { draft, base, holder } = useForm()
  const nodes = toNodes(draft.definition.value)
  const { key = '' } = nodes[Number(base[1])] ?? {}
  const followers = followersOf(nodes, key)
  const required = requisitesOf(holder)
  const missing = required.filter((id) => nodes.every((other) => other.key !== id))
  const path = [...base, 'requisiteStageRefIds']
  const error = draft.problems.value.find((problem) => isSamePath(problem.path, path))?.message
  const toggle = (id: string, on: boolean) => {
    const next = on ? [...required, id] : required.filter((other) => other !== id)
    draft.change('Runs after', (definition) => setRequisites(definition, key, next))
  }
  if (nodes.length < 2 && missing.length === 0) return null
  return (
    <fieldset class="field runs-after">
      <legend>Runs after</legend>
      <div class="checks-list">
        {nodes
          .filter((other) => required.includes(other.key) || (other.key !== key && !followers.has(other.key)))
          .map((other) => (
            <Check key={other.key} checked={required.includes(other.key)} onChange={(on) => toggle(other.key, on)}>
              <Name text={titleOfStage(other.stage)} max={50} />
              <span class="muted">{other.key}</span>
            </Check>
          ))}
        {missing.map((id) => (
          <Check key={id} checked onChange={() => toggle(id, false)}>
            <s>{id}</s>
          </Check>
        ))}
      </div>
      {required.length === 0 && <p class="help">Nothing: it starts at once.</p>}
      {error !== undefined && <p class="error">{error}</p>}
    </fieldset>
  )
}

function ConditionInput({ value, onChange, ...input }: InputProps) {
  const change = (expression: unknown) => onChange(expression === undefined ? undefined : { type: 'expression', expression })
  return <TextInput {...input} value={objectOf(value)['expression']} onChange={change} isCode />
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].map((label, index) => ({ id: String(index + 1), label }))

/** No day means each. */
function DaysInput({ value, onChange, label = '' }: InputProps) {
  const days = listOf(value).map(String)
  const chosen = days.length === 0 ? weekdays.map(({ id }) => id) : days
  const change = (ids: readonly string[]) => onChange(ids.map(Number).toSorted((a, b) => a - b))
  return <CheckList label={label} head="" choices={weekdays} chosen={chosen} onChange={change} />
}

const workingDay: Json = { startHour: 9, startMin: 0, endHour: 17, endMin: 0 }

function TimesInput({ tied, value, onChange }: InputProps) {
  const ranges = objectsOf(value)
  const timeOf = (of: 'start' | 'end', range: Json, at: number) => {
    const [hour, minute] = [`${of}Hour`, `${of}Min`]
    const two = (name: string) => String(numberOf(range[name]) ?? 0).padStart(2, '0')
    return (
      <input
        type="time"
        class="narrow"
        aria-label={`${of === 'start' ? 'Start' : 'End'} of time ${at + 1}`}
        value={`${two(hour)}:${two(minute)}`}
        onInput={({ currentTarget }) => {
          const [hours = '', minutes] = currentTarget.value.split(':')
          if (hours !== '') onChange(ranges.with(at, { ...range, [hour]: Number(hours), [minute]: Number(minutes) }))
        }}
      />
    )
  }
  return (
    <>
      {ranges.map((range, index) => (
        <div key={index} class="row time-range">
          {timeOf('start', range, index)}
          <span aria-hidden="true">–</span>
          {timeOf('end', range, index)}
          <IconButton icon="close" label={`Remove time ${index + 1}`} onClick={() => onChange(ranges.toSpliced(index, 1))} />
        </div>
      ))}
      <Button small icon="plus" id={tied.id} onClick={() => onChange([...ranges, workingDay])}>
        Add a time
      </Button>
    </>
  )
}

const isOn = (name: string) => {
  return ({ get }: Form) => String(get(name)) === 'true'
}
const window = 'restrictedExecutionWindow'

export const timeParts = [
  { View: RunsAfter, shows: [] },
  field(
    'stageEnabled',
    'Condition',
    'Runs the stage when this expression is true, and skips it otherwise. ${} may be left out.',
    { kind: 'text', Input: ConditionInput },
  ),
  field(
    'restrictExecutionDuringTimeWindow',
    'Only in an execution window',
    'Waits until the window opens. Times are those of the engine’s time zone.',
  ),
  only(
    isOn('restrictExecutionDuringTimeWindow'),
    field(`${window}.days`, 'Days', '', { Input: DaysInput }),
    field(`${window}.whitelist`, 'Times of day', 'All day without any.', { Input: TimesInput }),
    field(`${window}.jitter.enabled`, 'Wait a random time after the window opens'),
    only(
      isOn(`${window}.jitter.enabled`),
      row(field(`${window}.jitter.minDelay`, 'At least, in seconds'), field(`${window}.jitter.maxDelay`, 'At most, in seconds')),
    ),
  ),
]

const failureWays = [
  { id: 'stop', label: 'Stop the pipeline' },
  { id: 'stopBranch', label: 'Stop this branch only' },
  { id: 'stopAfterOthers', label: 'Stop this branch, and fail when the others have ended' },
  { id: 'goOn', label: 'Go on' },
] as const

type FailureWay = (typeof failureWays)[number]['id']

function failureWayOf(stage: Json): FailureWay {
  const is = (name: string, usual = false) => String(stage[name] ?? usual) === 'true'
  if (is('continuePipeline')) return 'goOn'
  if (is('failPipeline', true)) return 'stop'
  return is('completeOtherBranchesThenFail') ? 'stopAfterOthers' : 'stopBranch'
}

export function failureLabelOf(stage: Json): string | undefined {
  return failureWays.find(({ id }) => id === failureWayOf(stage))?.label
}

const minuteMs = 60_000

function MinutesInput({ value, onChange, ...input }: InputProps) {
  const ms = numberOf(value)
  const change = (minutes: unknown) => onChange(typeof minutes === 'number' ? minutes * minuteMs : minutes)
  return <NumberInput {...input} value={ms === undefined ? value : ms / minuteMs} onChange={change} />
}

export const failureParts = [
  oneOf<FailureWay>('What happens then', {
    ways: failureWays,
    chosen: ({ holder }) => failureWayOf(holder),
    set: (id) => ({
      failPipeline: id === 'stop',
      continuePipeline: id === 'goOn',
      completeOtherBranchesThenFail: id === 'stopAfterOthers',
    }),
  }),
  field('stageTimeoutMs', 'Timeout in minutes', 'Longest time of the stage; without it the engine decides.', {
    Input: MinutesInput,
  }),
]

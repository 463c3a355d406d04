/** The times of the day and the days of the week in which a stage may run. */

import { IconButton } from '../components/button.tsx'
import { Check } from '../components/check.tsx'
import { Field } from '../components/field.tsx'
import { type Json, listOf, numberOf, objectOf, objectsOf } from '../model/read.ts'
import type { Draft } from './draft.ts'
import { AddButton, NumberInput } from './inputs.tsx'
import { type Path, withValueAt } from './json-path.ts'

const switchField = 'restrictExecutionDuringTimeWindow'
const windowField = 'restrictedExecutionWindow'

export function ExecutionWindow({ draft, base, stage }: { draft: Draft; base: Path; stage: Json }) {
  const isOn = String(stage[switchField]) === 'true'
  const window = objectOf(stage[windowField])
  const set = (path: Path, value: unknown) => draft.set([...base, windowField, ...path], value, 'Execution window')
  const toggle = (on: boolean) =>
    draft.change('Execution window', (definition) => {
      const switched = withValueAt(definition, [...base, switchField], on)
      const hasRanges = objectsOf(window['whitelist']).length > 0
      return on && !hasRanges ? withValueAt(switched, [...base, windowField, 'whitelist'], [workingDay]) : switched
    })
  return (
    <>
      <div class="field is-flag">
        <Check checked={isOn} onChange={toggle}>
          <span>Only in an execution window</span>
        </Check>
        <p class="help">Waits until the window opens. Times are those of the engine’s time zone.</p>
      </div>
      {isOn && (
        <>
          <Days window={window} set={set} />
          <Times window={window} set={set} />
          <Jitter window={window} set={set} />
        </>
      )}
    </>
  )
}

interface PartProps {
  readonly window: Json
  readonly set: (path: Path, value: unknown) => void
}

const allDays = [1, 2, 3, 4, 5, 6, 7]

/** No day means each. */
function Days({ window, set }: PartProps) {
  const days = listOf(window['days']).flatMap((day) => numberOf(day) ?? [])
  const chosen = days.length === 0 ? allDays : days
  const toggle = (day: number) =>
    set(['days'], chosen.includes(day) ? chosen.filter((other) => other !== day) : [...chosen, day].toSorted((a, b) => a - b))
  return (
    <fieldset class="field">
      <legend>Days</legend>
      <div class="row checks">
        {['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].map((name, index) => (
          <Check key={name} checked={chosen.includes(index + 1)} onChange={() => toggle(index + 1)}>
            {name}
          </Check>
        ))}
      </div>
    </fieldset>
  )
}

function Times({ window, set }: PartProps) {
  const ranges = objectsOf(window['whitelist'])
  return (
    <fieldset class="field">
      <legend>Times of day</legend>
      {ranges.map((range, index) => {
        const change = (changed: Json | undefined) => set(['whitelist', index], changed)
        return (
          <div key={index} class="row time-range">
            <TimeInput label={`Start of time ${index + 1}`} range={range} of="start" onChange={change} />
            <span aria-hidden="true">–</span>
            <TimeInput label={`End of time ${index + 1}`} range={range} of="end" onChange={change} />
            <IconButton icon="close" label={`Remove time ${index + 1}`} onClick={() => change(undefined)} />
          </div>
        )
      })}
      <AddButton label="Add a time" onClick={() => set(['whitelist', ranges.length], workingDay)} />
    </fieldset>
  )
}

function Jitter({ window, set }: PartProps) {
  const jitter = objectOf(window['jitter'])
  const isOn = jitter['enabled'] === true
  const delay = (name: 'minDelay' | 'maxDelay', label: string) => (
    <Field label={label}>
      {(tied) => <NumberInput tied={tied} value={jitter[name]} onChange={(value) => set(['jitter', name], value)} />}
    </Field>
  )
  return (
    <>
      <Check checked={isOn} onChange={(on) => set(['jitter', 'enabled'], on)}>
        Wait a random time after the window opens
      </Check>
      {isOn && (
        <div class="form-row">
          {delay('minDelay', 'At least, in seconds')}
          {delay('maxDelay', 'At most, in seconds')}
        </div>
      )}
    </>
  )
}

const workingDay: Json = { startHour: 9, startMin: 0, endHour: 17, endMin: 0 }

interface TimeInputProps {
  readonly label: string
  readonly range: Json
  readonly of: 'start' | 'end'
  readonly onChange: (range: Json) => void
}

function TimeInput({ label, range, of, onChange }: TimeInputProps) {
  const two = (value: unknown) => String(numberOf(value) ?? 0).padStart(2, '0')
  return (
    <input
      type="time"
      class="narrow"
      aria-label={label}
      value={`${two(range[`${of}Hour`])}:${two(range[`${of}Min`])}`}
      onInput={(event) => {
        const [hour = '', minute = ''] = event.currentTarget.value.split(':')
        if (hour !== '') onChange({ ...range, [`${of}Hour`]: Number(hour), [`${of}Min`]: Number(minute) })
      }}
    />
  )
}

/** The times of the day and the days of the week in which a stage may run. */
import { Field as LabelledField } from '../components/field.tsx'
import { Icon } from '../components/icon.tsx'
import { type Json, listOf, numberOf, objectOf, objectsOf } from '../model/read.ts'
import type { Draft } from './draft.ts'
import { AddButton, NumberInput } from './inputs.tsx'
import type { Path } from './json-path.ts'
import { withValueAt } from './json-path.ts'
import { words } from './words.ts'

const switchField = 'restrictExecutionDuringTimeWindow'
const windowField = 'restrictedExecutionWindow'

export function ExecutionWindow({ draft, base, stage }: { draft: Draft; base: Path; stage: Json }) {
  const isOn = String(stage[switchField]) === 'true'
  const window = objectOf(stage[windowField])
  const ranges = objectsOf(window['whitelist']).map((range, index) => ({ range, index }))
  const days = listOf(window['days']).flatMap((day) => numberOf(day) ?? [])
  const jitter = objectOf(window['jitter'])
  const set = (path: Path, value: unknown) => draft.set([...base, windowField, ...path], value, words.window)
  const toggle = (on: boolean) =>
    draft.change(words.window, (definition) => {
      const switched = withValueAt(definition, [...base, switchField], on)
      return on && ranges.length === 0 ? withValueAt(switched, [...base, windowField, 'whitelist'], [workingDay]) : switched
    })
  const toggleDay = (day: number, on: boolean) =>
    set(['days'], on ? [...days, day].toSorted((a, b) => a - b) : days.filter((other) => other !== day))
  return (
    <>
      <div class="field is-flag">
        <label class="check">
          <input type="checkbox" checked={isOn} onChange={(event) => toggle(event.currentTarget.checked)} />
          <span>{words.windowOnly}</span>
        </label>
        <p class="help">{words.windowHelp}</p>
      </div>
      {isOn && (
        <>
          <fieldset class="field">
            <legend>{words.days}</legend>
            <div class="row checks">
              {words.dayNames.map((name, index) => (
                <label key={name} class="check">
                  <input
                    type="checkbox"
                    checked={days.length === 0 || days.includes(index + 1)}
                    onChange={(event) =>
                      days.length === 0
                        ? set(
                            ['days'],
                            [1, 2, 3, 4, 5, 6, 7].filter((day) => day !== index + 1),
                          )
                        : toggleDay(index + 1, event.currentTarget.checked)
                    }
                  />{' '}
                  {name}
                </label>
              ))}
            </div>
          </fieldset>
          <fieldset class="field">
            <legend>{words.times}</legend>
            {ranges.map(({ range, index }) => (
              <div key={index} class="row time-range">
                <TimeInput
                  label={words.rangeStart(index + 1)}
                  range={range}
                  of="start"
                  onChange={(value) => set(['whitelist', index], value)}
                />
                <span aria-hidden="true">–</span>
                <TimeInput
                  label={words.rangeEnd(index + 1)}
                  range={range}
                  of="end"
                  onChange={(value) => set(['whitelist', index], value)}
                />
                <button
                  type="button"
                  class="icon-button"
                  aria-label={words.removeItem(words.range(index + 1))}
                  onClick={() => set(['whitelist', index], undefined)}
                >
                  <Icon name="close" />
                </button>
              </div>
            ))}
            <AddButton label={words.addRange} onClick={() => set(['whitelist', ranges.length], workingDay)} />
          </fieldset>
          <label class="check">
            <input
              type="checkbox"
              checked={jitter['enabled'] === true}
              onChange={(event) => set(['jitter', 'enabled'], event.currentTarget.checked)}
            />{' '}
            {words.jitter}
          </label>
          {jitter['enabled'] === true && (
            <div class="row form-row">
              {(['minDelay', 'maxDelay'] as const).map((name) => (
                <LabelledField key={name} label={words.delays[name]}>
                  {(tied) => <NumberInput tied={tied} value={jitter[name]} onChange={(value) => set(['jitter', name], value)} />}
                </LabelledField>
              ))}
            </div>
          )}
        </>
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

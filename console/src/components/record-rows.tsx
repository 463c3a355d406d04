/** A list of records in a form: the fields of each, and a button that removes it. */
import type { ComponentChildren } from 'preact'
import type { Json } from '../model/read.ts'
import { Icon } from './icon.tsx'

interface RecordRowsProps {
  readonly records: readonly Json[]
  readonly onChange: (records: readonly Json[]) => void
  readonly label: (number: number) => string
  readonly removeLabel: string
  readonly children: (record: Json, set: (key: string, value: unknown) => void) => ComponentChildren
}

export function RecordRows({ records, onChange, label, removeLabel, children }: RecordRowsProps) {
  return (
    <>
      {records.map((record, at) => (
        <fieldset key={at} class="record" aria-label={label(at + 1)}>
          <div class="question">
            {children(record, (key, value) =>
              onChange(records.map((one, index) => (index === at ? { ...one, [key]: value } : one))),
            )}
          </div>
          <button
            type="button"
            class="icon-button"
            aria-label={`${removeLabel} ${at + 1}`}
            title={removeLabel}
            onClick={() => onChange(records.filter((_, index) => index !== at))}
          >
            <Icon name="trash" />
          </button>
        </fieldset>
      ))}
    </>
  )
}

/** A list of records in a form: the fields of each, a button that removes it, and one that adds another. */
import type { ComponentChildren } from 'preact'
import { capital } from '../words.ts'
import { Button, IconButton } from './button.tsx'

interface RecordRowsProps<Item> {
  readonly records: readonly Item[]
  readonly onChange: (records: readonly Item[]) => void
  /** What each of them is, such as "rule". */
  readonly noun: string
  readonly added: Item
  readonly children: (record: Item, set: (change: Partial<Item>) => void) => ComponentChildren
}

export function RecordRows<Item extends object>(props: RecordRowsProps<Item>) {
  const { records, onChange, noun, added, children } = props
  return (
    <>
      {records.map((record, at) => (
        <fieldset key={at} class="record" aria-label={`${capital(noun)} ${at + 1}`}>
          <div class="question">
            {children(record, (change) =>
              onChange(records.map((one, index) => (index === at ? { ...one, ...change } : one))),
            )}
          </div>
          <IconButton
            icon="trash"
            label={`Remove ${noun} ${at + 1}`}
            title={`Remove ${noun}`}
            onClick={(event) => {
              focusBeside(event.currentTarget)
              onChange(records.filter((_, index) => index !== at))
            }}
          />
        </fieldset>
      ))}
      <p>
        <Button
          small
          icon="plus"
          onClick={() => onChange([...records, added])}
        >{`Add ${noun}`}</Button>
      </p>
    </>
  )
}

/** The focus goes to the control after one that leaves, such as the button that adds a record. */
function focusBeside(leaving: HTMLElement): void {
  const all = [
    ...document.querySelectorAll<HTMLElement>('button, input, select, textarea, a[href]'),
  ]
  const after = all.slice(all.indexOf(leaving) + 1)
  requestAnimationFrame(() => {
    if (!leaving.isConnected)
      after.find((element) => element.isConnected && element.tabIndex >= 0)?.focus()
  })
}

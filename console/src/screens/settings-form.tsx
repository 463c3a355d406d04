/** A form of the settings: edits above what is stored, the bar that saves them, and the review before that. */
import { type Signal, signal } from '@preact/signals'
import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import type { Live } from '../api/live.ts'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { Denied } from '../components/denied.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Difference } from '../components/difference.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { Panel } from '../components/panel.tsx'
import { Loaded } from '../components/states.tsx'
import { useLeaveGuard } from '../leave.tsx'
import { conflictsOf, type Edits, edit, withEdits } from '../model/edits.ts'
import { type Json, textOf } from '../model/read.ts'
import { plural } from '../words.ts'

/** What every tab of the settings is given. */
export interface SettingsTabProps {
  readonly application: string
  /** Why its settings may not be changed. */
  readonly denied: string | undefined
}

/** Edits in the forms of an application, by the record that they are of: a look at another tab costs nothing. */
const kept = new Map<string, Readonly<Record<'attributes' | 'notifications', Signal<Edits>>>>()

function editsOf(application: string) {
  const found = kept.get(application) ?? { attributes: signal<Edits>({}), notifications: signal<Edits>({}) }
  kept.set(application, found)
  return found
}

/** Asks before the settings of the application are left with changes. */
export function useKeptEdits(application: string): void {
  const count = () => Object.values(editsOf(application)).reduce((sum, { value }) => sum + Object.keys(value).length, 0)
  useLeaveGuard({
    isNeeded: () => count() > 0,
    loss: () => `${plural(count(), 'setting')} of ${application} ${count() === 1 ? 'is' : 'are'} not saved.`,
    discard: () => kept.delete(application),
  })
}

interface SettingsFormProps<Body> extends SettingsTabProps {
  readonly title: string
  readonly of: 'attributes' | 'notifications'
  readonly live: Live<Body>
  /** The settings in the body, with `lastModifiedBy`. */
  readonly storedIn: (body: NonNullable<Body>) => Json
  /** @throws {ApiError} */
  readonly save: (edits: Edits, body: NonNullable<Body>) => Promise<void>
  readonly labelOf: (key: string) => string
  readonly children: (values: Json, set: (key: string, value: unknown) => void) => ComponentChildren
}

export function SettingsForm<Body>(props: SettingsFormProps<Body>) {
  const { application, of, title, denied, live, storedIn, children } = props
  // Fields that keep rows of their own begin anew when edits are thrown away.
  const [generation, setGeneration] = useState(0)
  const edits = editsOf(application)[of]
  const reset = () => {
    edits.value = {}
    setGeneration(generation + 1)
  }
  return (
    <Loaded live={live} rows={3}>
      {(body) => {
        const stored = storedIn(body)
        const set = (name: string, value: unknown) => {
          edits.value = edit(edits.peek(), stored, name, value)
        }
        return (
          <Panel title={title}>
            <Fragment key={generation}>{children(withEdits(stored, edits.value), set)}</Fragment>
            <SaveBar
              count={Object.keys(edits.value).length}
              denied={denied}
              onReview={() => openDialog(<Review {...props} edits={edits.peek()} onSaved={reset} />)}
              onDiscard={reset}
            />
          </Panel>
        )
      }}
    </Loaded>
  )
}

interface SaveBarProps {
  /** Of the changes. */
  readonly count: number
  readonly denied: string | undefined
  readonly onReview: () => void
  readonly onDiscard: () => void
}

function SaveBar({ count, denied = count === 0 ? 'Nothing is changed.' : undefined, onReview, onDiscard }: SaveBarProps) {
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 's') return
      event.preventDefault()
      if (denied === undefined && document.querySelector('dialog[open]') === null) onReview()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })
  return (
    <div class="foot">
      <Button kind="primary" denied={denied} onClick={onReview}>
        Review changes
      </Button>
      {count > 0 && <Button onClick={onDiscard}>Discard</Button>}
      <span class="muted">{denied === undefined ? plural(count, 'change') : <Denied reason={denied} />}</span>
    </div>
  )
}

interface ReviewProps<Body> extends SettingsFormProps<Body> {
  readonly edits: Edits
  readonly onSaved: () => void
}

/** What is stored now beside what will be, with what another user has changed meanwhile. */
function Review<Body>({ application, live, storedIn, save, labelOf, edits, onSaved }: ReviewProps<Body>) {
  useEffect(() => live.refresh(), [])
  const { body } = live.reading.value
  if (body === undefined || body === null) return null
  const stored = storedIn(body)
  const conflicts = conflictsOf(edits, stored)
  const run = async () => {
    await save(edits, body)
    onSaved()
    return undefined
  }
  const values = Object.entries(edits).map(([key, { to }]) => ({ name: labelOf(key), before: stored[key], after: to }))
  return (
    <FormDialog title={`Save the settings of ${application}?`} action={`Save ${application}`} run={run}>
      {conflicts.length > 0 && (
        <Banner tone="warning">
          {textOf(stored['lastModifiedBy']) ?? 'Another user'} changed {conflicts.map(labelOf).join(', ')} while you were editing.
          Saving replaces that with your values.
        </Banner>
      )}
      <Difference values={values} />
    </FormDialog>
  )
}

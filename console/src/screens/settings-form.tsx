/** A form of the settings: edits above what is stored, the bar that saves them, and the review before that. */
import { type Signal, signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import type { Live } from '../api/live.ts'
import type { Right } from '../api/rights.ts'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { Denied } from '../components/denied.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Difference } from '../components/difference.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { openLeaveDialog } from '../components/leave-dialog.tsx'
import { Panel } from '../components/panel.tsx'
import { useLeaveGuard } from '../leave.ts'
import { conflictsOf, type Edits, edit, withEdits } from '../model/edits.ts'
import { type Json, textOf } from '../model/read.ts'
import { plural } from '../words.ts'

/** Words of the settings, which the review and the revisions show. */
const labels: Readonly<Record<string, string>> = {
  email: 'Owner’s email address',
  description: 'Description',
  cloudProviders: 'Cloud providers',
  instancePort: 'Port of instances',
  platformHealthOnly: 'Only the health that the platform reports counts',
  repoType: 'Repository: Kind',
  repoProjectKey: 'Repository: Project',
  repoSlug: 'Repository: Name',
  aliases: 'Other names',
  permissions: 'Permissions',
  trafficGuards: 'Traffic guards',
  notifications: 'Notifications',
}

export function labelOf(key: string): string {
  return labels[key] ?? key
}

type Form = 'attributes' | 'notifications'

/** Edits in the forms of an application, so that a look at another tab costs nothing. */
const kept = new Map<string, Readonly<Record<Form, Signal<Edits>>>>()

function editsOf(application: string): Readonly<Record<Form, Signal<Edits>>> {
  const found = kept.get(application) ?? { attributes: signal<Edits>({}), notifications: signal<Edits>({}) }
  kept.set(application, found)
  return found
}

/** Asks before the settings of the application are left with changes. */
export function useKeptEdits(application: string): void {
  const count = () => Object.values(editsOf(application)).reduce((sum, { value }) => sum + Object.keys(value).length, 0)
  useLeaveGuard({
    isNeeded: () => count() > 0,
    ask: (leave) =>
      openLeaveDialog(`${plural(count(), 'setting')} of ${application} ${count() === 1 ? 'is' : 'are'} not saved.`, () => {
        kept.delete(application)
        leave()
      }),
  })
}

interface SettingsFormProps<Body, Stored extends Json> {
  readonly application: string
  readonly form: Form
  readonly title: string
  readonly right: Right
  readonly live: Live<Body>
  /** The settings in the body, with `lastModifiedBy`. */
  readonly storedIn: (body: Body) => Stored
  /** @throws {ApiError} */
  readonly save: (edits: Edits, body: Body) => Promise<void>
  /** The fields. The key counts up when edits were thrown away: fields that keep rows of their own begin anew. */
  readonly children: (values: Stored, set: (key: string, value: unknown) => void, key: number) => ComponentChildren
}

/** Shown once the body is read. */
export function SettingsForm<Body, Stored extends Json>(props: SettingsFormProps<Body, Stored>) {
  const { application, form, title, right, live, storedIn, children } = props
  const [key, setKey] = useState(0)
  const { body } = live.reading.value
  if (body === undefined) return null
  const edits = editsOf(application)[form]
  const stored = storedIn(body)
  const reset = () => {
    edits.value = {}
    setKey(key + 1)
  }
  const set = (name: string, value: unknown) => {
    edits.value = edit(edits.peek(), stored, name, value)
  }
  const review = () => openDialog(<Review {...props} edits={edits.peek()} onSaved={reset} />)
  return (
    <Panel title={title}>
      {children(withEdits(stored, edits.value), set, key)}
      <SaveBar edits={edits.value} right={right} onReview={review} onDiscard={reset} />
    </Panel>
  )
}

interface SaveBarProps {
  readonly edits: Edits
  readonly right: Right
  readonly onReview: () => void
  readonly onDiscard: () => void
}

function SaveBar({ edits, right, onReview, onDiscard }: SaveBarProps) {
  const count = Object.keys(edits).length
  const denied = right.reason ?? (count === 0 ? 'Nothing is changed.' : undefined)
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

type ReviewProps<Body, Stored extends Json> = Pick<
  SettingsFormProps<Body, Stored>,
  'application' | 'live' | 'storedIn' | 'save'
> & { readonly edits: Edits; readonly onSaved: () => void }

/** What is stored now beside what will be, with what another user has changed meanwhile. */
function Review<Body, Stored extends Json>(props: ReviewProps<Body, Stored>) {
  const { application, live, storedIn, save, edits, onSaved } = props
  useEffect(() => live.refresh(), [])
  const { body } = live.reading.value
  if (body === undefined) return null
  const stored: Json = storedIn(body)
  const conflicts = conflictsOf(edits, stored)
  const run = async () => {
    await save(edits, body)
    onSaved()
    return undefined
  }
  const values = Object.entries(edits).map(([key, { to: after }]) => ({ name: labelOf(key), before: stored[key], after }))
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

/** What the tabs of the settings share: edits above what is stored, the bar that saves them, and the review before that. */
import { type Signal, signal } from '@preact/signals'
import { useLayoutEffect, useState } from 'preact/hooks'
import type { Right } from '../api/rights.ts'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { Difference } from '../components/difference.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { openLeaveDialog } from '../components/leave-dialog.tsx'
import { useLeaveGuard } from '../leave.ts'
import { conflictsOf, type Edits, edit, withEdits } from '../model/edits.ts'
import { type Json, textOf } from '../model/read.ts'
import { settingsWords } from '../settings-words.ts'
import { words } from '../words.ts'

/** Words of the attributes, which the review shows. */
export const settingLabels: Readonly<Record<string, string>> = {
  email: words.email,
  description: words.description,
  cloudProviders: settingsWords.providers,
  instancePort: settingsWords.instancePort,
  platformHealthOnly: settingsWords.platformHealthOnly,
  repoType: `${settingsWords.repository}: ${settingsWords.repoType}`,
  repoProjectKey: `${settingsWords.repository}: ${settingsWords.repoProject}`,
  repoSlug: `${settingsWords.repository}: ${settingsWords.repoName}`,
  aliases: settingsWords.aliases,
  permissions: settingsWords.permissions,
  trafficGuards: settingsWords.guards,
  notifications: settingsWords.notifications,
}

interface EditedForm<T extends Json> {
  /** What the fields show. */
  readonly values: T
  readonly set: (key: string, value: unknown) => void
  readonly edits: Edits
  /** Counts up when edits were thrown away: fields that keep rows of their own begin anew. */
  readonly generation: number
  readonly reset: () => void
}

type Form = 'attributes' | 'notifications'

/** Edits in the forms of an application, so that a look at another tab costs nothing. */
const kept = new Map<string, Readonly<Record<Form, Signal<Edits>>>>()

function editsOf(application: string): Readonly<Record<Form, Signal<Edits>>> {
  const found = kept.get(application) ?? { attributes: signal<Edits>({}), notifications: signal<Edits>({}) }
  kept.set(application, found)
  return found
}

export function useEdits<T extends Json>(application: string, form: Form, stored: T): EditedForm<T> {
  const edits = editsOf(application)[form]
  const [generation, setGeneration] = useState(0)
  return {
    values: withEdits(stored, edits.value),
    set: (key, value) => {
      edits.value = edit(edits.peek(), stored, key, value)
    },
    edits: edits.value,
    generation,
    reset: () => {
      edits.value = {}
      setGeneration((count) => count + 1)
    },
  }
}

/** Asks before the settings of the application are left with changes. */
export function useKeptEdits(application: string): void {
  const count = () => Object.values(editsOf(application)).reduce((sum, { value }) => sum + Object.keys(value).length, 0)
  useLeaveGuard({
    isNeeded: () => count() > 0,
    ask: (leave) =>
      openLeaveDialog(settingsWords.leaveText(application, count()), () => {
        kept.delete(application)
        leave()
      }),
  })
}

interface SaveBarProps {
  readonly edits: Edits
  readonly right: Right
  readonly onReview: () => void
  readonly onDiscard: () => void
}

export function SaveBar({ edits, right, onReview, onDiscard }: SaveBarProps) {
  const count = Object.keys(edits).length
  const denied = right.reason ?? (count === 0 ? settingsWords.nothingChanged : undefined)
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
        {settingsWords.review}
      </Button>
      {count > 0 && <Button onClick={onDiscard}>{settingsWords.discard}</Button>}
      <span class="muted">{denied ?? settingsWords.changed(count)}</span>
    </div>
  )
}

export interface ReviewProps {
  readonly application: string
  readonly edits: Edits
  readonly onSaved: () => void
}

interface ReviewDialogProps {
  readonly application: string
  readonly edits: Edits
  /** As it is now, with who stored it. */
  readonly stored: Json
  readonly save: () => Promise<undefined>
}

/** What is stored beside what will be, with what another user has changed meanwhile. */
export function ReviewDialog({ application, edits, stored, save }: ReviewDialogProps) {
  const conflicts = conflictsOf(edits, stored)
  return (
    <FormDialog title={settingsWords.reviewTitle(application)} action={settingsWords.reviewAction(application)} run={save}>
      {conflicts.length > 0 && (
        <Banner tone="warning">
          {settingsWords.changedMeanwhile(
            textOf(stored['lastModifiedBy']) ?? settingsWords.anotherUser,
            conflicts.map((key) => settingLabels[key] ?? key).join(', '),
          )}
        </Banner>
      )}
      <Difference
        values={Object.entries(edits).map(([key, { to: after }]) => ({
          name: settingLabels[key] ?? key,
          before: stored[key],
          after,
        }))}
      />
    </FormDialog>
  )
}

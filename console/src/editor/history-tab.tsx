/** Changes of the pipeline: those of the draft, and who saved what and when. A restored revision becomes the draft. */

import { numberOf, scalarOf } from '@fairlead/base/json/values.ts'
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { useQueryChange } from '../address.ts'
import { useRevisions } from '../api/pipelines.ts'
import { Button } from '../components/button.tsx'
import { EmptyState, Loaded, Panel } from '../components/screen.tsx'
import { Name, Time } from '../components/text.tsx'
import { formatExact } from '../model/time.ts'
import { isSameDefinition } from './changes.ts'
import { DefinitionDiff } from './definition-diff.tsx'
import { findRevision, type Revision, summaryOf, toDraft, toRevisions } from './describe-changes.ts'
import type { TabProps } from './draft.ts'

const maxRevisions = 50
/** Replaces a revision in the address. */
const draftId = 'draft'

export function HistoryTab({ draft }: TabProps) {
  const id = scalarOf(draft.stored.value?.['id'])
  const live = useRevisions(id, maxRevisions)
  if (id === undefined) return <DraftChanges draft={draft} />
  return (
    <Loaded live={live} rows={6} icon="clock" empty="There is no earlier revision.">
      {(answer) => <Revisions revisions={toRevisions(answer)} draft={draft} />}
    </Loaded>
  )
}

function DraftChanges({ draft }: TabProps) {
  const stored = draft.stored.value
  return (
    <Panel title={stored === undefined ? 'A new pipeline' : 'What a save changes'}>
      <DefinitionDiff before={stored} after={draft.definition.value} />
    </Panel>
  )
}

function Revisions({ revisions, draft }: TabProps & { revisions: readonly Revision[] }) {
  const change = useQueryChange()
  const isDirty = draft.isDirty.value
  const { revision, until } = useLocation().query
  const isDraft = isDirty && until === undefined
  const id = revision ?? (isDraft ? draftId : findRevision(revisions, numberOf(until))?.id)
  const chosen = revisions.find((one) => one.id === id)
  const entry = (of: string, content: ComponentChildren) => (
    <li key={of}>
      <button
        type="button"
        class="revision"
        aria-current={of === id ? 'true' : undefined}
        onClick={() => change({ revision: of })}
      >
        {content}
      </button>
    </li>
  )
  return (
    <div class="history-view">
      <Panel title="Revisions" count={revisions.length} flush>
        <ol class="revisions">
          {isDirty && entry(draftId, <strong>Your changes, not saved</strong>)}
          {revisions.map((one, index) =>
            entry(
              one.id,
              <>
                <span>
                  {savedBy(one)} {index === 0 && <span class="muted">stored now</span>}
                </span>
                <Name class="revision-summary" text={summaryOf(one).join(', ')} max={90} />
              </>,
            ),
          )}
        </ol>
      </Panel>
      {id === draftId && <DraftChanges draft={draft} />}
      {chosen !== undefined && <ChosenRevision key={id} revision={chosen} draft={draft} />}
      {id !== draftId && chosen === undefined && (
        <EmptyState icon="search" text="This revision is not among the newest that are listed." />
      )}
    </div>
  )
}

function savedBy({ savedAtMs, author }: Revision) {
  return (
    <>
      Saved <Time at={savedAtMs} />
      {author !== undefined && <Name text={` by ${author}`} max={40} />}
    </>
  )
}

function ChosenRevision({ revision, draft }: TabProps & { revision: Revision }) {
  const change = useQueryChange()
  const { definition, previous, savedAtMs } = revision
  const isWithDraft = useLocation().query['with'] === 'draft' || previous === undefined
  const mine = draft.definition.value
  const restored = toDraft(definition, mine)
  const when = savedAtMs === undefined ? '' : formatExact(savedAtMs)
  const isSame = isSameDefinition(restored, mine)
  const compare = () => change({ with: isWithDraft ? undefined : 'draft' })
  const restore = () => draft.change(`Restore the revision of ${when}`, () => restored)
  const actions = (
    <>
      {isSame && <span class="muted">Your draft is the same.</span>}
      {previous !== undefined && (
        <Button onClick={compare}>
          Compare with {isWithDraft ? 'the one before' : 'your draft'}
        </Button>
      )}
      {!isSame && draft.readOnly.value === undefined && (
        <Button icon="undo" onClick={restore}>
          Restore this revision
        </Button>
      )}
    </>
  )
  return (
    <Panel title={savedBy(revision)} actions={actions}>
      {isWithDraft && <p class="muted">From this revision to your draft:</p>}
      <DefinitionDiff
        before={isWithDraft ? definition : previous}
        after={isWithDraft ? mine : definition}
      />
    </Panel>
  )
}

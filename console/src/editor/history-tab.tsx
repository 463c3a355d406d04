/** Changes of the pipeline: those of the draft, and who saved what and when. A restored revision becomes the draft. */
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { type ReadParameters, useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { Segments } from '../components/tabs.tsx'
import { Time } from '../components/time.tsx'
import { numberOf, textOf } from '../model/read.ts'
import { formatExact } from '../model/time.ts'
import { DefinitionDiff } from './definition-diff.tsx'
import { type Draft, isSameDefinition, type TabProps } from './draft.ts'
import { findRevision, type Revision, summaryOf, toDraft, toRevisions } from './history.ts'

const path = '/pipelineConfigs/{pipelineConfigId}/history'
const maxRevisions = 50
const maxTitles = 3

export function HistoryTab({ draft }: TabProps) {
  const stored = draft.stored.value
  const id = textOf(stored?.definition['id'])
  const parameters: ReadParameters<typeof path> | undefined =
    id === undefined ? undefined : { path: { pipelineConfigId: id }, query: { limit: maxRevisions } }
  const live = useLive(path, parameters, { refresh: 'open' })
  if (id === undefined) return <DraftChanges draft={draft} />
  return (
    <Loaded live={live} title="Changes" rows={6} empty={<EmptyState icon="clock" text="There is no earlier revision." />}>
      {(answer) => <Revisions revisions={toRevisions(answer)} draft={draft} />}
    </Loaded>
  )
}

function DraftChanges({ draft }: { draft: Draft }) {
  const stored = draft.stored.value
  return (
    <Panel title={stored === undefined ? 'A new pipeline' : 'What a save changes'}>
      <DefinitionDiff before={stored?.definition} after={draft.definition.value} />
    </Panel>
  )
}

/** In the address instead of a revision. */
const draftId = 'draft'

function Revisions({ revisions, draft }: { revisions: readonly Revision[]; draft: Draft }) {
  const { query } = useLocation()
  const { revision: id, until } = query
  const isDraft = id === draftId || (id === undefined && until === undefined && draft.isDirty.value)
  const chosen = isDraft ? undefined : findRevision(revisions, id, numberOf(until))
  return (
    <div class="history-view">
      <Panel title="Revisions" count={revisions.length} flush>
        <ol class="revisions">
          {draft.isDirty.value && (
            <Entry id={draftId} isChosen={isDraft}>
              <strong>Your changes</strong>
              <span class="muted">not saved</span>
            </Entry>
          )}
          {revisions.map((revision, index) => (
            <Entry key={revision.id} id={revision.id} isChosen={revision === chosen}>
              <RevisionFacts revision={revision} isNewest={index === 0} />
            </Entry>
          ))}
        </ol>
      </Panel>
      {isDraft ? (
        <DraftChanges draft={draft} />
      ) : chosen === undefined ? (
        <EmptyState icon="search" text="This revision is not among the newest that are listed." />
      ) : (
        <ChosenRevision key={chosen.id} revision={chosen} draft={draft} />
      )}
    </div>
  )
}

function Entry({ id, isChosen, children }: { id: string; isChosen: boolean; children: ComponentChildren }) {
  const change = useQueryChange()
  return (
    <li>
      <button
        type="button"
        class="revision"
        aria-current={isChosen ? 'true' : undefined}
        onClick={() => change({ revision: id })}
      >
        {children}
      </button>
    </li>
  )
}

function RevisionFacts({ revision, isNewest }: { revision: Revision; isNewest: boolean }) {
  const { savedAtMs, author } = revision
  const titles = summaryOf(revision)
  const more = titles.length - maxTitles
  return (
    <>
      <span class="row">
        <strong>{savedAtMs === undefined ? '–' : <Time at={savedAtMs} />}</strong>
        {isNewest && <span class="muted">stored now</span>}
      </span>
      <span class="muted">{author === undefined ? 'author unknown' : <Name text={`by ${author}`} max={40} />}</span>
      {titles.length > 0 && (
        <span class="revision-summary">
          <Name text={titles.slice(0, maxTitles).join(', ') + (more > 0 ? ` +${more}` : '')} max={90} />
        </span>
      )}
    </>
  )
}

function RevisionTitle({ revision: { savedAtMs, author } }: { revision: Revision }) {
  return (
    <>
      Saved <Time at={savedAtMs} />
      {author !== undefined && <Name text={` by ${author}`} max={40} />}
    </>
  )
}

const comparisons = [
  { id: 'previous', label: 'the revision before' },
  { id: 'draft', label: 'your draft' },
] as const

function ChosenRevision({ revision, draft }: { revision: Revision; draft: Draft }) {
  const change = useQueryChange()
  const { query } = useLocation()
  const { definition, previous, savedAtMs } = revision
  const when = savedAtMs === undefined ? '' : formatExact(savedAtMs)
  const mine = draft.definition.value
  const selected = query['with'] === 'draft' || previous === undefined ? 'draft' : 'previous'
  const restore = () => {
    draft.replace(toDraft(definition, draft.definition.peek()), `Restore the revision of ${when}`)
    draft.endStep()
  }
  const actions = isSameDefinition(toDraft(definition, mine), mine) ? (
    <span class="muted">Your draft is the same.</span>
  ) : (
    draft.readOnly.value === undefined && (
      <Button icon="undo" onClick={restore}>
        Restore this revision
      </Button>
    )
  )
  return (
    <Panel title={<RevisionTitle revision={revision} />} actions={actions}>
      {previous !== undefined && (
        <div class="toolbar">
          <span>Compared with</span>
          <Segments
            label="Compared with"
            options={comparisons}
            selected={selected}
            onSelect={(id) => change({ with: id === 'draft' ? id : undefined })}
          />
        </div>
      )}
      {selected === 'draft' ? (
        <DefinitionDiff before={definition} after={mine} labels={{ before: 'This revision', after: 'Your draft' }} />
      ) : (
        <DefinitionDiff before={previous} after={definition} labels={{ before: 'The revision before', after: 'This revision' }} />
      )}
    </Panel>
  )
}

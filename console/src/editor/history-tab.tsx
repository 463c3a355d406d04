/** Revisions of the pipeline: who changed what and when. A restored one becomes the draft. */
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
import { isUnchanged } from './describe-changes.ts'
import type { Draft, TabProps } from './draft.ts'
import { findRevision, type Revision, summaryOf, toDraft, toRevisions } from './history.ts'
import { textWords } from './text-words.ts'

const path = '/pipelineConfigs/{pipelineConfigId}/history'
const maxRevisions = 50
const maxTitles = 3
const comparisons = [
  { id: 'previous', label: textWords.withPrevious },
  { id: 'draft', label: textWords.withDraft },
] as const

export function HistoryTab({ draft }: TabProps) {
  const stored = draft.stored.value
  const id = textOf(stored?.definition['id'])
  const parameters: ReadParameters<typeof path> | undefined =
    id === undefined ? undefined : { path: { pipelineConfigId: id }, query: { limit: maxRevisions } }
  const live = useLive(path, parameters, { refresh: 'open' })
  if (id === undefined) return <EmptyState icon="clock" text={textWords.historyOfNew} />
  return (
    <Loaded live={live} title={textWords.history} rows={6} empty={<EmptyState icon="clock" text={textWords.noHistory} />}>
      {(answer) => <Revisions revisions={toRevisions(answer)} draft={draft} />}
    </Loaded>
  )
}

function Revisions({ revisions, draft }: { revisions: readonly Revision[]; draft: Draft }) {
  const { query } = useLocation()
  const wanted = query['revision']
  const chosen = findRevision(revisions, wanted, numberOf(query['until']))
  return (
    <div class="history-view">
      <Panel title={textWords.revisions} count={revisions.length} flush>
        <ol class="revisions">
          {revisions.map((revision, index) => (
            <li key={revision.id}>
              <RevisionButton revision={revision} isNewest={index === 0} isChosen={revision === chosen} />
            </li>
          ))}
        </ol>
      </Panel>
      {chosen === undefined ? (
        <EmptyState icon="search" text={textWords.noSuchRevision} />
      ) : (
        <ChosenRevision key={chosen.id} revision={chosen} draft={draft} comparison={query['with']} />
      )}
    </div>
  )
}

interface RevisionButtonProps {
  readonly revision: Revision
  readonly isNewest: boolean
  readonly isChosen: boolean
}

function RevisionButton({ revision, isNewest, isChosen }: RevisionButtonProps) {
  const change = useQueryChange()
  const { id, savedAtMs, author } = revision
  return (
    <button type="button" class="revision" aria-current={isChosen ? 'true' : undefined} onClick={() => change({ revision: id })}>
      <span class="row">
        <strong>{savedAtMs === undefined ? '–' : <Time at={savedAtMs} />}</strong>
        {isNewest && <span class="muted">{textWords.current}</span>}
      </span>
      <span class="muted">{author === undefined ? textWords.unknownAuthor : <Name text={textWords.by(author)} max={40} />}</span>
      <Summary revision={revision} />
    </button>
  )
}

function Summary({ revision }: { revision: Revision }) {
  const titles = summaryOf(revision)
  if (titles.length === 0) return null
  const more = titles.length - maxTitles
  return (
    <span class="revision-summary">
      <Name text={titles.slice(0, maxTitles).join(', ') + (more > 0 ? ` +${more}` : '')} max={90} />
    </span>
  )
}

interface ChosenProps {
  readonly revision: Revision
  readonly draft: Draft
  readonly comparison: string | undefined
}

function ChosenRevision({ revision, draft, comparison }: ChosenProps) {
  const change = useQueryChange()
  const { definition, previous, savedAtMs } = revision
  const when = savedAtMs === undefined ? '' : formatExact(savedAtMs)
  const mine = draft.definition.value
  const isSame = isUnchanged(toDraft(definition, mine), mine)
  const isReadOnly = draft.readOnly.value !== undefined
  const withDraft = { before: definition, after: mine, labels: { before: textWords.thisRevision, after: textWords.yourDraft } }
  const withPrevious = {
    before: previous ?? {},
    after: definition,
    labels: { before: textWords.revisionBefore, after: textWords.thisRevision },
  }
  const restore = (
    <Button
      icon="undo"
      onClick={() => {
        draft.replace(toDraft(definition, draft.definition.peek()), textWords.restoreLabel(when))
        draft.endStep()
      }}
    >
      {textWords.restore}
    </Button>
  )
  const selected = comparison === 'draft' || previous === undefined ? 'draft' : 'previous'
  return (
    <Panel
      title={<Time at={savedAtMs} />}
      actions={isSame ? <span class="muted">{textWords.isDraft}</span> : !isReadOnly && restore}
    >
      <p class="muted">{when}</p>
      {previous === undefined ? (
        <p class="muted">{textWords.firstRevision}</p>
      ) : (
        <div class="toolbar">
          <span>{textWords.compareWith}</span>
          <Segments
            label={textWords.compareWith}
            options={comparisons}
            selected={selected}
            onSelect={(id) => change({ with: id === 'draft' ? 'draft' : undefined })}
          />
        </div>
      )}
      <DefinitionDiff {...(selected === 'draft' ? withDraft : withPrevious)} />
    </Panel>
  )
}

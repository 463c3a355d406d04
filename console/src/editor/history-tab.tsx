/** Revisions of the pipeline: who changed what and when. A restored one becomes the draft. */
import { useLocation } from 'preact-iso/router'
import { type ReadParameters, useLive } from '../api/live.ts'
import { useQueryChange } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
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
import { words } from './text-words.ts'

const path = '/pipelineConfigs/{pipelineConfigId}/history'
const maxRevisions = 50
const maxTitles = 3
const comparisons = [
  { id: 'previous', label: words.withPrevious },
  { id: 'draft', label: words.withDraft },
] as const

export function HistoryTab({ draft }: TabProps) {
  const stored = draft.stored.value
  const id = textOf(stored?.definition['id'])
  const parameters: ReadParameters<typeof path> | undefined =
    id === undefined ? undefined : { path: { pipelineConfigId: id }, query: { limit: maxRevisions } }
  const live = useLive(path, parameters, { refresh: 'open' })
  if (id === undefined) return <EmptyState icon="clock" text={words.historyOfNew} />
  return (
    <Loaded live={live} title={words.history} rows={6} empty={<EmptyState icon="clock" text={words.noHistory} />}>
      {(answer) => <Revisions revisions={toRevisions(answer)} draft={draft} />}
    </Loaded>
  )
}

function Revisions({ revisions, draft }: { revisions: readonly Revision[]; draft: Draft }) {
  const { query } = useLocation()
  const change = useQueryChange()
  const wanted = query['revision']
  const chosen = findRevision(revisions, wanted, numberOf(query['until']))
  return (
    <div class="history-view">
      <Panel title={words.revisions} count={revisions.length} flush>
        <ol class="revisions">
          {revisions.map((revision, index) => (
            <li key={revision.id}>
              <button
                type="button"
                class="revision"
                aria-current={revision === chosen ? 'true' : undefined}
                onClick={() => change({ revision: revision.id })}
              >
                <span class="row">
                  <strong>{revision.savedAtMs === undefined ? '–' : <Time at={revision.savedAtMs} />}</strong>
                  {index === 0 && <span class="muted">{words.current}</span>}
                </span>
                <span class="muted">
                  {revision.author === undefined ? words.unknownAuthor : <Name text={words.by(revision.author)} max={40} />}
                </span>
                <Summary revision={revision} />
              </button>
            </li>
          ))}
        </ol>
      </Panel>
      {chosen === undefined ? (
        <EmptyState icon="search" text={words.noSuchRevision} />
      ) : (
        <ChosenRevision key={chosen.id} revision={chosen} draft={draft} comparison={query['with']} />
      )}
    </div>
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
  const selected = comparison === 'draft' || previous === undefined ? 'draft' : 'previous'
  return (
    <Panel
      title={<Time at={savedAtMs} />}
      actions={
        isSame ? (
          <span class="muted">{words.isDraft}</span>
        ) : (
          !isReadOnly && (
            <button
              type="button"
              class="button"
              onClick={() => {
                draft.replace(toDraft(definition, draft.definition.peek()), words.restoreLabel(when))
                draft.endStep()
              }}
            >
              <Icon name="undo" /> {words.restore}
            </button>
          )
        )
      }
    >
      <p class="muted">{when}</p>
      {previous === undefined ? (
        <p class="muted">{words.firstRevision}</p>
      ) : (
        <div class="toolbar">
          <span>{words.compareWith}</span>
          <Segments
            label={words.compareWith}
            options={comparisons}
            selected={selected}
            onSelect={(id) => change({ with: id === 'draft' ? 'draft' : undefined })}
          />
        </div>
      )}
      {selected === 'draft' ? (
        <DefinitionDiff before={definition} after={mine} labels={{ before: words.thisRevision, after: words.yourDraft }} />
      ) : (
        <DefinitionDiff
          before={previous ?? {}}
          after={definition}
          labels={{ before: words.revisionBefore, after: words.thisRevision }}
        />
      )}
    </Panel>
  )
}

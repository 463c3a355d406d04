/** Revisions of a manager: image and age of each, what differs from the current one, and the way back. */

import { to } from '../address.ts'
import { Button } from '../components/button.tsx'
import { DataTable } from '../components/data-table.tsx'
import { Difference } from '../components/difference.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loading } from '../components/states.tsx'
import { Time } from '../components/time.tsx'
import { changed } from '../model/compare.ts'
import { objectOf } from '../model/read.ts'
import { accountOf, countsOf } from '../model/server-groups.ts'
import { type ActedObject, undoTo, useManifestActions } from './actions.tsx'
import { bareName } from './names.ts'
import { type ManifestView, type ObjectPlace, specOf } from './object.ts'
import { useManifest } from './use-object.ts'
import { manifestWords } from './words.ts'
import type { Revision } from './workload.ts'

interface HistoryProps {
  readonly object: ActedObject
  /** The number of the revision that is compared, as the address has it. */
  readonly compared: string | undefined
}

export function History({ object, compared }: HistoryProps) {
  const { revisions } = object
  const change = useQueryChange()
  const undo = useManifestActions(object).find(({ label }) => label === manifestWords.undoRollout)
  if (revisions === undefined) {
    return (
      <EmptyState icon="undo" text="The API lists no revisions of this kind. Undo restores the revision before the present one.">
        <Button icon="undo" denied={undo?.denied} onClick={() => undo?.onSelect?.()}>
          {manifestWords.undoRollout}
        </Button>
      </EmptyState>
    )
  }
  if (revisions.length === 0) return <EmptyState icon="undo" text="The cluster lists no revision of it." />
  const current = revisions.find(({ isCurrent }) => isCurrent)
  const chosen = revisions.find(({ number, isCurrent }) => String(number) === compared && !isCurrent)
  return (
    <div class="stack">
      <Panel title={manifestWords.tabs.history} flush>
        <Revisions
          object={object}
          revisions={revisions}
          denied={undo?.denied}
          onCompare={(number) => change({ revision: String(number) === compared ? undefined : String(number) })}
        />
      </Panel>
      {chosen !== undefined && current !== undefined && (
        <Panel title={`From revision ${chosen.number} to revision ${current.number}`}>
          <Comparison before={chosen} after={current} />
        </Panel>
      )}
    </div>
  )
}

function placeOf({ group }: Revision): ObjectPlace {
  return { account: accountOf(group), location: group.region, name: group.name }
}

interface RevisionsProps {
  readonly object: ActedObject
  readonly revisions: readonly Revision[]
  readonly denied: string | undefined
  readonly onCompare: (number: number) => void
}

function Revisions({ object, revisions, denied, onCompare }: RevisionsProps) {
  return (
    <DataTable
      label={manifestWords.tabs.history}
      rows={revisions}
      keyOf={({ group }) => group.name}
      columns={[
        {
          head: manifestWords.revision,
          cell: (revision) => (
            <>
              <NameLink href={to.manifest(object.application, placeOf(revision))} text={String(revision.number)} />{' '}
              {revision.isCurrent && <span class="chip">current</span>}
            </>
          ),
        },
        {
          head: manifestWords.images,
          grow: true,
          cell: ({ images, group }) => (
            <code class="field-path">
              <Name text={images.join(', ') || bareName(group.name)} max={120} />
            </code>
          ),
        },
        { head: manifestWords.pods, hideBelow: 'phone', cell: ({ group }) => countsOf(group).total },
        { head: 'Created', hideBelow: 'phone', cell: ({ group }) => <Time at={group.createdTime} /> },
        {
          head: 'Actions',
          isBare: true,
          align: 'end',
          cell: ({ number, isCurrent }) =>
            !isCurrent && (
              <span class="row-buttons">
                <Button small onClick={() => onCompare(number)} aria-label={`Compare revision ${number} with the current one`}>
                  Compare
                </Button>
                <Button
                  small
                  icon="undo"
                  denied={denied}
                  onClick={() => undoTo(object, number)}
                  aria-label={`Undo to revision ${number}`}
                >
                  Undo
                </Button>
              </span>
            ),
        },
      ]}
    />
  )
}

/** Of the pod templates of two revisions. */
function Comparison({ before, after }: { before: Revision; after: Revision }) {
  const [left, right] = [useManifest(placeOf(before)).reading.value.body, useManifest(placeOf(after)).reading.value.body]
  if (left === undefined || right === undefined) return <Loading rows={3} />
  const values = changed(templateOf(left), templateOf(right))
  if (values.length === 0) return <p class="quiet">Both have the same pod template.</p>
  const heads = { field: 'Field', before: `Revision ${before.number}`, after: `Revision ${after.number}` }
  const label = `From revision ${before.number} to revision ${after.number}`
  return <Difference heads={heads} label={label} values={values} />
}

/** Without the label that tells the pods of one replica set from those of another. */
function templateOf(view: ManifestView): unknown {
  const template = objectOf(specOf(view)['template'])
  const metadata = objectOf(template['metadata'])
  const { 'pod-template-hash': _, ...labels } = objectOf(metadata['labels'])
  return { ...template, metadata: { ...metadata, labels } }
}

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
import { countsOf } from '../model/server-groups.ts'
import { undoTo, useManifestActions } from './actions.tsx'
import { bareName } from './names.ts'
import { fieldOf, type ManifestView } from './object.ts'
import { type ActedObject, useManifest } from './use-object.ts'
import { placeOfGroup, type Revision } from './workload.ts'

/** @param compared The number of the revision that is compared, as the address has it */
export function History({ object, compared }: { object: ActedObject; compared: string | undefined }) {
  const { revisions } = object
  const undo = useManifestActions(object).find(({ type }) => type === 'undoRolloutManifest')
  if (revisions === undefined) {
    return (
      <EmptyState icon="undo" text="The API lists no revisions of this kind. Undo restores the revision before the present one.">
        <Button icon="undo" denied={undo?.denied} onClick={() => undo?.onSelect?.()}>
          Undo rollout
        </Button>
      </EmptyState>
    )
  }
  const current = revisions.find(({ isCurrent }) => isCurrent)
  const chosen = revisions.find(({ number, isCurrent }) => String(number) === compared && !isCurrent)
  if (current === undefined) return <EmptyState icon="undo" text="The cluster lists no revision of it." />
  return (
    <div class="stack">
      <Panel title="History" flush>
        <Revisions object={object} revisions={revisions} compared={compared} denied={undo?.denied} />
      </Panel>
      {chosen !== undefined && (
        <Panel title={`From revision ${chosen.number} to revision ${current.number}`}>
          <Comparison before={chosen} after={current} />
        </Panel>
      )}
    </div>
  )
}

interface RevisionsProps {
  readonly object: ActedObject
  readonly revisions: readonly Revision[]
  readonly compared: string | undefined
  readonly denied: string | undefined
}

function Revisions({ object, revisions, compared, denied }: RevisionsProps) {
  const change = useQueryChange()
  const buttons = ({ number, isCurrent }: Revision) => {
    const compare = () => change({ revision: String(number) === compared ? undefined : String(number) })
    return (
      !isCurrent && (
        <span class="row-buttons">
          <Button small onClick={compare} aria-label={`Compare revision ${number} with the current one`}>
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
      )
    )
  }
  return (
    <DataTable
      label="History"
      rows={revisions}
      keyOf={({ group }) => group.name}
      columns={[
        {
          head: 'Revision',
          cell: ({ number, group, isCurrent }) => (
            <>
              <NameLink href={to.manifest(object.application, placeOfGroup(group))} text={String(number)} />{' '}
              {isCurrent && <span class="chip">current</span>}
            </>
          ),
        },
        { head: 'Images', grow: true, cell: ({ images, group }) => <Code text={images.join(', ') || bareName(group.name)} /> },
        { head: 'Pods', hideBelow: 'phone', cell: ({ group }) => countsOf(group).total },
        { head: 'Created', hideBelow: 'phone', cell: ({ group }) => <Time at={group.createdTime} /> },
        { head: 'Actions', isBare: true, align: 'end', cell: buttons },
      ]}
    />
  )
}

/** A text that programs read. */
export function Code({ text }: { text: string }) {
  return (
    <code class="field-path">
      <Name text={text} max={120} />
    </code>
  )
}

/** Of the pod templates of two revisions. */
function Comparison({ before, after }: { before: Revision; after: Revision }) {
  const [left, right] = [before, after].map(({ group }) => useManifest(placeOfGroup(group)).reading.value.body)
  if (left === undefined || right === undefined) return <Loading rows={3} />
  const values = changed(templateOf(left), templateOf(right))
  if (values.length === 0) return <p class="quiet">Both have the same pod template.</p>
  const heads = { field: 'Field', before: `Revision ${before.number}`, after: `Revision ${after.number}` }
  return <Difference heads={heads} label={`${heads.before} and ${heads.after}`} values={values} />
}

/** Without the label that tells the pods of one replica set from those of another. */
function templateOf(view: ManifestView): unknown {
  const { metadata, ...template } = objectOf(fieldOf(view, 'spec.template'))
  const { labels, ...others } = objectOf(metadata)
  const { 'pod-template-hash': _, ...own } = objectOf(labels)
  return { ...template, metadata: { ...others, labels: own } }
}

/** Revisions of a manager: image and age of each, what differs from the current one, and the way back. */

import { objectOf } from '@fairlead/base/json/values.ts'
import { type ScreenProps, to, useQueryChange } from '../address.ts'
import { Button } from '../components/button.tsx'
import { DataTable } from '../components/data-table.tsx'
import { Difference } from '../components/difference.tsx'
import { EmptyState, Loading, Panel } from '../components/screen.tsx'
import { NameLink, Time } from '../components/text.tsx'
import { changed } from '../model/compare.ts'
import { countsOf } from '../model/server-groups.ts'
import { undoTo, useManifestActions } from './actions.tsx'
import { bareName, fieldOf, type ManifestView } from './object.ts'
import { type ActedObject, useManifest } from './use-object.ts'
import { placeOfGroup, type Revision } from './workload.ts'

export function History({
  object,
  query: { revision: compared },
}: {
  object: ActedObject
  query: ScreenProps['query']
}) {
  const { application, revisions = [] } = object
  const [current, ...others] = revisions
  const chosen = others.find(({ number }) => String(number) === compared)
  if (current === undefined)
    return <EmptyState icon="undo" text="The cluster lists no revision of it." />
  const title = ({ number, group }: Revision) => (
    <>
      <NameLink href={to.manifest(application, placeOfGroup(group))} text={String(number)} />{' '}
      {group === current.group && <span class="chip">current</span>}
    </>
  )
  const buttons = ({ number }: Revision) => (
    <Buttons object={object} compared={compared} number={number} />
  )
  return (
    <div class="stack">
      <Panel title="History" flush>
        <DataTable
          label="History"
          rows={revisions}
          keyOf={({ group }) => group.name}
          columns={[
            { head: 'Revision', cell: title },
            {
              head: 'Images',
              grow: true,
              cell: ({ images, group }) => images.join(', ') || bareName(group.name),
            },
            { head: 'Pods', hideBelow: 'phone', cell: ({ group }) => countsOf(group).total },
            {
              head: 'Created',
              hideBelow: 'phone',
              cell: ({ group }) => <Time at={group.createdTime} />,
            },
            {
              head: 'Actions',
              isBare: true,
              align: 'end',
              cell: (one) => one !== current && buttons(one),
            },
          ]}
        />
      </Panel>
      {chosen !== undefined && <Comparison before={chosen} after={current} />}
    </div>
  )
}

function Buttons({
  object,
  compared,
  number,
}: {
  object: ActedObject
  compared: string | undefined
  number: number
}) {
  const change = useQueryChange()
  const { denied } =
    useManifestActions(object).find(({ type }) => type === 'undoRolloutManifest') ?? {}
  const compare = () =>
    change({ revision: String(number) === compared ? undefined : String(number) })
  const undo = () => undoTo(object, number)
  return (
    <span class="row-buttons">
      <Button
        small
        onClick={compare}
        aria-label={`Compare revision ${number} with the current one`}
      >
        Compare
      </Button>
      <Button
        small
        icon="undo"
        denied={denied}
        onClick={undo}
        aria-label={`Undo to revision ${number}`}
      >
        Undo
      </Button>
    </span>
  )
}

/** Compares the pod templates of two revisions. */
function Comparison({ before, after }: { before: Revision; after: Revision }) {
  const [left, right] = [before, after].map(({ group }) => useManifest(placeOfGroup(group)).body)
  const title = `From revision ${before.number} to revision ${after.number}`
  const heads = ['Field', `Revision ${before.number}`, `Revision ${after.number}`] as const
  const values = left && right && changed(templateOf(left), templateOf(right))
  return (
    <Panel title={title}>
      {values === undefined && <Loading rows={3} />}
      {values?.length === 0 && <p class="muted">Both have the same pod template.</p>}
      {values?.[0] && <Difference heads={heads} label={title} values={values} />}
    </Panel>
  )
}

/** Without the label that tells the pods of one replica set from those of another. */
function templateOf(view: ManifestView): unknown {
  const { metadata, ...template } = objectOf(fieldOf(view, 'spec.template'))
  const { labels, ...others } = objectOf(metadata)
  const { 'pod-template-hash': _, ...own } = objectOf(labels)
  return { ...template, metadata: { ...others, labels: own } }
}

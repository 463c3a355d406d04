/** What the API says beside the status of an object: events, artifacts, labels. */
import { DataTable } from '../components/data-table.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { PlainText } from '../components/plain-text.tsx'
import { EmptyState } from '../components/states.tsx'
import { StatusText } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { objectOf, objectsOf, textOf } from '../model/read.ts'
import { eventsOf, type ManifestView, metadataOf } from './object.ts'
import { manifestWords } from './words.ts'

export function Events({ view }: { view: ManifestView }) {
  const rows = eventsOf(view).map((event, at) => ({ ...event, at }))
  if (rows.length === 0)
    return <EmptyState icon="list" text="The cluster keeps no event of it. Events are kept for about an hour." />
  return (
    <Panel title="Events" flush>
      <DataTable
        label="Events"
        rows={rows}
        keyOf={({ at }) => String(at)}
        columns={[
          { head: 'Time', cell: ({ atMs }) => <Time at={atMs} /> },
          {
            head: 'Reason',
            cell: ({ isWarning, reason }) => <StatusText status={{ kind: isWarning ? 'warning' : 'succeeded', word: reason }} />,
          },
          {
            head: manifestWords.message,
            grow: true,
            cell: ({ message, count }) => (
              <>
                <PlainText text={message} />
                {count > 1 && <span class="muted"> {`${count.toLocaleString()} times`}</span>}
              </>
            ),
          },
          { head: 'Source', hideBelow: 'narrow', cell: ({ source }) => <Name text={source ?? ''} max={40} /> },
        ]}
      />
    </Panel>
  )
}

export function Artifacts({ view }: { view: ManifestView }) {
  const rows = objectsOf(view.artifacts).map((artifact, at) => ({
    at,
    type: textOf(artifact['type']) ?? '',
    name: textOf(artifact['name']) ?? '',
    reference: textOf(artifact['reference']) ?? '',
  }))
  if (rows.length === 0) return <EmptyState text="It uses no image, config map or secret that a deployment could bind." />
  return (
    <Panel title={manifestWords.tabs.artifacts} flush>
      <DataTable
        label={manifestWords.tabs.artifacts}
        rows={rows}
        keyOf={({ at }) => String(at)}
        columns={[
          { head: 'Type', cell: ({ type }) => <Name text={type} max={40} /> },
          { head: 'Name', hideBelow: 'phone', cell: ({ name }) => <Name text={name} max={60} /> },
          {
            head: 'Reference',
            grow: true,
            cell: ({ reference }) => (
              <code class="field-path">
                <Name text={reference} max={160} />
              </code>
            ),
          },
        ]}
      />
    </Panel>
  )
}

export function Labels({ view }: { view: ManifestView }) {
  const metadata = metadataOf(view)
  return (
    <div class="stack">
      <Texts title="Labels" values={metadata['labels']} />
      <Texts title="Annotations" values={metadata['annotations']} />
    </div>
  )
}

function Texts({ title, values }: { title: string; values: unknown }) {
  const facts = Object.entries(objectOf(values)).map(([key, value]) => [key, textOf(value) ?? ''] as const)
  return (
    <Panel title={title} count={facts.length}>
      {facts.length === 0 ? (
        <p class="quiet">None.</p>
      ) : (
        <KeyValue facts={facts.map(([key, value]) => [key, value === '' ? '–' : <Name key={key} text={value} max={400} />])} />
      )}
    </Panel>
  )
}

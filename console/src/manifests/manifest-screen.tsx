/** One object of a provider with manifests: its state and why, its history, events, logs and manifest, and what can be done to it. */
import { applicationCrumbs } from '../components/application-head.tsx'
import { Banner } from '../components/banner.tsx'
import { ActionButton } from '../components/button.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { PendingChip } from '../components/pending-chip.tsx'
import { PlainText } from '../components/plain-text.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusBadge } from '../components/status-mark.tsx'
import { AddressTabs } from '../components/tabs.tsx'
import { Time } from '../components/time.tsx'
import { Lazy, loadCodeEditor, loadText } from '../editor/lazy.tsx'
import { objectOf, textsOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'
import { useManifestActions } from './actions.tsx'
import { History } from './history.tsx'
import { Logs } from './logs.tsx'
import { isKind } from './names.ts'
import { AccountsAway, DriftOf } from './notices.tsx'
import { fieldOf, type ManifestView, type ObjectPlace, pillsOf, reasonsOf, rolloutOf, timeOf } from './object.ts'
import { Events, StatusTab } from './status-tab.tsx'
import { type ActedObject, keyOfObject, placeText, useActedObject, useGroups, useManifest, workloads } from './use-object.ts'

export function ManifestScreen({ params, query }: ScreenProps) {
  const { application = '', account = '', location = '', name = '' } = params as Readonly<Record<string, string | undefined>>
  const place = { account, location: location === '_' ? '' : location, name }
  return (
    <Loaded
      live={useManifest(place)}
      title={name}
      rows={8}
      empty={<EmptyState text={`There is no ${name}, or you may not read it.`} />}
    >
      {(view) => <ObjectPage application={application} place={place} view={view} query={query} />}
    </Loaded>
  )
}

interface ObjectPageProps {
  readonly application: string
  readonly place: ObjectPlace
  readonly view: ManifestView
  readonly query: ScreenProps['query']
}

function ObjectPage({ application, place, view, query }: ObjectPageProps) {
  const groups = useGroups(application, view, place)
  const object = useActedObject(application, place, view, groups)
  const shown = { view, object, groups }
  const { name } = place
  const offered = [
    { id: 'status', label: 'Status', body: () => <StatusTab {...shown} /> },
    isKind(name, 'pod', ...workloads) && { id: 'logs', label: 'Logs', body: () => <Logs {...shown} query={query} /> },
    // The API lists the revisions of these alone.
    isKind(name, 'deployment') && {
      ...{ id: 'history', label: 'History' },
      body: () => <History object={object} compared={query['revision']} />,
    },
    { id: 'events', label: 'Events', body: () => <Events view={view} /> },
    { id: 'manifest', label: 'Manifest', body: () => <Lazy load={loadManifestText} props={{ view, name }} /> },
  ]
  return (
    <>
      <Head view={view} object={object} />
      <Notes view={view} object={object} />
      <AddressTabs label={name} tabs={offered.filter((tab) => tab !== false)} />
    </>
  )
}

function Head({ view, object }: { view: ManifestView; object: ActedObject }) {
  const { application, place } = object
  const actions = useManifestActions(object).slice(1)
  const offered = actions.filter(({ destructive, denied }) => !destructive && denied === undefined)
  return (
    <PageHead
      tab={place.name}
      title={<Name text={place.name} max={80} />}
      crumbs={applicationCrumbs(application)}
      state={
        <span class="row">
          {pillsOf(view).map((pill) => (
            <StatusBadge key={pill.word} status={pill} />
          ))}
          <PendingChip object={keyOfObject(place)} />
        </span>
      }
      actions={
        <>
          {offered.slice(0, 4).map((action) => (
            <span key={action.label} class="hide-narrow">
              <ActionButton action={action} />
            </span>
          ))}
          <Menu label={`Actions of ${place.name}`} items={actions} class="button">
            Actions
          </Menu>
        </>
      }
    >
      <p class="muted">
        {placeText(place)}, created <Time at={timeOf(fieldOf(view, 'metadata.creationTimestamp'))} />
      </p>
    </PageHead>
  )
}

/** Why it is not as wanted, what was changed by hand, and how far its rollout is. */
function Notes({ view, object: { application, place } }: { view: ManifestView; object: ActedObject }) {
  const reasons = reasonsOf(view)
  const rollout = rolloutOf(view)
  const isFailed = view['hopeless'] === true || pillsOf(view)[0]?.kind === 'failed'
  return (
    <>
      <AccountsAway accounts={[place.account]} />
      {reasons.length > 0 && (
        <Banner tone={isFailed ? 'failed' : 'warning'}>
          {reasons.map((reason) => (
            <p key={reason}>
              <PlainText text={reason} />
            </p>
          ))}
        </Banner>
      )}
      <DriftOf application={application} place={place} />
      {textsOf(view.warnings).map((warning) => (
        <Banner key={warning} tone="warning">
          <PlainText text={warning} />
        </Banner>
      ))}
      {rollout !== undefined && <Rollout {...rollout} />}
    </>
  )
}

/** How many pods are updated, ready and available of those that are wanted. */
function Rollout({ desired, parts }: NonNullable<ReturnType<typeof rolloutOf>>) {
  return (
    <dl class="rollout" aria-label="Rollout">
      {parts.map(({ word, done }) => (
        <div key={word} class={done >= desired ? 'is-succeeded' : 'is-running'}>
          <dt>{word}</dt>
          <dd>
            <progress aria-hidden="true" value={done} max={desired || 1} />
            <span class="number">{`${done.toLocaleString()} of ${desired.toLocaleString()}`}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** Without what only programs read. */
async function loadManifestText() {
  const [yaml, Editor] = await Promise.all([loadText(), loadCodeEditor()])
  return ({ view, name }: { view: ManifestView; name: string }) => {
    const { managedFields: _, ...metadata } = objectOf(fieldOf(view, 'metadata'))
    return <Editor text={yaml.writeDocuments([{ ...view.manifest, metadata }])} label={`Manifest of ${name}`} />
  }
}

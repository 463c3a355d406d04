/** One object of a provider with manifests: its state and why, its history, events, logs and manifest, and what can be done to it. */
import { to } from '../address.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { Banner } from '../components/banner.tsx'
import { ActionButton } from '../components/button.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { PendingChip } from '../components/pending-chip.tsx'
import { PlainText } from '../components/plain-text.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusBadge } from '../components/status-mark.tsx'
import { Tabs } from '../components/tabs.tsx'
import { Time } from '../components/time.tsx'
import { Lazy } from '../editor/lazy.tsx'
import { loadYaml } from '../editor/load-yaml.ts'
import { loadYamlEditor } from '../editor/load-yaml-editor.tsx'
import { textsOf } from '../model/read.ts'
import type { ServerGroup } from '../model/server-groups.ts'
import type { ScreenProps } from '../screen.ts'

import { type ActedObject, keyOfObject, placeText, useManifestActions } from './actions.tsx'
import { AccountsAway } from './away.tsx'
import { DriftOf } from './drift.tsx'
import { Artifacts, Events, Labels } from './facts-tabs.tsx'
import { History } from './history.tsx'
import { Logs } from './logs.tsx'
import { isKind } from './names.ts'
import { type ManifestView, type ObjectPlace, pillsOf, reasonsOf, rolloutOf, toShown } from './object.ts'
import { podReasonsOf } from './pods.ts'
import { RolloutBars } from './rollout.tsx'
import { StatusTab } from './status-tab.tsx'
import { createdMsOf, useActedObject, useGroups, useManifest } from './use-object.ts'
import { manifestWords } from './words.ts'

type TabId = keyof typeof manifestWords.tabs

/** Kinds with pods whose output can be read. */
const withLogs = ['pod', 'deployment', 'replicaSet', 'statefulSet', 'daemonSet', 'job', 'cronJob']
const withHistory = ['deployment', 'statefulSet', 'daemonSet']

export function ManifestScreen({ params, query }: ScreenProps) {
  const { application = '', account = '', name = '' } = params as Readonly<Record<string, string | undefined>>
  const location = params['location'] === '_' ? '' : (params['location'] ?? '')
  const place = { account, location, name }
  const live = useManifest(place)
  return (
    <Loaded live={live} title={name} rows={8} empty={<EmptyState text={`There is no ${name}, or you may not read it.`} />}>
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
  const change = useQueryChange()
  const groups = useGroups(application, view, place)
  const object = useActedObject(application, place, view, groups)
  const tabs = tabsOf(place.name)
  const selected = tabs.find(({ id }) => id === query['tab'])?.id ?? 'status'
  return (
    <>
      <Head view={view} object={object} />
      <Notes view={view} object={object} />
      <Tabs
        label={place.name}
        tabs={tabs}
        selected={selected}
        onSelect={(id) => change({ tab: id === 'status' ? undefined : id, line: undefined })}
      >
        <TabBody tab={selected} view={view} object={object} groups={groups} query={query} />
      </Tabs>
    </>
  )
}

function tabsOf(name: string) {
  const ids = Object.keys(manifestWords.tabs) as TabId[]
  const offered = ids.filter(
    (id) => (id !== 'logs' || isKind(name, ...withLogs)) && (id !== 'history' || isKind(name, ...withHistory)),
  )
  return offered.map((id) => ({ id, label: manifestWords.tabs[id] }))
}

function Head({ view, object }: { view: ManifestView; object: ActedObject }) {
  const { application, place } = object
  const actions = useManifestActions(object).slice(1)
  const cluster = view.moniker?.cluster
  const inCluster = cluster && cluster !== place.name && isKind(place.name, ...withLogs)
  return (
    <PageHead
      tab={place.name}
      title={<Name text={place.name} max={80} />}
      crumbs={[
        ...applicationCrumbs(application),
        ...(inCluster
          ? [{ label: <Name text={cluster} max={60} />, href: to.cluster(application, { account: place.account, cluster }) }]
          : []),
      ]}
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
          {actions
            .filter(({ destructive, denied }) => destructive !== true && denied === undefined)
            .slice(0, 4)
            .map((action) => (
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
        {placeText(place)}, created <Time at={createdMsOf(view)} />
      </p>
    </PageHead>
  )
}

/** Why it is not as wanted, what was changed by hand, and how far its rollout is. */
function Notes({ view, object: { application, place } }: { view: ManifestView; object: ActedObject }) {
  const reasons = isKind(place.name, 'pod') ? podReasonsOf(view) : reasonsOf(view)
  const isFailed = view['hopeless'] === true || pillsOf(view)[0]?.kind === 'failed'
  const rollout = rolloutOf(view)
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
      {rollout !== undefined && <RolloutBars rollout={rollout} />}
    </>
  )
}

interface TabBodyProps {
  readonly tab: TabId
  readonly view: ManifestView
  readonly object: ActedObject
  readonly groups: readonly ServerGroup[]
  readonly query: ScreenProps['query']
}

function TabBody({ tab, view, object, groups, query }: TabBodyProps) {
  const { place } = object
  switch (tab) {
    case 'status':
      return <StatusTab view={view} object={object} groups={groups} />
    case 'logs':
      return <Logs view={view} object={object} groups={groups} query={query} />
    case 'history':
      return <History object={object} compared={query['revision']} />
    case 'events':
      return <Events view={view} />
    case 'artifacts':
      return <Artifacts view={view} />
    case 'labels':
      return <Labels view={view} />
    case 'manifest':
      return <Lazy load={loadManifestText} props={{ view, name: place.name }} />
  }
}

async function loadManifestText() {
  const [yaml, Editor] = await Promise.all([loadYaml(), loadYamlEditor()])
  return ({ view, name }: { view: ManifestView; name: string }) => (
    <Editor text={yaml.writeDocuments([toShown(view)])} label={`Manifest of ${name}`} />
  )
}

/** One object of a provider with manifests: its state and why, its history, events, logs and manifest, and what can be done to it. */

import { objectOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import type { ComponentChildren } from 'preact'
import type { ScreenProps } from '../address.ts'
import { PendingChip } from '../components/actions.tsx'
import { Banner } from '../components/button.tsx'
import { Filters } from '../components/filter-field.tsx'
import { ProgramOutput } from '../components/program-output.tsx'
import {
  applicationCrumbs,
  EmptyState,
  HeadActions,
  Lazy,
  Loaded,
  Loading,
  PageHead,
} from '../components/screen.tsx'
import { AddressTabs } from '../components/tabs.tsx'
import { PlainText, StatusBadge, Time } from '../components/text.tsx'
import { loadCodeEditor, loadText } from '../editor/lazy.tsx'
import { instanceId, instancesOf } from '../model/server-groups.ts'
import { useManifestActions } from './actions.tsx'
import { History } from './history.tsx'
import { Notices } from './notices.tsx'
import {
  bareName,
  containerSpecsOf,
  eventsOf,
  fieldOf,
  isKind,
  type ManifestView,
  pillsOf,
  reasonsOf,
  rolloutOf,
  timeOf,
} from './object.ts'
import { Events, StatusTab } from './status-tab.tsx'
import {
  keyOfObject,
  placeText,
  type ShownObject,
  useManifest,
  useShownObject,
  workloads,
} from './use-object.ts'

type Queried = Pick<ScreenProps, 'query'>

export function ManifestScreen({ params, query }: ScreenProps) {
  const { application = '', account = '', location = '', name = '' } = params
  const place = { account, location: location === '_' ? '' : location, name }
  const none = `There is no ${name}, or you may not read it.`
  return (
    <Loaded live={useManifest(place)} title={name} rows={8} empty={none}>
      {(view) => <ObjectPage application={application} place={place} view={view} query={query} />}
    </Loaded>
  )
}

function ObjectPage({
  application,
  place,
  view,
  query,
}: Pick<ShownObject, 'application' | 'place' | 'view'> & Queried) {
  const { name } = place
  const object = useShownObject(application, place, view)
  const onceRead = (tab: ComponentChildren) => (object.areGroupsRead ? tab : <Loading rows={8} />)
  const tabs = [
    { id: 'status', label: 'Status', body: () => <StatusTab object={object} /> },
    {
      id: 'logs',
      label: 'Logs',
      kinds: ['pod', ...workloads],
      body: () => onceRead(<Logs object={object} query={query} />),
    },
    // The API lists the revisions of these alone.
    {
      id: 'history',
      label: 'History',
      kinds: ['deployment'],
      body: () => onceRead(<History object={object} query={query} />),
    },
    { id: 'events', label: 'Events', body: () => <Events rows={eventsOf(view)} /> },
    {
      id: 'manifest',
      label: 'Manifest',
      body: () => <Lazy load={loadManifestText} props={{ view, name }} />,
    },
  ]
  return (
    <>
      <Head object={object} />
      <Notes object={object} />
      <AddressTabs
        label={name}
        tabs={tabs.filter(({ kinds }) => kinds === undefined || isKind(name, ...kinds))}
      />
    </>
  )
}

function Head({ object }: { object: ShownObject }) {
  const { application, place, view } = object
  const [, ...actions] = useManifestActions(object)
  const shown = actions.filter(({ destructive, denied }) => !destructive && denied === undefined)
  return (
    <PageHead
      tab={place.name}
      crumbs={applicationCrumbs(application)}
      state={
        <span class="row">
          {pillsOf(view).map((pill) => (
            <StatusBadge key={pill.word} status={pill} />
          ))}
          <PendingChip object={keyOfObject(place)} />
        </span>
      }
      actions={<HeadActions name={place.name} actions={actions} shown={shown.slice(0, 4)} />}
    >
      <p class="muted">
        {placeText(place)}, created{' '}
        <Time at={timeOf(fieldOf(view, 'metadata.creationTimestamp'))} />
      </p>
    </PageHead>
  )
}

/** Why it is not as wanted, what was changed by hand, and how many pods are updated, ready and available. */
function Notes({ object: { application, place, view } }: { object: ShownObject }) {
  const [reasons, warnings] = [reasonsOf(view), textsOf(view.warnings)]
  const rollout = rolloutOf(view)
  const isFailed = view['hopeless'] === true || pillsOf(view)[0]?.kind === 'failed'
  const text = (one: string) => (
    <p key={one}>
      <PlainText text={one} />
    </p>
  )
  return (
    <>
      {reasons.length > 0 && (
        <Banner tone={isFailed ? 'failed' : 'warning'}>{reasons.map(text)}</Banner>
      )}
      <Notices application={application} accounts={[place.account]} place={place} />
      {warnings.length > 0 && <Banner tone="warning">{warnings.map(text)}</Banner>}
      {rollout !== undefined && (
        <dl class="rollout" aria-label="Rollout">
          {rollout.parts.map(({ word, done }) => (
            <div key={word} class={done >= rollout.desired ? 'is-succeeded' : 'is-running'}>
              <dt>{word}</dt>
              <dd>
                <progress aria-hidden="true" value={done} max={rollout.desired || 1} />
                <span class="number">{`${done.toLocaleString()} of ${rollout.desired.toLocaleString()}`}</span>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </>
  )
}

/** Output of pods: of one container, of the present run or the one before. */
function Logs({
  object: { view, place, provider, groups },
  query,
}: { object: ShownObject } & Queried) {
  const pods = isKind(place.name, 'pod')
    ? [place.name]
    : groups.flatMap(instancesOf).map(instanceId)
  const containers = containerSpecsOf(view).flatMap(({ name }) => scalarOf(name) ?? [])
  const pod = pods.find((name) => name === query['pod']) ?? pods[0]
  const container = containers.find((name) => name === query['container']) ?? containers.at(-1)
  const isPrevious = query['previous'] === 'true'
  if (pod === undefined)
    return <EmptyState icon="terminal" text="It has no pods, so there are no logs." />
  return (
    <>
      <Filters
        filters={[
          { ...toFilter(pods, pods[0], pod), name: 'pod', label: 'Pod' },
          {
            ...toFilter(containers, containers.at(-1), container),
            name: 'container',
            label: 'Container',
          },
          {
            name: 'previous',
            label: 'Run',
            any: 'Present run',
            choices: [['true', 'Previous run']],
            least: 1,
            clears: ['line'],
          },
        ]}
      />
      <ProgramOutput
        key={[pod, container, isPrevious].join('\n')}
        account={place.account}
        region={place.location}
        id={pod}
        provider={provider || undefined}
        container={container}
        isPrevious={isPrevious}
        line={query['line']}
      />
    </>
  )
}

/** @param usual What is shown without a choice */
function toFilter(values: readonly string[], usual = '', chosen = usual) {
  const choices = values
    .filter((value) => value !== usual)
    .map((value) => [value, bareName(value)] as const)
  return {
    any: bareName(usual),
    choices,
    least: 1,
    value: chosen === usual ? undefined : chosen,
    clears: ['line'],
  }
}

/** Without what only programs read. */
async function loadManifestText() {
  const [yaml, Editor] = await Promise.all([loadText(), loadCodeEditor()])
  return ({ view, name }: { view: ManifestView; name: string }) => {
    const { managedFields: _, ...metadata } = objectOf(fieldOf(view, 'metadata'))
    return (
      <Editor
        text={yaml.writeDocuments([{ ...view.manifest, metadata }])}
        label={`Manifest of ${name}`}
      />
    )
  }
}

/** Programs that run somewhere, each with its details and its output: instances of server groups, and jobs that pipelines run once. */

import {
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  scalarOf,
} from '@fairlead/base/json/values.ts'
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { type ScreenProps, to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import type { OutputPlace } from '../api/output.ts'
import { applicationEvents } from '../api/streams.ts'
import { ProgramOutput } from '../components/program-output.tsx'
import { RecordPanel } from '../components/record-panel.tsx'
import {
  ApplicationHead,
  applicationCrumbs,
  EmptyState,
  Loaded,
  PageHead,
  Panel,
} from '../components/screen.tsx'
import { StepRows } from '../components/step-rows.tsx'
import { AddressTabs } from '../components/tabs.tsx'
import {
  Duration,
  type Fact,
  Name,
  NameLink,
  StatusBadge,
  StatusText,
  Time,
} from '../components/text.tsx'
import { toFullName } from '../manifests/object.ts'
import { instanceStatus, type Status } from '../model/execution.ts'
import { toWords } from '../model/names.ts'
import { instanceId, statusOfInstance, toEvents } from '../model/server-groups.ts'
import { List } from './place-list.tsx'
import { EventTable } from './server-group.tsx'

export function InstanceScreen({ params }: ScreenProps) {
  const { application = '', account = '', region = '', id = '' } = params
  const live = useLive(
    '/instances/{account}/{region}/{instanceId}',
    { path: { account, region, instanceId: id } },
    { events: applicationEvents(application, 'infrastructure') },
  )
  const gone = `There is no instance ${id}. It may have been replaced.`
  return (
    <Loaded live={live} title={id} rows={8} empty={gone}>
      {(instance) => {
        const group = instance.serverGroup
        const { restarts, pid } = objectOf(instance['process'])
        const events = toEvents(instance['events'])
        return (
          <ProgramPage
            application={application}
            name={instanceId(instance)}
            record={instance}
            status={statusOfInstance(instance)}
            crumbs={
              group == null
                ? []
                : [
                    {
                      label: <Name text={group} />,
                      href: to.serverGroup(application, { account, region, name: group }),
                    },
                  ]
            }
            place={{ account, region, id, provider: instance.cloudProvider ?? undefined }}
            facts={[
              ['Account', instance.account],
              ['Region', instance.region],
              ['Zone', instance.zone],
              [
                'Address',
                [scalarOf(instance['privateIpAddress']), scalarOf(instance['port'])]
                  .filter(Boolean)
                  .join(':'),
              ],
              ['Since', <Time key="since" at={instance.launchTime} />],
              ['Restarts', numberOf(restarts)],
              ['Process', numberOf(pid)],
            ]}
          >
            <Panel title="Health checks" flush>
              <StepRows steps={objectsOf(instance.health).map(toCheck)} />
            </Panel>
            {events.length > 0 && (
              <Panel title="Events" flush>
                <EventTable label="Events" rows={events} />
              </Panel>
            )}
          </ProgramPage>
        )
      }}
    </Loaded>
  )
}

function toCheck(check: JsonObject, at: number) {
  const status = instanceStatus(scalarOf(check['state']))
  const balancers = objectsOf(check['loadBalancers']).map(
    ({ loadBalancerName, name, description, state }) => {
      return `${scalarOf(loadBalancerName) ?? scalarOf(name) ?? ''}: ${scalarOf(description) ?? scalarOf(state) ?? ''}`
    },
  )
  const words = [
    status.word,
    scalarOf(check['healthCheckUrl']),
    scalarOf(check['description']),
    ...balancers,
  ].filter(Boolean)
  const title = <strong>{toWords(scalarOf(check['type']) ?? 'unknown')}</strong>
  return { key: String(at), status, title, note: <Name text={words.join(', ')} max={160} /> }
}

type Job = Schemas['Job']

const isActive = ({ jobState }: Job) => jobState === 'Starting' || jobState === 'Running'
const idOf = ({ id, name }: Job) => id ?? name ?? ''
const nameOf = ({ id, name }: Job) => name ?? id ?? ''
const regionOf = (job: Job) => job.location ?? scalarOf(job['region']) ?? ''

export function Jobs(screen: ScreenProps) {
  const { application = '' } = screen.params
  const providers = useCloudProviders()
  const live = useLive(
    '/applications/{applicationName}/jobs',
    { path: { applicationName: application }, query: {} },
    { refresh: 'live', isBusy: (jobs) => jobs.some(isActive), events: 'infrastructure' },
  )
  return (
    <>
      <ApplicationHead application={application} tab="Jobs" />
      <List
        live={live}
        screen={screen}
        label="Jobs"
        icon="terminal"
        empty="No job. A job is a command that a pipeline runs once."
        rowsOf={(jobs) => jobs.toSorted((a, b) => (b.createdTime ?? 0) - (a.createdTime ?? 0))}
        placeOf={(job) => ({
          provider: job.provider,
          account: job.account,
          region: regionOf(job),
          id: idOf(job),
          name: job.name,
          state: job.jobState,
        })}
        columns={[
          {
            head: 'State',
            cell: ({ jobState }) => <StatusText status={instanceStatus(jobState)} />,
          },
          {
            head: 'Name',
            grow: true,
            cell: (job) => {
              // Of an object with a manifest, addresses take the kind with the name.
              const id = hasManifests(providers, job.provider)
                ? toFullName('job', nameOf(job))
                : idOf(job)
              const href = to.job(application, {
                account: job.account ?? '',
                region: regionOf(job),
                id,
              })
              return <NameLink href={href} text={nameOf(job)} max={70} />
            },
          },
          { head: 'Account', hideBelow: 'phone', cell: ({ account }) => account ?? '–' },
          { head: 'Region', hideBelow: 'phone', cell: (job) => regionOf(job) || '–' },
          { head: 'Started', cell: ({ createdTime }) => <Time at={createdTime} /> },
          {
            head: 'Duration',
            hideBelow: 'narrow',
            cell: (job) =>
              (isActive(job) || job.completedTime) && (
                <Duration from={job.createdTime} until={job.completedTime} />
              ),
          },
        ]}
      />
    </>
  )
}

export function JobScreen({ params }: ScreenProps) {
  const { application = '', account = '', region = '', id = '' } = params
  const live = useLive(
    '/applications/{applicationName}/jobs/{account}/{region}/{name}',
    { path: { applicationName: application, account, region, name: id }, query: {} },
    { refresh: 'live', isBusy: isActive, events: 'infrastructure' },
  )
  const crumbs = [{ label: 'Jobs', href: to.jobs(application) }]
  return (
    <Loaded live={live} title={id} rows={8}>
      {(job) => {
        const name = nameOf(job)
        const { message, reason, exitCode } = objectOf(job.completionDetails)
        // The answer of an unknown job is an empty object.
        if (name === '')
          return (
            <>
              <PageHead tab={id} crumbs={[...applicationCrumbs(application), ...crumbs]} />
              <EmptyState
                icon="terminal"
                text={`There is no job ${id}. Its record may have been removed.`}
              />
            </>
          )
        return (
          <ProgramPage
            application={application}
            name={name}
            crumbs={crumbs}
            record={job}
            status={instanceStatus(job.jobState)}
            place={{ account, region, id, provider: job.provider ?? undefined }}
            facts={[
              ['Why', scalarOf(job['failureDetails']) ?? scalarOf(message) ?? scalarOf(reason)],
              ['Account', job.account],
              ['Region', regionOf(job)],
              ['Provider', job.provider],
              ['Image', scalarOf(job['image'])],
              ['Started', <Time key="started" at={job.createdTime} />],
              ['Ended', job.completedTime && <Time key="ended" at={job.completedTime} />],
              ['Exit code', scalarOf(exitCode)],
            ]}
          />
        )
      }}
    </Loaded>
  )
}

interface ProgramPageProps {
  readonly application: string
  readonly name: string
  /** What it belongs to, below the application. */
  readonly crumbs: ReturnType<typeof applicationCrumbs>
  readonly status: Status
  readonly place: OutputPlace
  readonly facts: readonly Fact[]
  readonly record: unknown
  /** Further details. */
  readonly children?: ComponentChildren
}

function ProgramPage({
  application,
  name,
  crumbs,
  status,
  place,
  facts,
  record,
  children,
}: ProgramPageProps) {
  const { line } = useLocation().query
  const details = () => (
    <div class="stack">
      <RecordPanel title="Details" name={name} facts={facts} record={record} />
      {children}
    </div>
  )
  const tabs = [
    { id: 'details', label: 'Details', body: details },
    {
      id: 'console',
      label: 'Console output',
      body: () => <ProgramOutput key={place.id} {...place} line={line} />,
    },
  ]
  return (
    <>
      <PageHead
        tab={name}
        crumbs={[...applicationCrumbs(application), ...crumbs]}
        state={<StatusBadge status={status} />}
      />
      <AddressTabs label={name} tabs={tabs} />
    </>
  )
}

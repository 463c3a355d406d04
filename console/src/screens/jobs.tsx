/** Jobs of an application: commands that pipelines run once. */
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead, applicationCrumbs } from '../components/application-head.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { ProgramTabs } from '../components/program-tabs.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusBadge, StatusText } from '../components/status-mark.tsx'
import { Duration, Time } from '../components/time.tsx'
import { toFullName } from '../manifests/names.ts'
import { objectOf, textOf } from '../model/read.ts'
import { instanceStatus } from '../model/status.ts'
import type { ScreenProps } from '../screen.ts'
import { List } from './place-list.tsx'

type Job = Schemas['Job']

const empty = 'No job. A job is a command that a pipeline runs once.'

const isActive = ({ jobState }: Job) => jobState === 'Starting' || jobState === 'Running'
const idOf = ({ id, name }: Job) => id ?? name ?? ''
const nameOf = ({ id, name }: Job) => name ?? id ?? ''
const regionOf = (job: Job) => job.location ?? textOf(job['region']) ?? ''

export function Jobs(screen: ScreenProps) {
  const { application = '' } = screen.params
  const live = useLive(
    '/applications/{applicationName}/jobs',
    { path: { applicationName: application }, query: {} },
    { refresh: 'live', isBusy: (jobs) => jobs.some(isActive), events: applicationEvents(application, 'infrastructure') },
  )
  return (
    <>
      <ApplicationHead application={application} tab="Jobs" />
      <Loaded live={live} rows={6} empty={<EmptyState icon="terminal" text={empty} />}>
        {(jobs) => (
          <List
            {...{ label: 'Jobs', empty, screen }}
            rows={jobs.toSorted((a, b) => (b.createdTime ?? 0) - (a.createdTime ?? 0))}
            placeOf={(job) => ({
              ...{ provider: job.provider, account: job.account, region: regionOf(job) },
              ...{ id: idOf(job), name: job.name, state: job.jobState },
            })}
            columns={[
              { head: 'State', cell: ({ jobState }) => <StatusText status={instanceStatus(jobState)} /> },
              { head: 'Name', grow: true, cell: (job) => <JobLink application={application} job={job} /> },
              { head: 'Account', hideBelow: 'phone', cell: ({ account }) => account ?? '–' },
              { head: 'Region', hideBelow: 'phone', cell: (job) => regionOf(job) || '–' },
              { head: 'Started', cell: ({ createdTime }) => <Time at={createdTime} /> },
              {
                head: 'Duration',
                hideBelow: 'narrow',
                cell: (job) =>
                  (isActive(job) || job.completedTime) && <Duration from={job.createdTime} until={job.completedTime} />,
              },
            ]}
          />
        )}
      </Loaded>
    </>
  )
}

/** Of an object with a manifest, addresses take the kind with the name. */
function JobLink({ application, job }: { application: string; job: Job }) {
  const isOfManifest = hasManifests(useCloudProviders(), job.provider)
  const id = isOfManifest ? toFullName('job', nameOf(job)) : idOf(job)
  const href = to.job(application, { account: job.account ?? '', region: regionOf(job), id })
  return <NameLink href={href} text={nameOf(job)} max={70} />
}

export function JobScreen({ params }: ScreenProps) {
  const { application = '', account = '', region = '', id = '' } = params
  const live = useLive(
    '/applications/{applicationName}/jobs/{account}/{region}/{name}',
    { path: { applicationName: application, account, region, name: id }, query: {} },
    { refresh: 'live', isBusy: isActive, events: applicationEvents(application, 'infrastructure') },
  )
  return (
    <Loaded live={live} title={id} rows={8}>
      {(job) => {
        // The answer of an unknown job is an empty object.
        const isKnown = nameOf(job) !== ''
        const name = nameOf(job) || id
        return (
          <>
            <PageHead
              tab={name}
              title={<Name text={name} max={70} />}
              crumbs={[...applicationCrumbs(application), { label: 'Jobs', href: to.jobs(application) }]}
              state={isKnown && <StatusBadge status={instanceStatus(job.jobState)} />}
            />
            {isKnown ? (
              <ProgramTabs name={name} place={{ account, region, id, provider: job.provider ?? undefined }} record={job}>
                <Details job={job} />
              </ProgramTabs>
            ) : (
              <EmptyState icon="terminal" text={`There is no job ${id}. Its record may have been removed.`} />
            )}
          </>
        )
      }}
    </Loaded>
  )
}

function Details({ job }: { job: Job }) {
  const { message, reason, exitCode } = objectOf(job.completionDetails)
  return (
    <Panel title="Details">
      <KeyValue
        facts={[
          ['Why', textOf(job['failureDetails']) ?? textOf(message) ?? textOf(reason)],
          ['Account', job.account],
          ['Region', regionOf(job)],
          ['Provider', job.provider],
          ['Image', textOf(job['image'])],
          ['Started', <Time key="started" at={job.createdTime} />],
          ['Ended', job.completedTime && <Time key="ended" at={job.completedTime} />],
          ['Exit code', textOf(exitCode)],
        ]}
      />
    </Panel>
  )
}

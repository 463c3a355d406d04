/** Jobs of an application: commands that pipelines run once. */
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead, applicationCrumbs } from '../components/application-head.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { ProgramPage } from '../components/program-tabs.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusText } from '../components/status-mark.tsx'
import { Duration, Time } from '../components/time.tsx'
import { toFullName } from '../manifests/names.ts'
import { objectOf, textOf } from '../model/read.ts'
import { instanceStatus } from '../model/status.ts'
import type { ScreenProps } from '../screen.ts'
import { List } from './place-list.tsx'

type Job = Schemas['Job']

const isActive = ({ jobState }: Job) => jobState === 'Starting' || jobState === 'Running'
const idOf = ({ id, name }: Job) => id ?? name ?? ''
const nameOf = ({ id, name }: Job) => name ?? id ?? ''
const regionOf = (job: Job) => job.location ?? textOf(job['region']) ?? ''

export function Jobs(screen: ScreenProps) {
  const { application = '' } = screen.params
  const providers = useCloudProviders()
  const live = useLive(
    '/applications/{applicationName}/jobs',
    { path: { applicationName: application }, query: {} },
    { refresh: 'live', isBusy: (jobs) => jobs.some(isActive), events: applicationEvents(application, 'infrastructure') },
  )
  return (
    <>
      <ApplicationHead application={application} tab="Jobs" />
      <List
        {...{ live, screen, label: 'Jobs', icon: 'terminal', empty: 'No job. A job is a command that a pipeline runs once.' }}
        rowsOf={(jobs) => jobs.toSorted((a, b) => (b.createdTime ?? 0) - (a.createdTime ?? 0))}
        placeOf={(job) => ({
          ...{ provider: job.provider, account: job.account, region: regionOf(job) },
          ...{ id: idOf(job), name: job.name, state: job.jobState },
        })}
        columns={[
          { head: 'State', cell: ({ jobState }) => <StatusText status={instanceStatus(jobState)} /> },
          {
            ...{ head: 'Name', grow: true },
            cell: (job) => {
              // Of an object with a manifest, addresses take the kind with the name.
              const id = hasManifests(providers, job.provider) ? toFullName('job', nameOf(job)) : idOf(job)
              const href = to.job(application, { account: job.account ?? '', region: regionOf(job), id })
              return <NameLink href={href} text={nameOf(job)} max={70} />
            },
          },
          { head: 'Account', hideBelow: 'phone', cell: ({ account }) => account ?? '–' },
          { head: 'Region', hideBelow: 'phone', cell: (job) => regionOf(job) || '–' },
          { head: 'Started', cell: ({ createdTime }) => <Time at={createdTime} /> },
          {
            ...{ head: 'Duration', hideBelow: 'narrow' },
            cell: (job) => (isActive(job) || job.completedTime) && <Duration from={job.createdTime} until={job.completedTime} />,
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
    { refresh: 'live', isBusy: isActive, events: applicationEvents(application, 'infrastructure') },
  )
  const crumb = { label: 'Jobs', href: to.jobs(application) }
  return (
    <Loaded live={live} title={id} rows={8}>
      {(job) => {
        const name = nameOf(job)
        const { message, reason, exitCode } = objectOf(job.completionDetails)
        // The answer of an unknown job is an empty object.
        if (name === '')
          return (
            <>
              <PageHead tab={id} title={<Name text={id} max={70} />} crumbs={[...applicationCrumbs(application), crumb]} />
              <EmptyState icon="terminal" text={`There is no job ${id}. Its record may have been removed.`} />
            </>
          )
        return (
          <ProgramPage
            {...{ application, name, crumb, record: job, status: instanceStatus(job.jobState) }}
            place={{ account, region, id, provider: job.provider ?? undefined }}
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
        )
      }}
    </Loaded>
  )
}

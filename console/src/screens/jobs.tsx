/** Jobs of an application: commands that pipelines run once. */

import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { type CloudProvider, hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead, applicationCrumbs } from '../components/application-head.tsx'
import type { Column } from '../components/data-table.tsx'
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

function isActive({ jobState }: Job): boolean {
  return jobState === 'Starting' || jobState === 'Running'
}

const idOf = ({ id, name }: Job) => id ?? name ?? ''
const regionOf = (job: Job) => job.location ?? textOf(job['region']) ?? ''
const textOfJob = (job: Job) => [job.name, idOf(job), job.account, regionOf(job), job.jobState].join(' ')

export function Jobs({ params, query }: ScreenProps) {
  const application = params['application'] ?? ''
  const providers = useCloudProviders()
  const live = useLive(
    '/applications/{applicationName}/jobs',
    { path: { applicationName: application }, query: {} },
    { refresh: 'live', isBusy: (jobs) => jobs.some(isActive), events: applicationEvents(application, 'infrastructure') },
  )
  return (
    <>
      <ApplicationHead application={application} tab="Jobs" />
      <Loaded
        live={live}
        rows={6}
        empty={<EmptyState icon="terminal" text="No job. A job is a command that a pipeline runs once." />}
      >
        {(jobs) => (
          <List
            label="Jobs"
            empty="No job. A job is a command that a pipeline runs once."
            query={query}
            rows={jobs.toSorted((a, b) => (b.createdTime ?? 0) - (a.createdTime ?? 0))}
            textOfRow={textOfJob}
            placeOfRow={(job) => ({ provider: job.provider, account: job.account, region: regionOf(job) })}
            keyOf={(job) => [job.provider, job.account, regionOf(job), idOf(job)].join('\n')}
            columns={columnsOf(application, providers)}
          />
        )}
      </Loaded>
    </>
  )
}

/** Of an object with a manifest, addresses take the kind with the name. */
function addressedId(job: Job, providers: readonly CloudProvider[]): string {
  return hasManifests(providers, job.provider) ? toFullName('job', job.name ?? idOf(job)) : idOf(job)
}

function columnsOf(application: string, providers: readonly CloudProvider[]): readonly Column<Job>[] {
  return [
    { key: 'state', head: 'State', cell: ({ jobState }) => <StatusText status={instanceStatus(jobState)} /> },
    {
      key: 'name',
      head: 'Name',
      grow: true,
      cell: (job) => (
        <NameLink
          href={to.job(application, { account: job.account ?? '', region: regionOf(job), id: addressedId(job, providers) })}
          text={job.name ?? idOf(job)}
          max={70}
        />
      ),
    },
    {
      key: 'account',
      head: 'Account',
      hideBelow: 'phone',
      cell: ({ account }) => <Name text={account ?? '–'} max={40} />,
    },
    {
      key: 'region',
      head: 'Region',
      hideBelow: 'phone',
      cell: (job) => <Name text={regionOf(job) || '–'} max={30} />,
    },
    { key: 'created', head: 'Started', cell: ({ createdTime }) => <Time at={createdTime} /> },
    {
      key: 'length',
      head: 'Duration',
      hideBelow: 'narrow',
      cell: (job) => (isActive(job) || job.completedTime) && <Duration from={job.createdTime} until={job.completedTime} />,
    },
  ]
}

export function JobScreen({ params, query }: ScreenProps) {
  const { application = '', account = '', region = '', id = '' } = params as Readonly<Record<string, string | undefined>>
  const live = useLive(
    '/applications/{applicationName}/jobs/{account}/{region}/{name}',
    { path: { applicationName: application, account, region, name: id }, query: {} },
    { refresh: 'live', isBusy: isActive, events: applicationEvents(application, 'infrastructure') },
  )
  return (
    <Loaded live={live} title={id} rows={8}>
      {(job) => {
        // The answer of an unknown job is an empty object.
        const isKnown = idOf(job) !== ''
        const name = job.name ?? id
        const place = { account, region, id, provider: job.provider ?? undefined }
        return (
          <>
            <PageHead
              tab={name}
              title={<Name text={name} max={70} />}
              crumbs={[...applicationCrumbs(application), { label: 'Jobs', href: to.jobs(application) }]}
              state={isKnown && <StatusBadge status={instanceStatus(job.jobState)} />}
            />
            {isKnown ? (
              <ProgramTabs name={name} query={query} place={place} record={job}>
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
  const completion = objectOf(job.completionDetails)
  const reason = textOf(job['failureDetails']) ?? textOf(completion['message']) ?? textOf(completion['reason'])
  return (
    <Panel title="Details">
      <KeyValue
        facts={[
          ['Why', reason && <Name text={reason} max={300} />],
          ['Account', job.account],
          ['Region', regionOf(job)],
          ['Provider', job.provider],
          ['Image', textOf(job['image'])],
          ['Started', <Time key="started" at={job.createdTime} />],
          ['Ended', job.completedTime && <Time key="ended" at={job.completedTime} />],
          ['Exit code', textOf(completion['exitCode'])],
        ]}
      />
    </Panel>
  )
}

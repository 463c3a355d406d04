/** Whether the platform is well: readiness, calls to the services, numbers, and for administrators what the doctor finds. */
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { adminWords } from '../admin-words.ts'
import { client, type Schemas, unwrap } from '../api/client.ts'
import { type Reading, useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { ErrorState, Loaded, Loading, Stale } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { readMetrics, type Sample, sumOf } from '../model/metrics.ts'
import { textsOf } from '../model/read.ts'
import type { Kind } from '../model/status.ts'
import { formatDuration } from '../model/time.ts'
import { words } from '../words.ts'

const metricsMs = 60_000

export function Health() {
  const ready = useLive('/health/readiness', {}, { refresh: 'steady' })
  const version = useLive('/version', {}, { refresh: 'slow' }).reading.value.body
  return (
    <>
      <PageHead
        tab={adminWords.health}
        title={adminWords.health}
        state={version !== undefined && <span class="chip">{adminWords.versionIs(version.version)}</span>}
      />
      <div class="stack">
        <Readiness reading={ready.reading.value} onRetry={() => ready.refresh()} />
        {user.value?.isAdmin === true && <Doctor />}
        <Metrics />
      </div>
    </>
  )
}

/** A gateway that is not ready says so with an error status. */
function Readiness({ reading, onRetry }: { reading: Reading<Schemas['Health']>; onRetry: () => void }) {
  const { body: last, error } = reading
  const refused = error?.status === 503 ? (error.body as Schemas['Health'] | undefined) : undefined
  const health = refused?.status === undefined ? last : refused
  if (health === undefined) return error === undefined ? <Loading rows={1} /> : <ErrorState error={error} onRetry={onRetry} />
  const [waits, troubles] = [textsOf(health.waitingFor), textsOf(health.troubles)]
  const kind: Kind = health.status !== 'UP' ? 'failed' : troubles.length > 0 ? 'warning' : 'succeeded'
  return (
    <>
      {refused === undefined && <Stale reading={reading} />}
      <Panel title={words.state}>
        <div class="answer">
          <p class="mark-cell">
            <StatusMark kind={kind} /> {health.status === 'UP' ? adminWords.ready : adminWords.notReady}
          </p>
          <Texts head={adminWords.waitsFor} texts={waits} />
          <Texts head={adminWords.troubles} texts={troubles} />
        </div>
      </Panel>
    </>
  )
}

function Texts({ head, texts }: { head: string; texts: readonly string[] }) {
  if (texts.length === 0) return null
  return (
    <div>
      <h3>{head}</h3>
      <ul>
        {texts.map((text) => (
          <li key={text}>
            <StatusMark kind="warning" /> <Name text={text} max={300} />
          </li>
        ))}
      </ul>
    </div>
  )
}

const verdictKinds: Readonly<Record<Schemas['Examination']['verdict'], Kind>> = {
  ok: 'succeeded',
  warning: 'warning',
  problem: 'failed',
}

function Doctor() {
  const live = useLive('/doctor', {}, { refresh: 'open' })
  const isFirst = live.reading.value.readAtMs === undefined
  return (
    <Panel
      title={adminWords.doctor}
      flush
      actions={
        <Button small icon="refresh" onClick={() => live.refresh()}>
          {adminWords.doctorRun}
        </Button>
      }
    >
      {isFirst && <p class="panel-note">{adminWords.doctorWaits}</p>}
      <Loaded live={live} rows={3}>
        {(answer) => <Examined {...answer} />}
      </Loaded>
    </Panel>
  )
}

function Examined({ findings, publicUrl, addresses }: Schemas['Examination']) {
  const open = findings.filter(({ verdict }) => verdict !== 'ok')
  const good = findings.filter(({ verdict }) => verdict === 'ok')
  return (
    <>
      <p class="panel-note">
        {open.length === 0 ? adminWords.doctorGood(good.length) : adminWords.doctorFindings(open.length)} {adminWords.publicUrl}:{' '}
        <Name text={publicUrl} max={100} />
      </p>
      <Findings findings={open} />
      {addresses.length > 0 && (
        <div class="panel-note">
          <h3>{adminWords.registered}</h3>
          <ul>
            {addresses.map(({ url, what, login }) => (
              <li key={`${login} ${url}`}>
                {login}, {what}: <Name text={url} max={200} /> <CopyButton text={url} label={words.copyPath(url)} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {good.length > 0 && (
        <details>
          <summary class="panel-note">{adminWords.inOrder(good.length)}</summary>
          <Findings findings={good} />
        </details>
      )}
    </>
  )
}

function Findings({ findings }: { findings: Schemas['Examination']['findings'] }) {
  return (
    <ul class="rows">
      {findings.map(({ subject, verdict, tried, found, advice }, index) => (
        <li key={index} class="finding">
          <StatusMark kind={verdictKinds[verdict]} label={adminWords.verdicts[verdict]} />
          <div>
            <strong>
              <Name text={subject} max={120} />
            </strong>
            <p>
              <Name text={found} max={600} />
            </p>
            {advice !== undefined && (
              <p>
                <Icon name="right" /> <Name text={advice} max={600} />
              </p>
            )}
            <p class="quiet">
              <Name text={tried} max={300} />
            </p>
          </div>
        </li>
      ))}
    </ul>
  )
}

/** Undefined before the first answer; empty where the metrics cannot be read. */
const samples = signal<readonly Sample[] | undefined>(undefined)

async function readSamples(): Promise<void> {
  try {
    samples.value = readMetrics(await unwrap(client.GET('/metrics', { parseAs: 'text' })))
  } catch {
    samples.value ??= []
  }
}

function Metrics() {
  useEffect(() => {
    void readSamples()
    const timer = setInterval(() => document.visibilityState === 'visible' && void readSamples(), metricsMs)
    return () => clearInterval(timer)
  }, [])
  const found = samples.value
  if (found === undefined) return <Loading />
  if (found.length === 0) return <p class="quiet">{adminWords.noMetrics}</p>
  return (
    <>
      <Services found={found} />
      <Numbers found={found} />
    </>
  )
}

function Services({ found }: { found: readonly Sample[] }) {
  const rows = toServices(found)
  if (rows.length === 0) return null
  return (
    <Panel title={adminWords.services} flush>
      <DataTable label={adminWords.services} rows={rows} keyOf={({ service }) => service} columns={serviceColumns} />
      <p class="panel-note">{adminWords.sinceStart}</p>
    </Panel>
  )
}

type Service = ReturnType<typeof toServices>[number]

function toServices(found: readonly Sample[]) {
  const names = [
    ...new Set(
      found.flatMap(({ name, labels }) => (name === 'fairlead_upstream_requests_in_flight' ? (labels['service'] ?? []) : [])),
    ),
  ]
  return names.toSorted().map((service) => {
    const ofService = (labels: Sample['labels']) => labels['service'] === service
    const isFailure = (labels: Sample['labels']) => ofService(labels) && !/^[1-4]\d\d$/.test(labels['status'] ?? '')
    const calls = sumOf(found, 'fairlead_upstream_requests_total', ofService) ?? 0
    const seconds = sumOf(found, 'fairlead_upstream_duration_seconds_sum', ofService)
    const measured = sumOf(found, 'fairlead_upstream_duration_seconds_count', ofService) ?? 0
    return {
      service,
      calls,
      failures: sumOf(found, 'fairlead_upstream_requests_total', isFailure) ?? 0,
      meanMs: seconds === undefined || measured === 0 ? undefined : (seconds / measured) * 1000,
      inFlight: sumOf(found, 'fairlead_upstream_requests_in_flight', ofService) ?? 0,
    }
  })
}

const serviceColumns: readonly Column<Service>[] = [
  {
    key: 'service',
    head: adminWords.service,
    grow: true,
    cell: ({ service, failures, calls }) => (
      <span class="mark-cell">
        <StatusMark kind={calls === 0 ? 'unknown' : failures > 0 ? 'warning' : 'succeeded'} /> {service}
      </span>
    ),
  },
  { key: 'calls', head: adminWords.calls, align: 'end', cell: ({ calls }) => calls.toLocaleString() },
  { key: 'failures', head: adminWords.failures, align: 'end', cell: ({ failures }) => failures.toLocaleString() },
  {
    key: 'mean',
    head: adminWords.meanTime,
    align: 'end',
    cell: ({ meanMs }) => (meanMs === undefined ? '–' : formatDuration(meanMs)),
  },
  {
    key: 'flight',
    head: adminWords.inFlight,
    align: 'end',
    hideBelow: 'phone',
    cell: ({ inFlight }) => inFlight.toLocaleString(),
  },
]

function Numbers({ found }: { found: readonly Sample[] }) {
  const count = (name: string, fits?: (labels: Sample['labels']) => boolean) => sumOf(found, name, fits)?.toLocaleString()
  const executions = (status: string) => count('fairlead_executions', (labels) => labels['status'] === status)
  const age = sumOf(found, 'fairlead_engine_queue_age_seconds', ({ queue }) => queue === 'due')
  const startedAt = sumOf(found, 'process_start_time_seconds')
  const memory = sumOf(found, 'process_resident_memory_bytes')
  const lag = sumOf(found, 'nodejs_eventloop_lag_p99_seconds')
  const numbers = [
    [`${adminWords.executionsRun}: ${words.running}`, executions('RUNNING')],
    [`${adminWords.executionsRun}: ${words.queued}`, executions('NOT_STARTED')],
    [adminWords.queueAge, age === undefined ? undefined : formatDuration(age * 1000)],
    [adminWords.requestsServed, count('fairlead_requests_total')],
    [adminWords.requestsFailed, count('fairlead_requests_total', ({ status = '' }) => status.startsWith('5')) ?? '0'],
    [adminWords.inFlight, count('fairlead_requests_in_flight')],
    [adminWords.sessions, count('fairlead_sessions')],
    [adminWords.auditFailures, count('fairlead_audit_failures_total')],
    [adminWords.memory, memory === undefined ? undefined : `${Math.round(memory / 1_000_000).toLocaleString()} MB`],
    [adminWords.lag, lag === undefined ? undefined : formatDuration(lag * 1000)],
    [adminWords.startedAt, startedAt === undefined ? undefined : <Time key="started" at={startedAt * 1000} />],
  ] as const
  return (
    <Panel title={adminWords.numbers}>
      <dl class="numbers">
        {numbers
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </Panel>
  )
}

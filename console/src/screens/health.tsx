/** Whether the platform is well: what needs attention and its fix first, then readiness, services and numbers. */
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { client, type Schemas, unwrap } from '../api/client.ts'
import { type Reading, useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { ErrorState, Loading, Stale } from '../components/states.tsx'
import { StatusBadge, StatusMark } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { textsOf } from '../model/read.ts'
import type { Kind } from '../model/status.ts'
import { formatDuration } from '../model/time.ts'
import { capital, serviceWord } from '../words.ts'
import { Findings } from './findings.tsx'

const metricsMs = 60_000
const retryMs = 5000

export function Health() {
  const ready = useLive('/health/readiness', {}, { refresh: 'steady' })
  const version = useLive('/version', {}, { refresh: 'slow' }).reading.value.body
  return (
    <>
      <PageHead
        tab="Health"
        title="Health"
        state={version !== undefined && <span class="chip">Version {version.version}</span>}
      />
      <div class="stack">
        <Readiness reading={ready.reading.value} onRetry={() => ready.refresh()} />
        {user.value?.isAdmin === true && <Findings />}
        <Metrics />
        <BuildServers />
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
  const isUp = health.status === 'UP'
  const kind: Kind = !isUp ? 'failed' : troubles.length > 0 ? 'warning' : 'succeeded'
  const word = !isUp ? 'not ready' : troubles.length > 0 ? 'ready, with troubles' : 'ready'
  return (
    <>
      {refused === undefined && <Stale reading={reading} />}
      <section class="panel readiness" aria-label="Readiness">
        <StatusBadge status={{ kind, word: `Fairlead is ${word}` }} />
        <ul>
          {waits.map((text) => (
            <li key={text}>
              Waits for <Name text={text} max={300} />
            </li>
          ))}
          {troubles.map((text) => (
            <li key={text}>
              <Name text={text} max={300} />
            </li>
          ))}
        </ul>
      </section>
    </>
  )
}

/** Those of the build service, whose jobs stages and triggers use. */
function BuildServers() {
  const names = useLive('/v2/builds', { query: {} }, { refresh: 'slow' }).reading.value.body
  const servers = textsOf(names)
  if (servers.length === 0) return null
  return (
    <Panel title="Build servers" count={servers.length}>
      <p class="chips">
        {servers.map((name) => (
          <span key={name} class="chip">
            <Name text={name} max={60} />
          </span>
        ))}
      </p>
    </Panel>
  )
}

/** Undefined before the first answer. */
const samples = signal<readonly Sample[] | undefined>(undefined)

/** Read each minute; sooner after a failure, which leaves the last numbers. */
function useSamples(): boolean {
  const [hasFailed, setFailed] = useState(false)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async () => {
      const found = await unwrap(client.GET('/metrics', { parseAs: 'text' })).catch(() => undefined)
      if (found !== undefined) samples.value = readMetrics(found)
      setFailed(found === undefined)
      timer = setTimeout(read, found === undefined ? retryMs : metricsMs)
    }
    void read()
    return () => clearTimeout(timer)
  }, [])
  return hasFailed
}

function Metrics() {
  const hasFailed = useSamples()
  const found = samples.value
  if (found === undefined && !hasFailed) return <Loading />
  return (
    <>
      {hasFailed && (
        <p class="stale" role="status">
          The metrics cannot be read now: services and numbers are {found === undefined ? 'unknown' : 'those of the last answer'}.
        </p>
      )}
      {found !== undefined && <Services found={found} />}
      {found !== undefined && <Numbers found={found} />}
    </>
  )
}

function Services({ found }: { found: readonly Sample[] }) {
  const rows = toServices(found)
  if (rows.length === 0) return null
  return (
    <Panel title="Services" flush>
      <DataTable label="Services" rows={rows} keyOf={({ service }) => service} columns={serviceColumns} />
      <p class="panel-note">Counts since the start of the replica that answered.</p>
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
    head: 'Service',
    grow: true,
    cell: ({ service, failures, calls }) => (
      <span class="mark-cell">
        <StatusMark kind={calls === 0 ? 'unknown' : failures > 0 ? 'warning' : 'succeeded'} />{' '}
        {capital(serviceWord(service) ?? service)}
      </span>
    ),
  },
  { head: 'Calls', align: 'end', hideBelow: 'phone', cell: ({ calls }) => calls.toLocaleString() },
  { head: 'Failures', align: 'end', cell: ({ failures }) => failures.toLocaleString() },
  { head: 'Mean time', align: 'end', cell: ({ meanMs }) => (meanMs === undefined ? '–' : formatDuration(meanMs)) },
  { head: 'In flight', align: 'end', hideBelow: 'phone', cell: ({ inFlight }) => inFlight.toLocaleString() },
]

function Numbers({ found }: { found: readonly Sample[] }) {
  const count = (name: string, fits?: (labels: Sample['labels']) => boolean) => sumOf(found, name, fits)?.toLocaleString()
  const executions = (status: string) => count('fairlead_executions', (labels) => labels['status'] === status)
  const seconds = (value: number | undefined) => (value === undefined ? undefined : formatDuration(value * 1000))
  const startedAt = sumOf(found, 'process_start_time_seconds')
  const memory = sumOf(found, 'process_resident_memory_bytes')
  const numbers = [
    ['Runs that are running', executions('RUNNING')],
    ['Runs that wait for their turn', executions('NOT_STARTED')],
    ['Oldest message in the queue', seconds(sumOf(found, 'fairlead_engine_queue_age_seconds', ({ queue }) => queue === 'due'))],
    ['Requests answered', count('fairlead_requests_total')],
    // A counter without a failure has no sample.
    ['Of these failed (5xx)', count('fairlead_requests_total', ({ status = '' }) => status.startsWith('5')) ?? '0'],
    ['Requests in flight', count('fairlead_requests_in_flight')],
    ['Login sessions', count('fairlead_sessions')],
    ['Audit records not written', count('fairlead_audit_failures_total')],
    ['Memory', memory === undefined ? undefined : `${Math.round(memory / 1_000_000).toLocaleString()} MB`],
    ['Event-loop delay (99th percentile)', seconds(sumOf(found, 'nodejs_eventloop_lag_p99_seconds'))],
    ['Started', startedAt === undefined ? undefined : <Time key="started" at={startedAt * 1000} />],
  ] as const
  return (
    <Panel title="Numbers">
      <dl class="numbers">
        {numbers.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value ?? <span class="muted">unknown</span>}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}

/** A line of the text format of Prometheus. */
interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

/** Lines that are none cost themselves only. */
function readMetrics(text: string): readonly Sample[] {
  return text.split('\n').flatMap((row): readonly Sample[] => {
    const found = row.startsWith('#') ? null : line.exec(row)
    const value = Number(found?.[3])
    if (found === null || !Number.isFinite(value)) return []
    const labels = Object.fromEntries([...(found[2] ?? '').matchAll(label)].map(([, key, text]) => [key, text]))
    return [{ name: found[1] ?? '', labels, value }]
  })
}

/** Undefined where there is no sample. */
function sumOf(
  samples: readonly Sample[],
  name: string,
  fits: (labels: Sample['labels']) => boolean = () => true,
): number | undefined {
  const values = samples.filter((sample) => sample.name === name && fits(sample.labels)).map(({ value }) => value)
  return values.length === 0 ? undefined : values.reduce((total, value) => total + value, 0)
}

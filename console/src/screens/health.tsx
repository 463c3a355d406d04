/** Whether the platform is well: what needs attention and its fix first, then readiness, services and numbers. */
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { ErrorState, Loaded, Loading, Stale } from '../components/states.tsx'
import { StatusBadge, StatusMark } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { textsOf } from '../model/read.ts'
import { formatDuration } from '../model/time.ts'
import { capital, serviceWord } from '../words.ts'
import { Findings } from './findings.tsx'

export function Health() {
  const version = useLive('/version', {}, { refresh: 'slow' }).reading.value.body
  const metrics = useLive('/metrics', {}, { refresh: 'slow' })
  return (
    <>
      <PageHead
        tab="Health"
        title="Health"
        state={version !== undefined && <span class="chip">Version {version.version}</span>}
      />
      <div class="stack">
        <Readiness />
        {user.value?.isAdmin === true && <Findings />}
        <Loaded live={metrics}>
          {(text) => {
            const samples = readMetrics(String(text))
            return (
              <>
                <Services samples={samples} />
                <Numbers samples={samples} />
              </>
            )
          }}
        </Loaded>
      </div>
    </>
  )
}

/** A gateway that is not ready says so with an error status. */
function Readiness() {
  const live = useLive('/health/readiness', {}, { refresh: 'steady' })
  const { body, error } = live.reading.value
  const refused = error?.status === 503 ? (error.body as Schemas['Health'] | undefined) : undefined
  const health = refused?.status === undefined ? body : refused
  if (health === undefined)
    return error === undefined ? <Loading rows={1} /> : <ErrorState error={error} onRetry={() => live.refresh()} />
  const troubles = textsOf(health.troubles)
  const status =
    health.status !== 'UP'
      ? ({ kind: 'failed', word: 'not ready' } as const)
      : troubles.length > 0
        ? ({ kind: 'warning', word: 'ready, with troubles' } as const)
        : ({ kind: 'succeeded', word: 'ready' } as const)
  return (
    <>
      {refused === undefined && <Stale reading={live.reading.value} />}
      <section class="panel readiness" aria-label="Readiness">
        <StatusBadge status={{ ...status, word: `Fairlead is ${status.word}` }} />
        <ul>
          {[...textsOf(health.waitingFor).map((text) => `Waits for ${text}`), ...troubles].map((text) => (
            <li key={text}>
              <Name text={text} max={300} />
            </li>
          ))}
        </ul>
      </section>
    </>
  )
}

function Services({ samples }: { samples: readonly Sample[] }) {
  const names = samples.flatMap(({ name, labels }) => (name === 'fairlead_upstream_requests_in_flight' ? labels['service'] : []))
  const rows = [...new Set(names)].toSorted().map((service = '') => {
    const own = samples.filter(({ labels }) => labels['service'] === service)
    const failed = own.filter(({ labels: { status = '' } }) => !/^[1-4]\d\d$/.test(status))
    const seconds = sumOf(own, 'fairlead_upstream_duration_seconds_sum')
    const measured = sumOf(own, 'fairlead_upstream_duration_seconds_count')
    return {
      service,
      calls: sumOf(own, 'fairlead_upstream_requests_total') ?? 0,
      failures: sumOf(failed, 'fairlead_upstream_requests_total') ?? 0,
      meanMs: seconds !== undefined && measured ? (seconds / measured) * 1000 : undefined,
      inFlight: sumOf(own, 'fairlead_upstream_requests_in_flight') ?? 0,
    }
  })
  if (rows.length === 0) return null
  const columns: readonly Column<(typeof rows)[number]>[] = [
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
  return (
    <Panel title="Services" flush>
      <DataTable label="Services" rows={rows} keyOf={({ service }) => service} columns={columns} />
      <p class="panel-note">Counts since the start of the replica that answered.</p>
    </Panel>
  )
}

function Numbers({ samples }: { samples: readonly Sample[] }) {
  const having = (name: string, value: RegExp) => samples.filter(({ labels }) => value.test(labels[name] ?? ''))
  const count = (name: string, among = samples) => sumOf(among, name)?.toLocaleString()
  const queueAge = sumOf(having('queue', /^due$/), 'fairlead_engine_queue_age_seconds')
  const [memory, startedAt] = [sumOf(samples, 'process_resident_memory_bytes'), sumOf(samples, 'process_start_time_seconds')]
  const numbers = {
    'Runs that are running': count('fairlead_executions', having('status', /^RUNNING$/)),
    'Runs that wait for their turn': count('fairlead_executions', having('status', /^NOT_STARTED$/)),
    'Oldest message in the queue': queueAge === undefined ? undefined : formatDuration(queueAge * 1000),
    'Requests answered': count('fairlead_requests_total'),
    // A counter without a failure has no sample.
    'Of these failed (5xx)': count('fairlead_requests_total', having('status', /^5/)) ?? '0',
    'Login sessions': count('fairlead_sessions'),
    'Audit records not written': count('fairlead_audit_failures_total'),
    Memory: memory === undefined ? undefined : `${Math.round(memory / 1_000_000).toLocaleString()} MB`,
    Started: startedAt === undefined ? undefined : <Time at={startedAt * 1000} />,
  }
  return (
    <Panel title="Numbers">
      <dl class="numbers">
        {Object.entries(numbers).map(([name, value]) => (
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

function readMetrics(text: string): readonly Sample[] {
  return [...text.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([\d.e+-]+)/gm)].map(([, name = '', labels = '', value]) => {
    const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text])
    return { name, labels: Object.fromEntries(pairs), value: Number(value) }
  })
}

/** Undefined where there is no sample. */
function sumOf(samples: readonly Sample[], name: string): number | undefined {
  const values = samples.filter((sample) => sample.name === name).map(({ value }) => value)
  return values.length === 0 ? undefined : values.reduce((total, value) => total + value, 0)
}

/** Whether the platform is well: readiness, findings with their fixes for administrators, services and numbers. */

import { textsOf } from '@fairlead/base/json/values.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { Button, CopyButton } from '../components/button.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { ErrorState, Loaded, Loading, PageHead, Panel, Stale } from '../components/screen.tsx'
import { KeyValue, Name, StatusBadge, StatusMark, Time } from '../components/text.tsx'
import { formatDuration } from '../model/time.ts'
import { capital, plural, serviceWord } from '../words.ts'

export function Health() {
  const version = useLive('/version', {}, 'slow').body
  const metrics = useLive('/metrics', {}, 'slow')
  return (
    <>
      <PageHead
        tab="Health"
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
  const live = useLive('/health/readiness', {})
  const { body, error } = live
  const refused = error?.status === 503 ? (error.body as Schemas['Health'] | undefined) : undefined
  const health = refused?.status === undefined ? body : refused
  if (health === undefined)
    return error === undefined ? (
      <Loading rows={1} />
    ) : (
      <ErrorState error={error} onRetry={() => live.refresh()} />
    )
  const troubles = textsOf(health.troubles)
  const ready =
    troubles.length > 0
      ? (['warning', 'ready, with troubles'] as const)
      : (['succeeded', 'ready'] as const)
  const [kind, word] = health.status === 'UP' ? ready : (['failed', 'not ready'] as const)
  return (
    <>
      {refused === undefined && <Stale live={live} />}
      <section class="panel readiness" aria-label="Readiness">
        <StatusBadge status={{ kind, word: `Fairlead is ${word}` }} />
        <ul>
          {[...textsOf(health.waitingFor).map((text) => `Waits for ${text}`), ...troubles].map(
            (text) => (
              <li key={text}>
                <Name text={text} max={300} />
              </li>
            ),
          )}
        </ul>
      </section>
    </>
  )
}

/** What the examination of the installation finds, worst first. */
function Findings() {
  const live = useLive('/doctor', {}, 'open')
  const { readAtMs, error } = live.reading.value
  const again = (
    <Button small icon="refresh" onClick={() => live.refresh()}>
      Examine again
    </Button>
  )
  return (
    <Panel title="Findings" flush actions={again}>
      {readAtMs === undefined && error === undefined && (
        <p class="panel-note">
          Fairlead examines its configuration, certificates, clocks and services: a few seconds.
        </p>
      )}
      <Loaded live={live} rows={3}>
        {(answer) => <Examined {...answer} />}
      </Loaded>
    </Panel>
  )
}

function Examined({ findings, publicUrl, addresses }: Schemas['Examination']) {
  const { problem = [], warning = [], ok = [] } = Object.groupBy(findings, ({ verdict }) => verdict)
  const open = [...problem, ...warning]
  const inOrder = `${plural(ok.length, 'check')} in order`
  return (
    <>
      <p class="panel-note">
        {open.length === 0
          ? `Nothing to do: ${inOrder}.`
          : `Needs attention: ${plural(open.length, 'finding')}.`}{' '}
        Public address: <Name text={publicUrl} max={100} />
      </p>
      <ul class="rows">{open.map(toRow)}</ul>
      {addresses.length > 0 && (
        <div class="panel-note">
          <h3>Addresses to register at the identity provider</h3>
          <ul>
            {addresses.map(({ url, what, login }) => (
              <li key={`${login} ${url}`}>
                {login}, {what}: <Copied text={url} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {ok.length > 0 && (
        <details>
          <summary class="panel-note">{inOrder}</summary>
          <ul class="rows">{ok.map(toRow)}</ul>
        </details>
      )}
    </>
  )
}

const verdicts = {
  problem: { kind: 'failed', label: 'problem' },
  warning: { kind: 'warning', label: 'warning' },
  ok: { kind: 'succeeded', label: 'in order' },
} as const

function toRow(
  { subject, verdict, found, advice, guide, tried }: Schemas['Examination']['findings'][number],
  index: number,
) {
  // "Service clouddriver" is the deployment service.
  const service = serviceWord(/^Service (\w+)$/.exec(subject)?.[1])
  return (
    <li key={index} class="finding">
      <StatusMark {...verdicts[verdict]} />
      <div>
        <Name
          class="row-title"
          text={service === undefined ? subject : capital(service)}
          max={120}
        />
        <p>
          <Name text={found} max={600} />
        </p>
        {advice !== undefined && (
          <p class="fix">
            <strong>Fix:</strong> <Name text={advice} max={600} />
            {guide !== undefined && '. Guide: '}
            {guide !== undefined && <Copied text={guide} />}
          </p>
        )}
        <p class="muted">
          Tried: <Name text={tried} max={300} />
        </p>
      </div>
    </li>
  )
}

function Copied({ text }: { text: string }) {
  return (
    <span class="copied">
      <code>
        <Name text={text} max={200} />
      </code>
      <CopyButton text={text} label={`Copy ${text}`} />
    </span>
  )
}

function toService(samples: readonly Sample[], service: string) {
  const own = samples.filter(({ labels }) => labels.includes(`service="${service}"`))
  const sum = (name: string, labels?: RegExp) => sumOf(own, `fairlead_upstream_${name}`, labels)
  const [seconds, measured] = [sum('duration_seconds_sum'), sum('duration_seconds_count')]
  return {
    service,
    calls: sum('requests_total') ?? 0,
    failures: sum('requests_total', /^(?!.*\bstatus="[1-4]\d\d")/) ?? 0,
    meanMs: seconds !== undefined && measured ? (seconds / measured) * 1000 : undefined,
    inFlight: sum('requests_in_flight') ?? 0,
  }
}

const columns: readonly Column<ReturnType<typeof toService>>[] = [
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
  {
    head: 'Mean time',
    align: 'end',
    hideBelow: 'phone',
    cell: ({ meanMs }) => (meanMs === undefined ? '–' : formatDuration(meanMs)),
  },
  {
    head: 'In flight',
    align: 'end',
    hideBelow: 'phone',
    cell: ({ inFlight }) => inFlight.toLocaleString(),
  },
]

function Services({ samples }: { samples: readonly Sample[] }) {
  const gauges = samples.filter(({ name }) => name === 'fairlead_upstream_requests_in_flight')
  const services = new Set(
    gauges.flatMap(({ labels }) => /\bservice="([^"]+)"/.exec(labels)?.[1] ?? []),
  )
  if (services.size === 0) return null
  const rows = [...services].toSorted().map((service) => toService(samples, service))
  return (
    <Panel title="Services" flush>
      <DataTable label="Services" rows={rows} keyOf={({ service }) => service} columns={columns} />
      <p class="panel-note">Counts since the start of the replica that answered.</p>
    </Panel>
  )
}

function Numbers({ samples }: { samples: readonly Sample[] }) {
  const count = (name: string, labels?: RegExp) =>
    sumOf(samples, `fairlead_${name}`, labels)?.toLocaleString()
  const queueAge = sumOf(samples, 'fairlead_engine_queue_age_seconds', /\bqueue="due"/)
  const [memory, startedAt] = [
    sumOf(samples, 'process_resident_memory_bytes'),
    sumOf(samples, 'process_start_time_seconds'),
  ]
  const numbers = {
    'Runs that are running': count('executions', /\bstatus="RUNNING"/),
    'Runs that wait for their turn': count('executions', /\bstatus="NOT_STARTED"/),
    'Oldest message in the queue':
      queueAge === undefined ? undefined : formatDuration(queueAge * 1000),
    'Requests answered': count('requests_total'),
    // A counter without a failure has no sample.
    'Of these failed (5xx)': count('requests_total', /\bstatus="5/) ?? '0',
    'Login sessions': count('sessions'),
    'Audit records not written': count('audit_failures_total'),
    Memory:
      memory === undefined ? undefined : `${Math.round(memory / 1_000_000).toLocaleString()} MB`,
    Started: startedAt === undefined ? undefined : <Time at={startedAt * 1000} />,
  }
  return (
    <Panel title="Numbers">
      <KeyValue look="numbers" facts={Object.entries(numbers)} />
    </Panel>
  )
}

/** A line of the text format of Prometheus. */
interface Sample {
  readonly name: string
  /** Labels as written: `service="orca",status="200"`. */
  readonly labels: string
  readonly value: number
}

function readMetrics(text: string) {
  const lines = text.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([\d.e+-]+)/gm)
  return [...lines].map(([, name = '', labels = '', value]) => ({
    name,
    labels,
    value: Number(value),
  }))
}

/** Undefined where there is no sample. */
function sumOf(samples: readonly Sample[], name: string, labels = /(?:)/) {
  const found = samples.filter((sample) => sample.name === name && labels.test(sample.labels))
  return found.length === 0 ? undefined : found.reduce((total, { value }) => total + value, 0)
}

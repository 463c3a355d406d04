/** Who did what: the audit log with its columns as filters, its export and its verification. For administrators. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { to } from '../address.ts'
import { adminWords } from '../admin-words.ts'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { client, type Schemas, unwrap } from '../api/client.ts'
import { type ReadParameters, useLive } from '../api/live.ts'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { Check } from '../components/check.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { FilterField, FilterSelect, NoMatch, useQueryChange } from '../components/filter-field.tsx'
import { NewRows, useHeldRows } from '../components/held-rows.tsx'
import { Icon } from '../components/icon.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, ErrorState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { usePhone } from '../components/use-phone.ts'
import { type AuditTarget, auditTargetOf } from '../model/audit-target.ts'
import { downloadText } from '../model/download.ts'
import type { Kind } from '../model/status.ts'
import type { ScreenProps } from '../screen.ts'

type Event = Schemas['AuditEvent']
type Filters = NonNullable<NonNullable<ReadParameters<'/audit/events'>['query']>>

/** Operations are the longest that are read in whole. */
const maxValue = 36
const pageSize = 100
const exportPage = 1000
const maxExported = 10_000
const texts = ['user', 'operation', 'application', 'address'] as const
const labels: Readonly<Record<(typeof texts)[number], string>> = {
  user: adminWords.userName,
  operation: adminWords.operationId,
  application: adminWords.application,
  address: adminWords.clientAddress,
}

export function Audit({ query }: ScreenProps) {
  const filters = toFilters(query)
  const follows = query['follow'] === 'true'
  const change = useQueryChange()
  return (
    <>
      <PageHead
        tab={adminWords.audit}
        title={adminWords.audit}
        actions={
          <>
            <Check checked={follows} onChange={(isOn) => change({ follow: isOn ? 'true' : undefined })}>
              {adminWords.follow}
            </Check>
            <Export filters={filters} />
          </>
        }
      />
      <Verification />
      <FilterRow query={query} />
      <Events key={JSON.stringify(filters)} filters={filters} follows={follows} />
    </>
  )
}

/** Only what the API knows: a value of the address that is none of its choices filters nothing. */
function toFilters(query: ScreenProps['query']): Filters {
  const { kind, decision, from, to } = query
  const moment = (text: string | undefined) =>
    text === undefined || Number.isNaN(Date.parse(text)) ? undefined : new Date(text).toISOString()
  return {
    ...(kind !== undefined && Object.hasOwn(adminWords.kinds, kind) && { kind: kind as Event['kind'] }),
    ...(decision !== undefined &&
      Object.hasOwn(adminWords.auditDecisions, decision) && { decision: decision as Event['decision'] }),
    ...Object.fromEntries(texts.flatMap((name) => (query[name] ? [[name, query[name]]] : []))),
    ...(moment(from) !== undefined && { from: moment(from) as string }),
    ...(moment(to) !== undefined && { to: moment(to) as string }),
  }
}

function FilterRow({ query }: Pick<ScreenProps, 'query'>) {
  const isWide = !usePhone()
  const hasFilters = Object.keys(toFilters(query)).length > 0
  const change = useQueryChange()
  const moment = (name: 'from' | 'to', label: string) => (
    <label>
      {label}
      <input
        type="datetime-local"
        value={query[name] ?? ''}
        onChange={(event) => change({ [name]: event.currentTarget.value || undefined })}
      />
    </label>
  )
  return (
    <details class="filter-fold" open={isWide || hasFilters}>
      <summary>{adminWords.filters}</summary>
      <div class="filters">
        <FilterSelect
          name="kind"
          label={adminWords.kind}
          value={query['kind']}
          any={adminWords.anyKind}
          options={Object.entries(adminWords.kinds)}
        />
        <FilterSelect
          name="decision"
          label={adminWords.decision}
          value={query['decision']}
          any={adminWords.anyDecision}
          options={Object.entries(adminWords.auditDecisions)}
        />
        {texts.map((name) => (
          <FilterField key={name} name={name} value={query[name]} label={labels[name]} />
        ))}
        {moment('from', adminWords.auditFrom)}
        {moment('to', adminWords.auditTo)}
      </div>
    </details>
  )
}

function Events({ filters, follows }: { filters: Filters; follows: boolean }) {
  const live = useLive('/audit/events', { query: { ...filters, limit: pageSize } }, { refresh: follows ? 'live' : 'open' })
  const { older, error, busy, readOlder } = useOlder(filters)
  return (
    <Loaded live={live} rows={10}>
      {({ events, next: firstNext }) => {
        const newest = events.at(-1)?.sequence ?? 0
        const all = [...events, ...(older?.events ?? []).filter(({ sequence }) => sequence < newest)]
        const next = older === undefined ? firstNext : older.next
        if (all.length === 0) return <NoEvent filters={filters} />
        return (
          <div class="panel is-flush audit-table">
            <div class="panel-body">
              <Table events={all} of={JSON.stringify(filters)} />
            </div>
            {error !== undefined && <ErrorState error={error} onRetry={() => next !== undefined && void readOlder(next)} />}
            {next !== undefined && error === undefined && (
              <p class="panel-note">
                <Button small aria-busy={busy} onClick={() => void readOlder(next)}>
                  {adminWords.older}
                </Button>
              </p>
            )}
          </div>
        )
      }}
    </Loaded>
  )
}

/** Events before those of the first page, read when they are wanted. */
function useOlder(filters: Filters) {
  const [older, setOlder] = useState<{ events: readonly Event[]; next: string | undefined } | undefined>(undefined)
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const [busy, setBusy] = useState(false)
  const readOlder = async (cursor: string) => {
    if (busy) return
    setBusy(true)
    setError(undefined)
    try {
      const page = await readPage(filters, pageSize, cursor)
      setOlder((before) => ({ events: [...(before?.events ?? []), ...page.events], next: page.next }))
    } catch (cause) {
      setError(asApiError(cause))
    }
    setBusy(false)
  }
  return { older, error, busy, readOlder }
}

function NoEvent({ filters }: { filters: Filters }) {
  if (Object.keys(filters).length === 0) return <EmptyState icon="list" text={adminWords.auditNothing} />
  return <NoMatch text={adminWords.auditEmpty} filters={['kind', 'decision', 'from', 'to', ...texts]} />
}

function readPage(filters: Filters, limit: number, cursor: string | undefined) {
  return unwrap(
    client.GET('/audit/events', { params: { query: { ...filters, limit, ...(cursor !== undefined && { cursor }) } } }),
  )
}

const marks: Readonly<Record<Event['decision'], Kind>> = {
  begun: 'running',
  allowed: 'succeeded',
  refused: 'failed',
  failed: 'warning',
  interrupted: 'unknown',
}

const keyOf = ({ sequence }: Event) => String(sequence)

/** @param of What the events are of: their filters. */
function Table({ events, of }: { events: readonly Event[]; of: string }) {
  const box = useRef<HTMLDivElement>(null)
  const { rows, ...held } = useHeldRows(box, events, keyOf, of)
  return (
    <div ref={box}>
      <NewRows {...held} />
      <EventTable events={rows.map(({ item }) => item)} />
    </div>
  )
}

function EventTable({ events }: { events: readonly Event[] }) {
  return <DataTable label={adminWords.audit} rows={events} keyOf={keyOf} columns={columns} />
}

const columns: readonly Column<Event>[] = [
  { key: 'at', head: adminWords.when, cell: ({ at }) => <ExactTime at={at} /> },
  { key: 'user', head: adminWords.userName, cell: ({ user }) => <Value name="user" value={user} /> },
  {
    key: 'kind',
    head: adminWords.kind,
    hideBelow: 'phone',
    cell: ({ kind }) => <Value name="kind" value={kind} />,
  },
  {
    key: 'decision',
    head: adminWords.decision,
    cell: ({ decision, status }) => (
      <span class="mark-cell">
        <StatusMark kind={marks[decision]} />
        <Value name="decision" value={decision} /> <span class="number muted">{status}</span>
      </span>
    ),
  },
  {
    key: 'operation',
    head: adminWords.what,
    hideBelow: 'narrow',
    cell: ({ operation }) => <Value name="operation" value={operation} />,
  },
  {
    key: 'application',
    head: adminWords.application,
    hideBelow: 'phone',
    cell: ({ application }) => <Value name="application" value={application} />,
  },
  {
    key: 'record',
    head: adminWords.about,
    grow: true,
    cell: (event) => (
      <div class="audit-about">
        <Record event={event} />
        <TargetLink event={event} />
      </div>
    ),
  },
]

const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

function ExactTime({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at} class="number">
      {day.format(Date.parse(at))} {clock.format(Date.parse(at))}
    </time>
  )
}

/** A value that a click makes the filter of its column. */
function Value({ name, value }: { name: string; value: string | undefined }) {
  const change = useQueryChange()
  if (value === undefined) return <span class="muted">–</span>
  return (
    <button
      type="button"
      class="filter-value"
      data-key="f"
      title={adminWords.filterBy(value)}
      onClick={() => change({ [name]: value })}
    >
      <Name text={value} max={maxValue} />
    </button>
  )
}

/** What it was about; the whole record is one step away. */
function Record({ event }: { event: Event }) {
  const { resource = {}, reason, error, repeated, operation } = event
  const about = [...Object.values(resource), reason, error].filter((text) => text !== undefined)
  return (
    <details class="audit-record">
      <summary>
        {operation !== undefined && about.length > 0 && (
          <span class="narrow-only">
            <Name text={operation} max={60} />{' '}
          </span>
        )}
        <Name text={about.join(', ') || (operation ?? adminWords.record)} max={100} />
        {repeated !== undefined && ` ${adminWords.repeated(repeated)}`}
      </summary>
      <JsonTree value={event} name={adminWords.record} />
    </details>
  )
}

/** From a change to what it led to. */
function TargetLink({ event }: { event: Event }) {
  const target = auditTargetOf(event)
  if (target === undefined) return null
  const label = adminWords.auditTargets[target.kind]
  return (
    <a class="audit-target" href={addressOf(target)} aria-label={label} title={label}>
      <Icon name="right" />
    </a>
  )
}

function addressOf(target: AuditTarget): string {
  switch (target.kind) {
    case 'revision':
      return to.editPipeline(target.application, target.id, { tab: 'history', until: String(target.atMs) })
    case 'pipelines':
      return to.pipelines(target.application, { q: target.name })
    case 'execution':
      return to.execution(target.id)
    case 'task':
      return to.task(target.id)
  }
}

function Export({ filters }: { filters: Filters }) {
  const [state, setState] = useState<string | undefined>(undefined)
  const [busy, setBusy] = useState(false)
  const write = async () => {
    if (busy) return
    setBusy(true)
    setState(adminWords.exporting)
    try {
      const events: Event[] = []
      let cursor: string | undefined
      do {
        const page = await readPage(filters, exportPage, cursor)
        events.push(...page.events)
        cursor = page.next
      } while (cursor !== undefined && events.length < maxExported)
      const kept = events.slice(0, maxExported)
      downloadText('audit.ndjson', 'application/x-ndjson', kept.map((event) => `${JSON.stringify(event)}\n`).join(''))
      setState(cursor === undefined ? adminWords.exported(kept.length) : adminWords.exportCut(maxExported))
    } catch (cause) {
      setState(asApiError(cause).message)
    }
    setBusy(false)
  }
  return (
    <>
      <span class="muted" role="status">
        {state}
      </span>
      <Button icon="download" aria-disabled={busy} aria-busy={busy} onClick={() => void write()}>
        {adminWords.export}
      </Button>
    </>
  )
}

/** Asked for by a click: it reads the whole log. */
function Verification() {
  const [asked, setAsked] = useState<string | undefined>(undefined)
  const [expect, setExpect] = useState('')
  return (
    <details class="panel audit-verify">
      <summary>{adminWords.verify}</summary>
      <div class="panel-body">
        <form
          class="filters"
          onSubmit={(event) => {
            event.preventDefault()
            setAsked(expect.trim())
          }}
        >
          <input
            type="search"
            aria-label={adminWords.expectedHash}
            placeholder={adminWords.expectedHash}
            value={expect}
            onInput={(event) => setExpect(event.currentTarget.value)}
          />
          <Button type="submit">{adminWords.verifyNow}</Button>
        </form>
        {asked !== undefined && <Verified key={asked} expect={asked} />}
      </div>
    </details>
  )
}

function Verified({ expect }: { expect: string }) {
  const live = useLive('/audit/verification', { query: expect === '' ? {} : { expect } }, { refresh: 'open' })
  useEffect(() => live.refresh(), [live])
  return (
    <Loaded live={live} rows={1}>
      {({ sound, records, first, last, lost, breaks, hasExpected }) => (
        <>
          <Banner tone={sound ? 'info' : 'failed'}>
            <p>
              <strong>
                {sound ? adminWords.sound(records) : hasExpected ? adminWords.broken(breaks.length) : adminWords.notThere}
              </strong>{' '}
              {first !== undefined && first > 1 && adminWords.olderRemoved(first)} {lost > 0 && adminWords.lost(lost)}
            </p>
          </Banner>
          {last !== undefined && (
            <>
              <p class="secret">
                <span class="muted">{adminWords.newestHash}</span> <code class="grow">{last.hash}</code>
                <CopyButton text={last.hash} label={adminWords.copyHash} />
              </p>
              <p class="quiet">{adminWords.keepHash}</p>
            </>
          )}
          {breaks.length > 0 && (
            <Panel title={adminWords.problems}>
              <ul>
                {breaks.map(({ line, problem }) => (
                  <li key={`${line} ${problem}`}>
                    {adminWords.line(line)}: <Name text={problem} max={300} />
                  </li>
                ))}
              </ul>
            </Panel>
          )}
        </>
      )}
    </Loaded>
  )
}

/** Who did what: the audit log as sentences, with filters, the record behind each, export and verification. For administrators. */
import type { TargetedSubmitEvent } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { formatQuery, type ScreenProps, to, useQueryChange } from '../address.ts'
import { client, type Schemas } from '../api/client.ts'
import { type ReadParameters, useLive } from '../api/live.ts'
import { usePipelines } from '../api/pipelines.ts'
import { Beside } from '../components/beside.tsx'
import { Banner, Button, CopyButton } from '../components/button.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { type Filter, Filters, NoMatch, Pages } from '../components/filter-field.tsx'
import { Check } from '../components/form-fields.tsx'
import { act, reportWarning } from '../components/notices.tsx'
import { RecordPanel } from '../components/record-panel.tsx'
import { Loaded, PageHead } from '../components/screen.tsx'
import { Name, NameLink, StatusMark, usePhone } from '../components/text.tsx'
import { type AuditName, auditSentence } from '../model/audit-sentence.ts'
import { downloadText } from '../model/download.ts'
import type { Kind } from '../model/execution.ts'
import { capital, plural } from '../words.ts'

type AuditEvent = Schemas['AuditEvent']
type Wanted = NonNullable<ReadParameters<'/audit/events'>['query']>

const maxExported = 10_000
const marks: Readonly<Record<AuditEvent['decision'], Kind>> = {
  begun: 'running',
  allowed: 'succeeded',
  refused: 'failed',
  failed: 'warning',
  interrupted: 'unknown',
}
const kinds = ['change', 'read', 'refusal', 'login', 'logout', 'token', 'audit']
const filters: readonly Filter[] = [
  { name: 'kind', label: 'Kind', any: 'Any kind', choices: kinds },
  { name: 'decision', label: 'Decision', any: 'Any decision', choices: Object.keys(marks) },
  ...['user', 'operation', 'application'].map(
    (name): Filter => ({ name, label: capital(name), kind: 'asked' }),
  ),
  { name: 'address', label: 'Client address', kind: 'asked' },
  { name: 'from', label: 'From', kind: 'moment' },
  { name: 'to', label: 'Until', kind: 'moment' },
]

export function Audit({ query }: ScreenProps) {
  const wanted = toWanted(query)
  const change = useQueryChange()
  const actions = (
    <>
      <Check
        checked={query['follow'] === 'true'}
        onChange={(isOn) => change({ follow: isOn ? 'true' : undefined })}
      >
        Follow
      </Check>
      <Button
        icon="download"
        onClick={() => act('Export the audit log', () => exportEvents(wanted))}
      >
        Export
      </Button>
    </>
  )
  return (
    <>
      <PageHead tab="Audit log" actions={actions} />
      <Verification />
      <details class="filter-fold" open={!usePhone() || Object.keys(wanted).length > 0}>
        <summary>Filters</summary>
        <Filters filters={filters} />
      </details>
      <Events wanted={wanted} query={query} />
    </>
  )
}

/** Only what the API knows: a value of the address that is none of its choices filters nothing. */
function toWanted(query: ScreenProps['query']): Wanted {
  const given = filters.flatMap(({ name, kind, choices }) => {
    const text = query[name]
    const isNone =
      !text ||
      choices?.includes(text) === false ||
      (kind === 'moment' && Number.isNaN(Date.parse(text)))
    return isNone ? [] : [[name, kind === 'moment' ? new Date(text).toISOString() : text]]
  })
  return Object.fromEntries(given)
}

function Events({ wanted, query }: { wanted: Wanted; query: ScreenProps['query'] }) {
  const { path } = useLocation()
  const { before, record: chosen, ...rest } = query
  const asked = { ...wanted, limit: 100, ...(before && { cursor: before }) }
  const live = useLive(
    '/audit/events',
    { query: asked },
    query['follow'] === 'true' ? 'live' : 'open',
  )
  const back = { href: path + formatQuery({ ...rest, before }), label: 'Audit log' }
  return (
    <Loaded live={live} rows={10}>
      {({ events, next }) => {
        if (events.length === 0)
          return <NoMatch text="No record matches." filters={filters.map(({ name }) => name)} />
        const event = events.find(({ sequence }) => String(sequence) === chosen)
        const missing = <p class="panel-note">Record {chosen} is not on this page.</p>
        const side = event === undefined ? missing : <Record event={event} close={back.href} />
        return (
          <Beside label={`Record ${chosen}`} back={back} side={chosen && side}>
            <div class="panel is-flush audit">
              <DataTable
                label="Audit log"
                rows={events}
                keyOf={({ sequence }) => String(sequence)}
                columns={columns}
                heldOf={JSON.stringify(asked)}
              />
              <Pages newer={before && { before: undefined }} older={next && { before: next }}>
                {plural(events.length, 'record')}
              </Pages>
            </div>
          </Beside>
        )
      }}
    </Loaded>
  )
}

const columns: readonly Column<AuditEvent>[] = [
  { head: 'Time', cell: (event) => <RecordLink event={event} /> },
  {
    head: 'What was done',
    grow: true,
    cell: (event) => (
      <>
        <StatusMark kind={marks[event.decision]} /> <Sentence event={event} />
      </>
    ),
  },
  { head: 'Decision', hideBelow: 'phone', cell: ({ decision }) => decision },
]

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' })

function RecordLink({ event: { sequence, at } }: { event: AuditEvent }) {
  const { path, query } = useLocation()
  const record = String(sequence)
  return (
    <a
      href={path + formatQuery({ ...query, record })}
      aria-current={query['record'] === record || undefined}
    >
      <time dateTime={at} title={at} class="number">
        {exact.format(Date.parse(at))}
      </time>
    </a>
  )
}

function Sentence({ event }: { event: AuditEvent }) {
  const { user, operation, application, decision, error } = event
  return (
    <>
      {user === undefined ? (
        <strong>A client without login</strong>
      ) : (
        <FilterValue name="user" value={user} />
      )}{' '}
      {auditSentence(event).map((part, at) =>
        typeof part === 'string' ? part : <LinkedName key={at} {...part} />,
      )}{' '}
      {decision === 'refused' && error === 'PERMISSION_DENIED' && operation !== undefined && (
        <a href={to.access('explain', { operation, application, username: user })}>Explain</a>
      )}
    </>
  )
}

function LinkedName({ text, link, pipeline }: AuditName) {
  const { body } = usePipelines(pipeline?.application)
  const name = body?.find(({ id }) => id === pipeline?.id)?.name ?? text
  return <NameLink href={link?.(to)} text={name} max={60} />
}

/** A value that a click makes a filter. */
function FilterValue({ name, value }: { name: string; value: string }) {
  const change = useQueryChange()
  return (
    <button
      type="button"
      class="filter-value"
      data-key={name === 'user' ? 'f' : undefined}
      title={`Show only ${value}`}
      onClick={() => change({ before: undefined, [name]: value })}
    >
      <Name text={value} max={48} />
    </button>
  )
}

function Record({ event, close }: { event: AuditEvent; close: string }) {
  const { sequence, at, status, login, token, requestId } = event
  const values = filters.map(({ name, label }) => {
    const value = event[name] as string | undefined
    return [label, value && <FilterValue key={name} name={name} value={value} />] as const
  })
  return (
    <RecordPanel
      name={`Record ${sequence.toLocaleString()}`}
      actions={<a href={close}>Close</a>}
      facts={[
        ['What was done', <Sentence key="sentence" event={event} />],
        ['Time', exact.format(Date.parse(at))],
        ...values,
        ['Status', status],
        ['Login', token === undefined ? login : `API token ${token}`],
        ['Request', requestId],
      ]}
      record={event}
    />
  )
}

/** @throws {ApiError} */
async function exportEvents(wanted: Wanted) {
  const events: AuditEvent[] = []
  let cursor: string | undefined
  do {
    const query = { ...wanted, limit: 1000, ...(cursor && { cursor }) }
    const page = await client.GET('/audit/events', { params: { query } })
    events.push(...page.events)
    cursor = page.next
  } while (cursor !== undefined && events.length < maxExported)
  downloadText(
    'audit.ndjson',
    'application/x-ndjson',
    events.map((event) => `${JSON.stringify(event)}\n`).join(''),
  )
  const cut = `Only the newest ${maxExported.toLocaleString()} records are in the file.`
  reportWarning('Export', cursor === undefined ? undefined : cut)
}

/** Asked for by a click: it reads the whole log. */
function Verification() {
  const [expect, setExpect] = useState<string>()
  const query = expect ? { expect } : {}
  const live = useLive('/audit/verification', expect === undefined ? undefined : { query }, 'open')
  const verify = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    setExpect(String(new FormData(event.currentTarget).get('expect')).trim())
    live.refresh()
  }
  const label = 'Hash that you kept (optional)'
  return (
    <details class="panel audit-verify">
      <summary>Verification</summary>
      <div class="panel-body">
        <form class="filters" onSubmit={verify}>
          <input type="search" name="expect" aria-label={label} placeholder={label} />
          <Button type="submit">Verify the log</Button>
        </form>
        {expect !== undefined && (
          <Loaded live={live} rows={1}>
            {(found) => <Verified {...found} />}
          </Loaded>
        )}
      </div>
    </details>
  )
}

function Verified({
  sound,
  records,
  first = 1,
  last,
  lost,
  breaks,
  hasExpected,
}: Schemas['AuditVerification']) {
  const altered = hasExpected
    ? `The log was altered: ${plural(breaks.length, 'break')}.`
    : 'The record with the hash that you kept is missing.'
  return (
    <>
      <Banner tone={sound ? 'info' : 'failed'}>
        <strong>{sound ? `The chain is intact: ${plural(records, 'record')}.` : altered}</strong>
        {first > 1 && ` It begins with record ${first.toLocaleString()}: older ones have expired.`}
        {lost > 0 && ` ${plural(lost, 'event')} could not be written, as the records say.`}
        {breaks.map(({ line, problem }) => (
          <p key={`${line} ${problem}`}>
            Line {line.toLocaleString()}: <Name text={problem} max={300} />
          </p>
        ))}
      </Banner>
      {last !== undefined && (
        <>
          <p class="muted">
            Keep the newest hash elsewhere: with it the next verification also detects a rewritten
            log.
          </p>
          <p class="secret">
            <code class="grow">{last.hash}</code>
            <CopyButton text={last.hash} label="Copy the hash" />
          </p>
        </>
      )}
    </>
  )
}

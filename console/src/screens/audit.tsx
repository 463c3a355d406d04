/** Who did what: the audit log as sentences, with filters, the record behind each, export and verification. For administrators. */

import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { formatQuery, to } from '../address.ts'
import { asApiError } from '../api/api-error.ts'
import { client, type Schemas, unwrap } from '../api/client.ts'
import { type ReadParameters, useLive } from '../api/live.ts'
import { Banner } from '../components/banner.tsx'
import { Beside } from '../components/beside.tsx'
import { Button } from '../components/button.tsx'
import { Check } from '../components/check.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { type Filter, Filters as FilterFields, firstPage, NoMatch, useQueryChange } from '../components/filter-field.tsx'
import { NewRows, useHeldRows } from '../components/held-rows.tsx'
import { JsonTree } from '../components/json-tree.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Pages } from '../components/pages.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { usePhone } from '../components/use-phone.ts'
import { type AuditTarget, auditSentence } from '../model/audit-sentence.ts'
import { downloadText } from '../model/download.ts'
import type { Kind } from '../model/status.ts'
import type { ScreenProps } from '../screen.ts'
import { plural } from '../words.ts'

type Event = Schemas['AuditEvent']
type Filters = NonNullable<NonNullable<ReadParameters<'/audit/events'>['query']>>

const pageSize = 100
const exportPage = 1000
const maxExported = 10_000
const texts = { user: 'User', operation: 'Operation', application: 'Application', address: 'Client address' } as const
const textNames = Object.keys(texts) as (keyof typeof texts)[]
const kinds: readonly Event['kind'][] = ['change', 'read', 'refusal', 'login', 'logout', 'token', 'audit']
const marks: Readonly<Record<Event['decision'], Kind>> = {
  begun: 'running',
  allowed: 'succeeded',
  refused: 'failed',
  failed: 'warning',
  interrupted: 'unknown',
}

export function Audit({ query }: ScreenProps) {
  const filters = toFilters(query)
  const follows = query['follow'] === 'true'
  const change = useQueryChange()
  const actions = (
    <>
      <Check checked={follows} onChange={(isOn) => change({ follow: isOn ? 'true' : undefined })}>
        Follow
      </Check>
      <Export filters={filters} />
    </>
  )
  return (
    <>
      <PageHead tab="Audit log" title="Audit log" actions={actions} />
      <Verification />
      <FilterRow query={query} />
      <Events filters={filters} query={query} />
    </>
  )
}

/** Only what the API knows: a value of the address that is none of its choices filters nothing. */
function toFilters(query: ScreenProps['query']): Filters {
  const { kind, decision } = query
  const moments = ['from', 'to'].flatMap((name) => {
    const text = query[name] ?? ''
    return Number.isNaN(Date.parse(text)) ? [] : [[name, new Date(text).toISOString()]]
  })
  return {
    ...(kinds.includes(kind as Event['kind']) && { kind: kind as Event['kind'] }),
    ...(decision !== undefined && Object.hasOwn(marks, decision) && { decision: decision as Event['decision'] }),
    ...Object.fromEntries(textNames.flatMap((name) => (query[name] ? [[name, query[name]]] : []))),
    ...Object.fromEntries(moments),
  }
}

const filterFields: readonly Filter[] = [
  { name: 'kind', label: 'Kind', choices: kinds },
  { name: 'decision', label: 'Decision', choices: Object.keys(marks) },
  ...textNames.map((name) => ({ name, label: texts[name], kind: 'asked' as const })),
  { name: 'from', label: 'From', kind: 'moment' },
  { name: 'to', label: 'Until', kind: 'moment' },
]

function FilterRow({ query }: Pick<ScreenProps, 'query'>) {
  const hasFilters = Object.keys(toFilters(query)).length > 0
  return (
    <details class="filter-fold" open={!usePhone() || hasFilters}>
      <summary>Filters</summary>
      <FilterFields filters={filterFields} />
    </details>
  )
}

interface EventsProps {
  readonly filters: Filters
  readonly query: ScreenProps['query']
}

function Events({ filters, query: { follow, cursor, record } }: EventsProps) {
  const page = { ...filters, ...(cursor && { cursor }), limit: pageSize }
  const live = useLive('/audit/events', { query: page }, { refresh: follow === 'true' ? 'live' : 'open' })
  return (
    <Loaded live={live} rows={10}>
      {({ events, next }) =>
        events.length === 0 ? (
          <NoEvent filters={filters} />
        ) : (
          <WithRecord events={events} chosen={record}>
            <div class="panel is-flush audit">
              <Rows events={events} of={JSON.stringify(page)} chosen={record} />
              <Pages newer={cursor && firstPage} older={next && { cursor: next }}>
                {cursor ? 'Older records' : 'Newest records'}
              </Pages>
            </div>
          </WithRecord>
        )
      }
    </Loaded>
  )
}

function NoEvent({ filters }: { filters: Filters }) {
  if (Object.keys(filters).length === 0) return <EmptyState icon="list" text="The audit log has no record yet." />
  return <NoMatch text="No record matches." filters={filterFields.map(({ name }) => name)} />
}

/** @param of What the events are of: their filters. */
function Rows({ events, of, chosen }: { events: readonly Event[]; of: string; chosen: string | undefined }) {
  const box = useRef<HTMLUListElement>(null)
  const { rows, ...held } = useHeldRows(box, events, ({ sequence }) => String(sequence), of)
  return (
    <>
      <NewRows {...held} />
      <ul class="rows" ref={box} aria-label="Audit log">
        {rows.map(({ item }) => (
          <Row key={item.sequence} event={item} isChosen={String(item.sequence) === chosen} />
        ))}
      </ul>
    </>
  )
}

function Row({ event, isChosen }: { event: Event; isChosen: boolean }) {
  const { path, query } = useLocation()
  const { sequence, decision, at } = event
  return (
    <li class="audit-row">
      <a href={path + formatQuery({ ...query, record: String(sequence) })} aria-current={isChosen || undefined}>
        <ExactTime at={at} />
      </a>
      <StatusMark kind={marks[decision]} />
      <p>
        <Sentence event={event} />
      </p>
      <span class="muted">{decision}</span>
    </li>
  )
}

function Sentence({ event }: { event: Event }) {
  const { user, operation, application, decision, error } = event
  return (
    <>
      {user === undefined ? <strong>A client without login</strong> : <FilterValue name="user" value={user} />}{' '}
      {auditSentence(event).map((part, at) =>
        typeof part === 'string' ? (
          <Fragment key={at}>{part}</Fragment>
        ) : part.target === undefined ? (
          <Name key={at} text={part.text} max={60} />
        ) : part.target.kind === 'pipeline' ? (
          <PipelineLink key={at} {...part.target} text={part.text} />
        ) : (
          <NameLink key={at} href={addressOf(part.target)} text={part.text} max={60} />
        ),
      )}
      {decision === 'refused' && error === 'PERMISSION_DENIED' && operation !== undefined && (
        <>
          {' '}
          <a href={to.access('explain', { operation, application, username: user })}>Explain</a>
        </>
      )}
    </>
  )
}

/** The record has its id alone. */
function PipelineLink({ application, id, text }: { application: string; id: string; text: string }) {
  const path = '/applications/{application}/pipelineConfigs'
  const { body } = useLive(path, { path: { application } }, { refresh: 'open' }).reading.value
  return <NameLink href={to.pipeline(application, id)} text={body?.find((each) => each.id === id)?.name ?? text} max={60} />
}

function addressOf(target: AuditTarget): string {
  switch (target.kind) {
    case 'revision':
      return to.editPipeline(target.application, target.id, { tab: 'history', until: String(target.atMs) })
    case 'pipelines':
      return to.pipelines(target.application, { q: target.name })
    case 'pipeline':
      return to.pipeline(target.application, target.id)
    case 'application':
      return to.application(target.application)
    case 'execution':
      return to.execution(target.id)
    case 'task':
      return to.task(target.id)
  }
}

/** A value that a click makes a filter. */
function FilterValue({ name, value }: { name: string; value: string | undefined }) {
  const change = useQueryChange()
  if (value === undefined) return null
  return (
    <button
      type="button"
      class="filter-value"
      data-key={name === 'user' ? 'f' : undefined}
      title={`Show only ${value}`}
      onClick={() => change({ ...firstPage, [name]: value })}
    >
      <Name text={value} max={48} />
    </button>
  )
}

const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

function ExactTime({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at} class="number">
      {day.format(Date.parse(at))} {clock.format(Date.parse(at))}
    </time>
  )
}

interface WithRecordProps {
  readonly events: readonly Event[]
  readonly chosen: string | undefined
  readonly children: ComponentChildren
}

/** The list, and beside it the record that the address names. */
function WithRecord({ events, chosen, children }: WithRecordProps) {
  const { path, query } = useLocation()
  const event = events.find(({ sequence }) => String(sequence) === chosen)
  const { record: _, ...rest } = query
  const back = { href: path + formatQuery(rest), label: 'Audit log' }
  const missing = <p class="panel-note">Record {chosen} is not on this page.</p>
  return (
    <Beside
      label={`Record ${chosen}`}
      back={back}
      side={chosen === undefined ? undefined : event === undefined ? missing : <Record event={event} close={back.href} />}
    >
      {children}
    </Beside>
  )
}

function Record({ event, close }: { event: Event; close: string }) {
  const { sequence, at, kind, decision, status, login, token, requestId, hash, ...named } = event
  const value = (name: string, text: string | undefined) => text !== undefined && <FilterValue name={name} value={text} />
  return (
    <Panel title={`Record ${sequence.toLocaleString()}`} actions={<a href={close}>Close</a>}>
      <p>
        <Sentence event={event} />
      </p>
      <KeyValue
        facts={[
          ['Time', <ExactTime key="at" at={at} />],
          ['Decision', value('decision', decision)],
          ['Kind', value('kind', kind)],
          ...textNames.map((name) => [texts[name], value(name, named[name])] as const),
          ['Status', status],
          ['Login', token === undefined ? login : `API token ${token}`],
          ['Request', requestId && <code>{requestId}</code>],
          ['Hash', <Copied key="hash" text={hash} />],
        ]}
      />
      <JsonTree value={event} name="Record" />
    </Panel>
  )
}

function Copied({ text }: { text: string }) {
  return (
    <span class="row">
      <code>{text.slice(0, 12)}…</code> <CopyButton text={text} label="Copy the hash" />
    </span>
  )
}

function Export({ filters }: { filters: Filters }) {
  const [state, setState] = useState<string | undefined>(undefined)
  const [busy, setBusy] = useState(false)
  const write = async () => {
    if (busy) return
    setBusy(true)
    setState('Reading records …')
    try {
      const events: Event[] = []
      let cursor: string | undefined
      do {
        const query = { ...filters, limit: exportPage, ...(cursor !== undefined && { cursor }) }
        const page = await unwrap(client.GET('/audit/events', { params: { query } }))
        events.push(...page.events)
        cursor = page.next
      } while (cursor !== undefined && events.length < maxExported)
      const kept = events.slice(0, maxExported)
      downloadText('audit.ndjson', 'application/x-ndjson', kept.map((event) => `${JSON.stringify(event)}\n`).join(''))
      setState(
        cursor === undefined
          ? `${plural(kept.length, 'record')} exported.`
          : `The export ends after ${maxExported.toLocaleString()} records. Narrow the filters for the rest.`,
      )
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
        Export
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
      <summary>Verification</summary>
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
            aria-label="Hash that you kept (optional)"
            placeholder="Hash that you kept (optional)"
            value={expect}
            onInput={(event) => setExpect(event.currentTarget.value)}
          />
          <Button type="submit">Verify the log</Button>
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
                {sound
                  ? `The chain is intact: ${plural(records, 'record')}.`
                  : hasExpected
                    ? `The log was altered: ${plural(breaks.length, 'break')}.`
                    : 'The record with the hash that you kept is missing.'}
              </strong>{' '}
              {first !== undefined && first > 1 && `It begins with record ${first.toLocaleString()}: older ones have expired.`}{' '}
              {lost > 0 && `${plural(lost, 'event')} could not be written, as the records say.`}
            </p>
          </Banner>
          {last !== undefined && (
            <>
              <p class="secret">
                <span class="muted">Newest hash</span> <code class="grow">{last.hash}</code>
                <CopyButton text={last.hash} label="Copy the hash" />
              </p>
              <p class="quiet">Keep this hash elsewhere: with it the next verification also detects a rewritten log.</p>
            </>
          )}
          {breaks.length > 0 && (
            <Panel title="Problems">
              <ul>
                {breaks.map(({ line, problem }) => (
                  <li key={`${line} ${problem}`}>
                    Line {line.toLocaleString()}: <Name text={problem} max={300} />
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

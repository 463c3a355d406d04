/** Who the user is, by which roles, and what that allows on each application. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { to } from '../address.ts'
import { asApiError } from '../api/api-error.ts'
import { client, type Schemas, unwrap } from '../api/client.ts'
import { type Live, noReading, type Reading, refreshAll, useLive } from '../api/live.ts'
import { changeOperation, readOperation, startOperation } from '../api/rights.ts'
import { user } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Filters } from '../components/filter-field.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { Roles } from '../components/roles.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { LinkTabs } from '../components/tabs.tsx'
import type { ScreenProps } from '../screen.ts'
import { showing } from '../words.ts'

type Explanation = Schemas['AccessExplanation']

const rights = [
  { operation: readOperation, label: 'Read' },
  { operation: startOperation, label: 'Start' },
  { operation: changeOperation, label: 'Change' },
] as const
/** One request holds at most 50 questions. */
const shownApplications = 16
const noRole = 'You have no role. What needs none is open to you; ask an administrator for the rest.'
const retryMs = 10_000

export const decisionKind = { allowed: 'succeeded', denied: 'failed', depends: 'unknown' } as const

/** The head of all screens about the access of the user. */
export function AccessHead({ tab, actions }: { tab: string; actions?: ComponentChildren }) {
  const tabs = [
    { label: 'Who you are', href: to.access() },
    { label: 'Explain', href: to.access('explain') },
    { label: 'Tokens', href: to.access('tokens') },
    { label: 'Logins', href: to.access('logins') },
  ]
  return (
    <PageHead tab={`Access: ${tab}`} title="Access" actions={actions}>
      <LinkTabs label="Access" tabs={tabs} />
    </PageHead>
  )
}

export function Access({ query: { q = '' } }: ScreenProps) {
  return (
    <>
      <AccessHead tab="Who you are" />
      <div class="stack">
        <Identity />
        <Rights filter={q} />
      </div>
    </>
  )
}

function Identity() {
  const { username = '', email, isAdmin, allowedAccounts = [] } = user.value ?? {}
  const live = useLive('/auth/explain', { query: { operation: 'GET /applications' } }, { refresh: 'open' })
  const actions = isAdmin && (
    <Button small icon="refresh" onClick={readRolesAgain}>
      Read roles again
    </Button>
  )
  return (
    <Panel title={<Name text={`You are signed in as ${username}.`} />} actions={actions}>
      <Loaded live={live} rows={2}>
        {({ roles, admin }) => (
          <KeyValue
            facts={[
              ['Email address', email],
              ['Roles', <Roles key="roles" roles={roles} admin={admin} none={noRole} />],
              ['Account', allowedAccounts.join(', ')],
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}

function readRolesAgain(): void {
  confirm({
    title: 'Read the roles of all users again?',
    effect: 'Fairlead reads its sources of roles again. Changed roles apply from the next request on.',
    action: 'Read roles again',
    run: async () => {
      await unwrap(client.POST('/auth/roles/sync', {}))
      refreshAll()
    },
  })
}

function Rights({ filter }: { filter: string }) {
  const live = useLive('/applications', {}, { refresh: 'slow' })
  return (
    <Panel title="What you may do">
      <Loaded live={live} empty={<EmptyState icon="apps" text="No application that you may read." />}>
        {(applications) => {
          const matching = applications
            .map(({ name }) => name)
            .filter((name) => name.toLowerCase().includes(filter.toLowerCase()))
            .toSorted((a, b) => a.localeCompare(b))
          const shown = matching.slice(0, shownApplications)
          return (
            <Filters
              filters={[{ name: 'q', label: 'Filter' }]}
              note={matching.length > shown.length && showing(shown.length, matching.length)}
              noMatch={shown.length === 0 ? `No application matches “${filter}”.` : undefined}
            >
              <Matrix key={shown.join()} applications={shown} />
            </Filters>
          )
        }}
      </Loaded>
    </Panel>
  )
}

/** All cells are asked for in one request. */
function useMatrix(applications: readonly string[]): Live<readonly Explanation[]> {
  const reading = useSignal<Reading<readonly Explanation[]>>(noReading())
  const refresh = async () => {
    const questions = applications.flatMap((application) => rights.map(({ operation }) => ({ operation, application })))
    try {
      const { explanations } = await unwrap(client.POST('/auth/explain', { body: { questions } }))
      reading.value = { ...noReading(), body: explanations, readAtMs: Date.now() }
    } catch (cause) {
      reading.value = { ...reading.peek(), error: asApiError(cause) }
    }
  }
  useEffect(() => {
    void refresh()
    const timer = setInterval(() => reading.peek().error !== undefined && refresh(), retryMs)
    return () => clearInterval(timer)
  }, [])
  return { reading, refresh }
}

interface Row {
  readonly application: string
  /** In the order of the rights. */
  readonly answers: readonly Explanation[]
}

const columns: readonly Column<Row>[] = [
  {
    head: 'Name',
    grow: true,
    cell: ({ application }) => <NameLink href={to.application(application)} text={application} max={60} />,
  },
  ...rights.map(({ operation, label }, at) => ({
    head: label,
    cell: ({ application, answers }: Row) => (
      <Decision answer={answers[at]} href={to.access('explain', { operation, application })} />
    ),
  })),
]

function Matrix({ applications }: { applications: readonly string[] }) {
  return (
    <Loaded live={useMatrix(applications)} rows={applications.length}>
      {(all) => {
        const rows = applications.map((application, at) => {
          const first = at * rights.length
          return { application, answers: all.slice(first, first + rights.length) }
        })
        return <DataTable label="What you may do" rows={rows} keyOf={({ application }) => application} columns={columns} />
      }}
    </Loaded>
  )
}

/** Leads to its explanation. */
function Decision({ answer, href }: { answer: Explanation | undefined; href: string }) {
  if (answer === undefined) return null
  const { decision, reasons, demands } = answer
  const reason = reasons.find(({ allowed }) => !allowed) ?? reasons[0]
  return (
    <a class="mark-cell" href={href} title={reason?.rule ?? demands}>
      <StatusMark kind={decisionKind[decision]} />
      {decision}
    </a>
  )
}

/** Who the user is, by which roles, and what that allows on each application. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { to } from '../address.ts'
import { asApiError } from '../api/api-error.ts'
import { client, type Schemas, unwrap } from '../api/client.ts'
import { type Live, noReading, type Reading, refreshAll, useLive } from '../api/live.ts'
import { changeOperation, readOperation, startOperation, useRight } from '../api/rights.ts'
import { user } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { DataTable } from '../components/data-table.tsx'
import { FilterField, NoMatch } from '../components/filter-field.tsx'
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

export function AccessHead({ tab, actions }: { tab: string; actions?: ComponentChildren }) {
  return (
    <PageHead tab={`Access: ${tab}`} title="Access" actions={actions}>
      <LinkTabs
        label="Access"
        tabs={[
          { label: 'Who you are', href: to.access() },
          { label: 'Explain', href: to.access('explain') },
          { label: 'Tokens', href: to.access('tokens') },
          { label: 'Logins', href: to.access('logins') },
        ]}
      />
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
  const denied = useRight({ operation: 'POST /auth/roles/sync' }).reason
  const readAgain = () =>
    confirm({
      title: 'Read the roles of all users again?',
      effect: 'Fairlead reads its sources of roles again. Changed roles apply from the next request on.',
      action: 'Read roles again',
      run: async () => {
        await unwrap(client.POST('/auth/roles/sync', {}))
        refreshAll()
      },
    })
  const actions = isAdmin && denied === undefined && (
    <Button small icon="refresh" onClick={readAgain}>
      Read roles again
    </Button>
  )
  return (
    <Panel title={<Name text={`You are signed in as ${username}.`} />} actions={actions}>
      <Loaded live={live} rows={2}>
        {({ roles, admin }) => (
          <KeyValue
            facts={[
              ['Email address', email && <Name text={email} />],
              ['Roles', roles.length > 0 || admin ? <Roles key="roles" roles={roles} admin={admin} /> : noRole],
              ['Account', allowedAccounts.length > 0 && <Name text={allowedAccounts.join(', ')} max={200} />],
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}

function Rights({ filter }: { filter: string }) {
  const live = useLive('/applications', {}, { refresh: 'slow' })
  return (
    <Panel title="What you may do" flush>
      <Loaded live={live} empty={<EmptyState icon="apps" text="No application that you may read." />}>
        {(applications) => {
          const matching = applications
            .map(({ name }) => name)
            .filter((name) => name.toLowerCase().includes(filter.toLowerCase()))
            .toSorted((a, b) => a.localeCompare(b))
          const shown = matching.slice(0, shownApplications)
          return (
            <>
              <div class="panel-note row">
                <FilterField name="q" label="Filter" />
                {matching.length > shown.length && <span>{showing(shown.length, matching.length)}</span>}
              </div>
              {shown.length === 0 ? (
                <NoMatch text={`No application matches “${filter}”.`} />
              ) : (
                <Matrix key={shown.join()} applications={shown} />
              )}
            </>
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

function Matrix({ applications }: { applications: readonly string[] }) {
  const live = useMatrix(applications)
  return (
    <Loaded live={live} rows={applications.length}>
      {(answers) => (
        <DataTable
          label="What you may do"
          rows={applications.map((application, at) => ({ application, first: at * rights.length }))}
          keyOf={({ application }) => application}
          columns={[
            {
              head: 'Name',
              grow: true,
              cell: ({ application }) => <NameLink href={to.application(application)} text={application} max={60} />,
            },
            ...rights.map(({ operation, label }, at) => ({
              head: label,
              cell: ({ application, first }: { application: string; first: number }) => (
                <Decision answer={answers[first + at]} href={to.access('explain', { operation, application })} />
              ),
            })),
          ]}
        />
      )}
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

/** Who the user is, by which roles, and what that allows on each application. */
import { to } from '../address.ts'
import { client, unwrap } from '../api/client.ts'
import { type Explanation, questionsPerRequest, useExplanations } from '../api/explain.ts'
import { refreshAll, useLive } from '../api/live.ts'
import { changeOperation, readOperation, startOperation, useRight } from '../api/rights.ts'
import { user } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { DataTable } from '../components/data-table.tsx'
import { FilterField, NoMatch } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import type { Kind } from '../model/status.ts'
import type { ScreenProps } from '../screen.ts'
import { showing } from '../words.ts'
import { AccessHead } from './access-head.tsx'

const rights = [
  { operation: readOperation, label: 'Read' },
  { operation: startOperation, label: 'Start' },
  { operation: changeOperation, label: 'Change' },
] as const
/** Applications whose rights one request asks for. */
const shownApplications = Math.floor(questionsPerRequest / rights.length)

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
  const live = useExplanations([{ operation: 'GET /applications' }])
  const sync = useRight({ operation: 'POST /auth/roles/sync' })
  const readAgain = () =>
    confirm({
      title: 'Read the roles of all users again?',
      effect: 'Fairlead reads its sources of roles again. Changed roles apply from the next request on.',
      action: 'Read roles again',
      run: async () => {
        await unwrap(client.POST('/auth/roles/sync', {}))
        live.refresh()
        refreshAll()
      },
    })
  const actions = isAdmin && sync.allowed && (
    <Button small icon="refresh" onClick={readAgain}>
      Read roles again
    </Button>
  )
  return (
    <Panel title={<Name text={`You are signed in as ${username}.`} />} actions={actions}>
      <Loaded live={live} rows={2}>
        {([explanation]) => (
          <KeyValue
            facts={[
              ['Owner’s email address', email && <Name text={email} />],
              ['Roles', explanation === undefined ? undefined : <Roles explanation={explanation} />],
              ['Account', allowedAccounts.length > 0 && <Name text={allowedAccounts.join(', ')} max={200} />],
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}

/** Each with where it comes from. */
export function Roles({ explanation: { roles, admin } }: { explanation: Explanation }) {
  if (roles.length === 0 && !admin) return <>No role. What needs none is open; ask an administrator for the rest.</>
  return (
    <span class="chips">
      {admin && (
        <span class="chip">
          <Icon name="lock" /> {'administrator'}
        </span>
      )}
      {roles.map(({ name, from }) => (
        <span key={`${name} ${from}`} class="chip">
          <Name text={name} max={60} /> <span class="muted">({from})</span>
        </span>
      ))}
    </span>
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
              {shown.length === 0 ? <NoMatch text={`No application matches “${filter}”.`} /> : <Matrix applications={shown} />}
            </>
          )
        }}
      </Loaded>
    </Panel>
  )
}

function Matrix({ applications }: { applications: readonly string[] }) {
  const live = useExplanations(applications.flatMap((application) => rights.map(({ operation }) => ({ operation, application }))))
  return (
    <Loaded live={live} rows={applications.length}>
      {(explanations) => (
        <DataTable
          label="What you may do"
          rows={applications.map((application, index) => ({
            application,
            answers: explanations.slice(index * rights.length, (index + 1) * rights.length),
          }))}
          keyOf={({ application }) => application}
          columns={[
            {
              head: 'Name',
              grow: true,
              cell: ({ application }) => <NameLink href={to.application(application)} text={application} max={60} />,
            },
            ...rights.map(({ operation, label }, index) => ({
              key: operation,
              head: label,
              cell: (row: { application: string; answers: readonly Explanation[] }) => (
                <Decision answer={row.answers[index]} application={row.application} operation={operation} />
              ),
            })),
          ]}
        />
      )}
    </Loaded>
  )
}

interface DecisionProps {
  readonly answer: Explanation | undefined
  readonly application: string
  readonly operation: string
}

/** The decision, which leads to its explanation. */
function Decision({ answer, application, operation }: DecisionProps) {
  if (answer === undefined) return null
  return (
    <a class="mark-cell" href={to.access('explain', { operation, application })} title={reasonOf(answer)}>
      <StatusMark kind={decisionKind(answer.decision)} />
      {answer.decision}
    </a>
  )
}

export function decisionKind(decision: Explanation['decision']): Kind {
  return { allowed: 'succeeded', denied: 'failed', depends: 'unknown' }[decision] as Kind
}

function reasonOf({ reasons, demands }: Explanation): string {
  return reasons.find(({ allowed }) => !allowed)?.rule ?? reasons[0]?.rule ?? demands
}

/** Who the user is, by which roles; and may a user do something, and why: the question lives in the address. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type ScreenProps, to, useNavigate } from '../address.ts'
import { client, type Schemas } from '../api/client.ts'
import { refreshAll, useLive } from '../api/live.ts'
import { changeOperation, readOperation, saveOperation, startOperation } from '../api/rights.ts'
import { user } from '../api/session.ts'
import { Button, CopyButton } from '../components/button.tsx'
import { confirm } from '../components/confirm-dialog.tsx'
import { Fields, type FieldTable } from '../components/form-fields.tsx'
import { Permissions, Roles } from '../components/permissions-field.tsx'
import { Loaded, PageHead, Panel } from '../components/screen.tsx'
import { LinkTabs } from '../components/tabs.tsx'
import { KeyValue, Name, StatusBadge, StatusMark } from '../components/text.tsx'

type Query = ScreenProps['query']

/** Usual operations by what people call them, in groups. */
const verbs: readonly (readonly [operation: string, verb: string, group: string])[] = [
  [readOperation, 'read the application', 'Applications'],
  [changeOperation, 'change the application or its infrastructure', 'Applications'],
  ['GET /applications/{applicationName}/serverGroups', 'see its server groups', 'Applications'],
  [startOperation, 'start a pipeline', 'Pipelines'],
  [saveOperation, 'save a pipeline', 'Pipelines'],
  ['DELETE /pipelines/{application}/{pipelineName}', 'delete a pipeline', 'Pipelines'],
  ['GET /applications/{application}/pipelines', 'read executions', 'Executions'],
  ['PUT /pipelines/{id}/cancel', 'cancel an execution', 'Executions'],
  ['PATCH /pipelines/{id}/stages/{stageId}', 'judge or skip a stage', 'Executions'],
  ['PUT /pipelines/{id}/stages/{stageId}/restart', 'restart from a stage', 'Executions'],
  ['POST /auth/apiTokens', 'create an API token', 'Access and administration'],
  ['POST /auth/roles/sync', 'read the roles again', 'Access and administration'],
  ['GET /audit/events', 'read the audit log', 'Access and administration'],
  ['POST /auth/users', 'add a user of the login form', 'Access and administration'],
]

function verbOf(operation: string | undefined) {
  return verbs.find(([id]) => id === operation)?.[1]
}

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

export function Access({ query }: ScreenProps) {
  return (
    <>
      <AccessHead tab="Who you are" />
      <div class="stack">
        <Identity />
        <Question query={query} />
      </div>
    </>
  )
}

const noRole =
  'You have no role. What needs none is open to you; ask an administrator for the rest.'

function Identity() {
  const { username = '', email, isAdmin, allowedAccounts = [] } = user.value ?? {}
  const live = useLive('/auth/explain', { query: { operation: 'GET /applications' } }, 'open')
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

function readRolesAgain() {
  confirm({
    title: 'Read the roles of all users again?',
    effect:
      'Fairlead reads its sources of roles again. Changed roles apply from the next request on.',
    action: 'Read roles again',
    run: async () => {
      await client.POST('/auth/roles/sync', {})
      refreshAll()
    },
  })
}

export function Explain({ query }: ScreenProps) {
  const { operation } = query
  const more = ['application', 'account', 'username', 'roles'].flatMap((name) =>
    query[name] ? [[name, query[name]]] : [],
  )
  const asked =
    operation === undefined ? undefined : { query: { operation, ...Object.fromEntries(more) } }
  const live = useLive('/auth/explain', asked, 'open')
  return (
    <>
      <AccessHead tab="Explain" />
      <div class="stack">
        <Question key={JSON.stringify(query)} query={query} />
        {operation !== undefined && (
          <Loaded live={live}>{(answer) => <Answer answer={answer} query={query} />}</Loaded>
        )}
      </div>
    </>
  )
}

function Question({ query }: { query: Query }) {
  const navigate = useNavigate()
  const [values, setValues] = useState<Query>({ operation: startOperation, ...query })
  // What is typed may be a usual operation on the way to another.
  const [isOther, setOther] = useState(verbOf(values['operation']) === undefined)
  const applications = useLive('/applications', {}, 'slow').body
  const accounts = useLive('/credentials', { query: {} }, 'slow').body
  const users = useFormUsers()
  const fields: FieldTable = {
    ...(user.value?.isAdmin && {
      username: {
        label: 'User',
        suggestions: suggested(users?.map(({ username }) => username)),
        input: { placeholder: user.value.username },
      },
      roles: {
        label: 'Suppose these roles',
        help: 'Separated by commas. Empty: the roles that are known.',
      },
    }),
    usual: { label: 'What', choices: [...verbs, ['', 'Another operation …']] },
    ...(isOther && {
      operation: {
        label: 'Operation',
        help: 'Its id, or method and path, as the API reference shows them.',
        required: true,
      },
    }),
    application: {
      label: 'On application',
      suggestions: suggested(applications?.map(({ name }) => name)),
    },
    account: { label: 'In account', suggestions: suggested(accounts?.map(({ name }) => name)) },
  }
  const put = (name: string, value: string | boolean) => {
    if (name === 'usual') setOther(value === '')
    setValues({ ...values, [name === 'usual' ? 'operation' : name]: String(value) })
  }
  const ask = (event: Event) => {
    event.preventDefault()
    navigate(to.access('explain', values))
  }
  return (
    <Panel title="Ask whether a user may do something, and why.">
      <form onSubmit={ask}>
        <div class="question">
          <Fields
            fields={fields}
            values={{ ...values, usual: isOther ? '' : values['operation'] }}
            onChange={put}
          />
        </div>
        <div class="foot">
          <Button type="submit" kind="primary">
            Ask
          </Button>
        </div>
      </form>
    </Panel>
  )
}

const suggested = (names: readonly string[] = []) => names.slice(0, 500)

/** Users of the login form, for administrators; undefined where there are none. */
function useFormUsers() {
  return useLive('/auth/users', user.value?.isAdmin === true ? {} : undefined, 'slow').body
}

const decisions = {
  allowed: { kind: 'succeeded', word: 'Allowed.' },
  denied: { kind: 'failed', word: 'Denied.' },
  depends: { kind: 'unknown', word: 'It depends.' },
} as const

function Answer({ answer, query }: { answer: Schemas['AccessExplanation']; query: Query }) {
  const {
    decision,
    username,
    request,
    known,
    demands,
    open,
    enforcement,
    resources = [],
    roles,
    admin,
  } = answer
  const { operation, application } = query
  // One operation may need the same for two reasons.
  const reasons = [
    ...new Map(answer.reasons.map((reason) => [`${reason.need} ${reason.rule}`, reason])).values(),
  ]
  const question = `May ${username} ${verbOf(operation) ?? `use ${request}`}${application ? ` on ${application}` : ''}?`
  const rules = reasons.map(
    ({ need, allowed, rule }) => `- ${allowed ? '+' : 'x'} ${need}: ${rule}`,
  )
  const text = [
    location.href,
    `${question} ${decisions[decision].word}`,
    `Needs: ${demands}`,
    ...rules,
  ].join('\n')
  return (
    <Panel
      title={<Name text={question} max={120} />}
      actions={<CopyButton text={text} label="Copy question and answer" />}
    >
      <div class="answer">
        <p>
          <StatusBadge status={decisions[decision]} />
        </p>
        {!known && <Unknown username={username} query={query} />}
        <ul>
          {(known ? reasons : []).map(({ need, allowed, rule }) => (
            <li key={`${need} ${rule}`}>
              <StatusMark
                kind={allowed ? 'succeeded' : 'failed'}
                label={allowed ? 'allowed' : 'denied'}
              />
              <span>
                <strong>{need}</strong>: <Name text={rule} max={400} />
              </span>
            </li>
          ))}
        </ul>
        <KeyValue
          facts={[
            ['A decision also needs', open.join('; ')],
            ['Needs', demands],
            ['Request', request],
            ['Roles', known && <Roles key="roles" roles={roles} admin={admin} none="none" />],
            ['Who refuses', enforcement?.note],
            ...resources.map(({ kind, name, permissions }) => {
              const label = `Roles on the ${kind} ${name}`
              return [label, <Permissions key={label} permissions={permissions} />] as const
            }),
          ]}
        />
      </div>
    </Panel>
  )
}

/** A user who has not signed in: which roles are known nevertheless, and what they would allow. */
function Unknown({ username, query }: { username: string; query: Query }) {
  const found = useFormUsers()?.find((one) => one.username.toLowerCase() === username.toLowerCase())
  const roles = found?.roles.join(', ')
  if (roles === undefined) {
    const advice =
      'Roles come with the first sign-in: enter those that you expect to see what they would allow.'
    return <p>{`${username} has not signed in yet, and is no user of the login form. ${advice}`}</p>
  }
  return (
    <p>
      {username} has not signed in yet. The login form would give:{' '}
      <strong>{roles || 'no role'}</strong>.{' '}
      {roles !== '' && <a href={to.access('explain', { ...query, roles })}>Suppose these roles</a>}
    </p>
  )
}

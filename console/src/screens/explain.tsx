/** May a user do this, and why: the question lives in the address, the answer comes from the API. */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { type Explanation, useExplanations } from '../api/explain.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, readOperation, saveOperation, startOperation } from '../api/rights.ts'
import { user } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Field } from '../components/field.tsx'
import { TextField } from '../components/form-fields.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import type { ScreenProps } from '../screen.ts'
import { decisionKind, Roles } from './access.tsx'
import { AccessHead } from './access-head.tsx'

/** Operations by what people call them. */
const verbs: readonly { readonly group: string; readonly verbs: readonly (readonly [operation: string, label: string])[] }[] = [
  {
    group: 'Applications',
    verbs: [
      [readOperation, 'read the application'],
      [changeOperation, 'change the application or its infrastructure'],
      ['GET /applications/{applicationName}/serverGroups', 'see its server groups'],
    ],
  },
  {
    group: 'Pipelines',
    verbs: [
      [startOperation, 'start a pipeline'],
      [saveOperation, 'save a pipeline'],
      ['DELETE /pipelines/{application}/{pipelineName}', 'delete a pipeline'],
    ],
  },
  {
    group: 'Executions',
    verbs: [
      ['GET /applications/{application}/pipelines', 'read executions'],
      ['PUT /pipelines/{id}/cancel', 'cancel an execution'],
      ['PATCH /pipelines/{id}/stages/{stageId}', 'judge or skip a stage'],
      ['PUT /pipelines/{id}/stages/{stageId}/restart', 'restart from a stage'],
    ],
  },
  {
    group: 'Access and administration',
    verbs: [
      ['POST /auth/apiTokens', 'create an API token'],
      ['POST /auth/roles/sync', 'read the roles again'],
      ['GET /audit/events', 'read the audit log'],
      ['POST /auth/users', 'add a user of the login form'],
    ],
  },
]
const known = new Set(verbs.flatMap((group) => group.verbs.map(([operation]) => operation)))
const another = 'another'
const maxSuggestions = 500

export function Explain({ query }: ScreenProps) {
  return (
    <>
      <AccessHead tab="Explain" />
      <div class="stack">
        <Question key={JSON.stringify(query)} query={query} />
        {query['operation'] !== undefined && <Answer query={query} />}
      </div>
    </>
  )
}

function Question({ query }: Pick<ScreenProps, 'query'>) {
  const { route: navigate } = useLocation()
  const [values, setValues] = useState({
    username: query['username'] ?? '',
    operation: query['operation'] ?? startOperation,
    application: query['application'] ?? '',
    account: query['account'] ?? '',
    roles: query['roles'] ?? '',
  })
  const applications = useLive('/applications', {}, { refresh: 'slow' }).reading.value.body
  const accounts = useLive('/credentials', { query: {} }, { refresh: 'slow' }).reading.value.body
  const set = (change: Partial<typeof values>) => setValues({ ...values, ...change })
  const ask = (event: Event) => {
    event.preventDefault()
    if (values.operation.trim() !== '') navigate(to.access('explain', values))
  }
  return (
    <Panel title="Ask whether a user may do something, and why.">
      <form onSubmit={ask}>
        <div class="question">
          <UserFields username={values.username} roles={values.roles} onChange={set} />
          <OperationFields operation={values.operation} onChange={(operation) => set({ operation })} />
          <TextField
            label="On application"
            value={values.application}
            suggestions={namesOf(applications)}
            onChange={(application) => set({ application })}
          />
          <TextField
            label="In account"
            value={values.account}
            suggestions={namesOf(accounts)}
            onChange={(account) => set({ account })}
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

interface UserFieldsProps {
  readonly username: string
  readonly roles: string
  readonly onChange: (change: { readonly username?: string; readonly roles?: string }) => void
}

/** Administrators ask about others, also about those who have not signed in yet. */
function UserFields({ username, roles, onChange }: UserFieldsProps) {
  const names = (useFormUsers() ?? []).map((one) => one.username)
  if (user.value?.isAdmin !== true) return null
  const input = { placeholder: user.value.username }
  return (
    <>
      <TextField
        label="User"
        value={username}
        input={input}
        suggestions={names.slice(0, maxSuggestions)}
        onChange={(username) => onChange({ username })}
      />
      <TextField
        label="Suppose these roles"
        help="Separated by commas. Empty: the roles that are known."
        value={roles}
        onChange={(roles) => onChange({ roles })}
      />
    </>
  )
}

/** Users of the login form, for administrators; undefined where there are none. */
function useFormUsers() {
  return useLive('/auth/users', user.value?.isAdmin === true ? {} : undefined, { refresh: 'slow' }).reading.value.body
}

function namesOf(things: readonly { readonly name: string }[] | undefined): readonly string[] {
  return (things ?? []).slice(0, maxSuggestions).map(({ name }) => name)
}

/** A choice of usual operations, and a field for another one. */
function OperationFields({ operation, onChange }: { operation: string; onChange: (operation: string) => void }) {
  const [isOther, setOther] = useState(!known.has(operation))
  const choose = (event: { currentTarget: { value: string } }) => {
    const { value } = event.currentTarget
    setOther(value === another)
    onChange(value === another ? '' : value)
  }
  return (
    <>
      <Field label="What">
        {(tied) => (
          <select {...tied} value={isOther ? another : operation} onChange={choose}>
            {verbs.map((group) => (
              <optgroup key={group.group} label={group.group}>
                {group.verbs.map(([id, label]) => (
                  <option key={id} value={id}>
                    {label}
                  </option>
                ))}
              </optgroup>
            ))}
            <option value={another}>Another operation …</option>
          </select>
        )}
      </Field>
      {isOther && (
        <TextField
          label="Operation"
          help="Its id, or method and path, as the API reference shows them."
          value={operation}
          required
          onChange={onChange}
        />
      )}
    </>
  )
}

function Answer({ query }: Pick<ScreenProps, 'query'>) {
  const { operation = '', ...named } = query
  const given = ['application', 'account', 'username', 'roles'].flatMap((name) => (named[name] ? [[name, named[name]]] : []))
  const live = useExplanations([{ operation, ...Object.fromEntries(given) }])
  return <Loaded live={live}>{([answer]) => (answer === undefined ? null : <Explained answer={answer} query={query} />)}</Loaded>
}

const decisions = { allowed: 'Allowed.', denied: 'Denied.', depends: 'It depends.' } as const

function Explained({ answer, query }: { answer: Explanation; query: ScreenProps['query'] }) {
  const { decision, username, request, known: isKnown, demands, reasons, open, enforcement, resources = [] } = answer
  const { operation = '', application } = query
  const verb = verbs.flatMap((group) => group.verbs).find(([id]) => id === operation)?.[1] ?? `use ${request}`
  return (
    <Panel
      title={<Name text={`May ${username} ${verb}${application ? ` on ${application}` : ''}?`} max={120} />}
      actions={<CopyButton text={`${location.href}\n${toText(answer)}`} label="Copy question and answer" />}
    >
      <div class="answer">
        <p class={`status-badge is-${decisionKind(decision)}`} style={{ justifySelf: 'start' }}>
          <StatusMark kind={decisionKind(decision)} /> {decisions[decision]}
        </p>
        {isKnown ? <Reasons reasons={distinct(reasons)} /> : <Unknown username={username} query={query} />}
        {open.length > 0 && <OpenQuestions texts={open} />}
        <KeyValue
          facts={[
            ['Needs', demands],
            ['Request', <code key="request">{request}</code>],
            ['Roles', isKnown && <Roles key="roles" explanation={answer} />],
            ['Who refuses', enforcement?.note],
            ...resources.map(
              ({ kind, name, permissions }) =>
                [`Roles on the ${kind} ${name}`, <Permissions key={`${kind} ${name}`} permissions={permissions} />] as const,
            ),
          ]}
        />
      </div>
    </Panel>
  )
}

/** A user who has not signed in: which roles are known nevertheless, and what they would allow. */
function Unknown({ username, query }: { username: string; query: ScreenProps['query'] }) {
  const found = useFormUsers()?.find((one) => one.username.toLowerCase() === username.toLowerCase())
  const roles = found?.roles.join(', ') ?? ''
  if (found === undefined) {
    return (
      <p>
        {username} has not signed in yet, and is no user of the login form. Roles come with the first sign-in: enter those that
        you expect to see what they would allow.
      </p>
    )
  }
  if (roles === '') return <p>{username} has not signed in yet. The login form gives no role.</p>
  return (
    <p>
      {username} has not signed in yet. The login form would give: <strong>{roles}</strong>.{' '}
      <a href={to.access('explain', { ...query, roles })}>Suppose these roles</a>
    </p>
  )
}

function Reasons({ reasons }: Pick<Explanation, 'reasons'>) {
  return (
    <ul>
      {reasons.map(({ need, allowed, rule }) => (
        <li key={`${need} ${rule}`}>
          <StatusMark kind={allowed ? 'succeeded' : 'failed'} label={allowed ? 'allowed' : 'denied'} />
          <span>
            <strong>
              <Name text={need} max={200} />
            </strong>
            {': '}
            <Name text={rule} max={400} />
          </span>
        </li>
      ))}
    </ul>
  )
}

function OpenQuestions({ texts }: { texts: readonly string[] }) {
  return (
    <div>
      <h3>A decision also needs</h3>
      <ul>
        {texts.map((text) => (
          <li key={text}>
            <Name text={text} max={300} />
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Roles by what they may do, or that every user may. */
export function Permissions({ permissions }: { permissions: Readonly<Record<string, readonly string[]>> | undefined }) {
  const given = Object.entries(permissions ?? {}).filter(([, roles]) => roles.length > 0)
  if (given.length === 0) return <span class="muted">Every user: no role is named.</span>
  return (
    <span class="chips">
      {given.map(([right, roles]) => (
        <span key={right} class="chip">
          {right}: <Name text={roles.join(', ')} max={120} />
        </span>
      ))}
    </span>
  )
}

/** One operation may need the same for two reasons. */
function distinct(reasons: Explanation['reasons']): Explanation['reasons'] {
  return [...new Map(reasons.map((reason) => [`${reason.need} ${reason.rule}`, reason])).values()]
}

function toText({ username, request, decision, demands, reasons }: Explanation): string {
  const lines = distinct(reasons).map(({ need, allowed, rule }) => `- ${allowed ? '+' : 'x'} ${need}: ${rule}`)
  return [`${username}, ${request}: ${decisions[decision]}`, `Needs: ${demands}`, ...lines].join('\n')
}

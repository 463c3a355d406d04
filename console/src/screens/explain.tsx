/** May a user do this, and why: the question lives in the address, the answer comes from the API. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, readOperation, saveOperation, startOperation } from '../api/rights.ts'
import { user } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Field } from '../components/field.tsx'
import { Fields, type FieldTable, TextField } from '../components/form-fields.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Name } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { Permissions, Roles } from '../components/roles.tsx'
import { Loaded } from '../components/states.tsx'
import { StatusBadge, StatusMark } from '../components/status-mark.tsx'
import type { ScreenProps } from '../screen.ts'
import { AccessHead, decisionKind } from './access.tsx'

type Explanation = Schemas['AccessExplanation']
type Query = ScreenProps['query']

/** Operations by what people call them, in groups. */
const verbs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Applications: {
    [readOperation]: 'read the application',
    [changeOperation]: 'change the application or its infrastructure',
    'GET /applications/{applicationName}/serverGroups': 'see its server groups',
  },
  Pipelines: {
    [startOperation]: 'start a pipeline',
    [saveOperation]: 'save a pipeline',
    'DELETE /pipelines/{application}/{pipelineName}': 'delete a pipeline',
  },
  Executions: {
    'GET /applications/{application}/pipelines': 'read executions',
    'PUT /pipelines/{id}/cancel': 'cancel an execution',
    'PATCH /pipelines/{id}/stages/{stageId}': 'judge or skip a stage',
    'PUT /pipelines/{id}/stages/{stageId}/restart': 'restart from a stage',
  },
  'Access and administration': {
    'POST /auth/apiTokens': 'create an API token',
    'POST /auth/roles/sync': 'read the roles again',
    'GET /audit/events': 'read the audit log',
    'POST /auth/users': 'add a user of the login form',
  },
}
const verbOf: Readonly<Record<string, string>> = Object.assign({}, ...Object.values(verbs))
const maxSuggestions = 500

export function Explain({ query }: ScreenProps) {
  return (
    <>
      <AccessHead tab="Explain" />
      <div class="stack">
        <Question key={JSON.stringify(query)} query={query} />
        {query['operation'] !== undefined && <Answer query={query} operation={query['operation']} />}
      </div>
    </>
  )
}

function Question({ query }: { query: Query }) {
  const { route: navigate } = useLocation()
  const [values, setValues] = useState<Query>({ operation: startOperation, ...query })
  const users = useFormUsers()?.map(({ username }) => username)
  const applications = useLive('/applications', {}, { refresh: 'slow' }).reading.value.body
  const accounts = useLive('/credentials', { query: {} }, { refresh: 'slow' }).reading.value.body
  const put = (name: string, text: string | boolean) => setValues({ ...values, [name]: String(text) })
  const who: FieldTable = {
    username: {
      label: 'User',
      suggestions: (users ?? []).slice(0, maxSuggestions),
      input: { placeholder: user.value?.username },
    },
    roles: { label: 'Suppose these roles', help: 'Separated by commas. Empty: the roles that are known.' },
  }
  const where: FieldTable = {
    application: { label: 'On application', suggestions: namesOf(applications) },
    account: { label: 'In account', suggestions: namesOf(accounts) },
  }
  const ask = (event: Event) => {
    event.preventDefault()
    navigate(to.access('explain', values))
  }
  return (
    <Panel title="Ask whether a user may do something, and why.">
      <form onSubmit={ask}>
        <div class="question">
          {user.value?.isAdmin && <Fields fields={who} values={values} onChange={put} />}
          <OperationFields operation={values['operation'] ?? ''} onChange={(text) => put('operation', text)} />
          <Fields fields={where} values={values} onChange={put} />
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

function namesOf(things: readonly { readonly name: string }[] = []): readonly string[] {
  return things.slice(0, maxSuggestions).map(({ name }) => name)
}

/** Users of the login form, for administrators; undefined where there are none. */
function useFormUsers() {
  return useLive('/auth/users', user.value?.isAdmin === true ? {} : undefined, { refresh: 'slow' }).reading.value.body
}

/** A choice of usual operations, and a field for another one. */
function OperationFields({ operation, onChange }: { operation: string; onChange: (operation: string) => void }) {
  // What is typed may be a usual one on the way to another.
  const [isUsual, setUsual] = useState(operation in verbOf)
  const choose = (id: string) => {
    setUsual(id !== '')
    onChange(id)
  }
  return (
    <>
      <Field label="What">
        {(tied) => (
          <select {...tied} value={isUsual ? operation : ''} onChange={(event) => choose(event.currentTarget.value)}>
            {Object.entries(verbs).map(([group, operations]) => (
              <optgroup key={group} label={group}>
                {Object.entries(operations).map(([id, verb]) => (
                  <option key={id} value={id}>
                    {verb}
                  </option>
                ))}
              </optgroup>
            ))}
            <option value="">Another operation …</option>
          </select>
        )}
      </Field>
      {!isUsual && (
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

function Answer({ query, operation }: { query: Query; operation: string }) {
  const asked = ['application', 'account', 'username', 'roles'].flatMap((name) => (query[name] ? [[name, query[name]]] : []))
  const live = useLive('/auth/explain', { query: { operation, ...Object.fromEntries(asked) } }, { refresh: 'open' })
  return <Loaded live={live}>{(answer) => <Explained answer={answer} query={query} />}</Loaded>
}

const decisions = { allowed: 'Allowed.', denied: 'Denied.', depends: 'It depends.' } as const

function Explained({ answer, query }: { answer: Explanation; query: Query }) {
  const { decision, username, request, known, demands, open, enforcement, resources = [], roles, admin } = answer
  const { operation = '', application } = query
  const reasons = distinct(answer.reasons)
  const question = `May ${username} ${verbOf[operation] ?? `use ${request}`}${application ? ` on ${application}` : ''}?`
  const rules = reasons.map(({ need, allowed, rule }) => `- ${allowed ? '+' : 'x'} ${need}: ${rule}`)
  const text = [location.href, `${question} ${decisions[decision]}`, `Needs: ${demands}`, ...rules].join('\n')
  return (
    <Panel title={<Name text={question} max={120} />} actions={<CopyButton text={text} label="Copy question and answer" />}>
      <div class="answer">
        <p>
          <StatusBadge status={{ kind: decisionKind[decision], word: decisions[decision] }} />
        </p>
        {!known && <Unknown username={username} query={query} />}
        <ul>
          {(known ? reasons : []).map(({ need, allowed, rule }) => (
            <li key={`${need} ${rule}`}>
              <StatusMark kind={allowed ? 'succeeded' : 'failed'} label={allowed ? 'allowed' : 'denied'} />
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
            ['Roles', known && (roles.length > 0 || admin ? <Roles key="roles" roles={roles} admin={admin} /> : 'none')],
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

/** One operation may need the same for two reasons. */
function distinct(reasons: Explanation['reasons']): Explanation['reasons'] {
  return [...new Map(reasons.map((reason) => [`${reason.need} ${reason.rule}`, reason])).values()]
}

/** A user who has not signed in: which roles are known nevertheless, and what they would allow. */
function Unknown({ username, query }: { username: string; query: Query }) {
  const found = useFormUsers()?.find((one) => one.username.toLowerCase() === username.toLowerCase())
  const roles = found?.roles.join(', ')
  return (
    <p>
      {username} has not signed in yet
      {roles === undefined ? (
        ', and is no user of the login form. Roles come with the first sign-in: enter those that you expect to see what they would allow.'
      ) : roles === '' ? (
        '. The login form gives no role.'
      ) : (
        <>
          . The login form would give: <strong>{roles}</strong>.{' '}
          <a href={to.access('explain', { ...query, roles })}>Suppose these roles</a>
        </>
      )}
    </p>
  )
}

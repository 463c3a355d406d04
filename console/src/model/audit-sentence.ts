/** A record of the audit log as a sentence, with what its names lead to. */
import type { Schemas } from '../api/schema.d.ts'
import { shortId } from './execution.ts'
import { toWords } from './names.ts'

/** Addresses of screens. */
interface Addresses {
  application(application: string): string
  execution(id: string): string
  task(id: string): string
  pipeline(application: string, id: string): string
  pipelines(application: string, query: { readonly q: string }): string
  editPipeline(
    application: string,
    id: string,
    query: { readonly tab: string; readonly until: string },
  ): string
}

export interface AuditName {
  readonly text: string
  readonly link?: (to: Addresses) => string
  /** Where the record has its id alone. */
  readonly pipeline?: { readonly application: string; readonly id: string }
}

type AuditPart = string | AuditName

type AuditRecord = Pick<Schemas['AuditEvent'], 'at'> & Partial<Schemas['AuditEvent']>

/** Phrases by operation, verb first; the first that fits. Names in braces are values of the record. */
const phrases = Object.entries({
  'savePipeline|updatePipeline': 'save {pipeline} of {application}',
  // Two operations differ by a digit: of a run, and of a definition.
  deletePipeline1: 'delete {run} of {application}',
  deletePipeline: 'delete the pipeline {pipeline} of {application}',
  'invokePipelineConfig.*': 'start {pipeline} of {application}',
  '(cancel|pause|resume)Pipeline': '$1 {run} of {application}',
  forceCancelPipeline: 'cancel {run} by force',
  restartStage: 'restart a stage of {run} of {application}',
  updateStage: 'answer a stage of {run} of {application}',
  stageExecution: 'start a stage of {application}',
  '(cancel|delete)Task': '$1 {task} of {application}',
  'mark(Bad|Good)': 'mark a version of {application} as $1',
  deleteManifestByApp: 'delete the delivery configuration of {application}',
  putLocalImage: 'register the image {name}',
  webhooks: 'send a webhook',
  addFormUser: 'add the user {username}',
  removeFormUser: 'remove the user {username}',
  unlockFormUser: 'unlock {username}',
  setFormUserPassword: 'set the password of {username}',
  setFormUserRoles: 'set the roles of {username}',
  createApiToken: 'create the API token {name}',
  '(rotate|revoke)ApiToken': '$1 the API token {id}',
  endSession: 'end a login {username}',
  endOtherSessions: 'end all other logins {username}',
  sync: 'refresh the roles of all users',
  '(set|delete)ApplicationSecret': '$1 the secret {name} of {application}',
  '(set|delete)AccountSecret': '$1 the secret {name} of the account {account}',
  listAuditEvents: 'read the audit log',
  listFormUsers: 'read the users',
  user: 'sign in',
}).map(([operations, phrase]) => [new RegExp(`^(?:${operations})1?$`), phrase] as const)

/** After the user: "started deploy-prod of web (run 8QK2)". */
export function auditSentence(record: AuditRecord): readonly AuditPart[] {
  const {
    kind,
    decision = 'failed',
    login,
    lost,
    reason = 'The log has changed.',
    operation = '',
    resource = {},
  } = record
  const repeated =
    record.repeated === undefined ? '' : ` (and ${record.repeated.toLocaleString()} more like it)`
  if (kind === 'audit') return [lost === undefined ? reason : `${lost} events could not be written`]
  if (kind === 'login' || kind === 'logout') {
    const by = login === undefined ? '' : ` by ${login}`
    const done =
      decision !== 'allowed'
        ? `could not sign in${by}`
        : kind === 'login'
          ? `signed in${by}`
          : 'signed out'
    return [done, because(record), repeated]
  }
  const [verb = '', ...object] = phraseOf(record).split(' ')
  const [began, failed] = [`began to ${verb}`, `could not ${verb}`]
  const result = {
    allowed: pastOf(verb),
    refused: `was refused to ${verb}`,
    begun: began,
    interrupted: began,
    failed,
  }[decision]
  const { started } = resource
  const isTask = operation.startsWith('task')
  return [
    result,
    ...fill(['', ...object].join(' '), record),
    ...(started === undefined ? [] : [' (', isTask ? taskName(started) : runName(started), ')']),
    decision === 'interrupted' ? '; the outcome is unknown' : because(record),
    repeated,
  ]
}

const reasons: Readonly<Record<string, string>> = {
  CREDENTIALS_REFUSED: 'the credentials are not accepted',
  LOGIN_REQUIRED: 'not signed in',
  RATE_LIMITED: 'too many requests',
}

function because({ reason, error, decision }: AuditRecord) {
  const why =
    reason?.replace(/^lacks an administrator$/, 'only administrators may') ??
    (error && (reasons[error] ?? error.toLowerCase().replaceAll('_', ' ')))
  return why === undefined || decision === 'allowed' ? '' : `: ${why}`
}

function phraseOf({ operation, resource = {} }: AuditRecord) {
  if (operation === undefined) return 'call an address of no operation'
  if (operation.startsWith('anyUsing')) return 'call the proxy {id}'
  const { jobs } = resource
  if (operation.startsWith('taskUsing')) {
    if (jobs === undefined) return 'submit a task of {application}'
    const action = toWords(jobs.replace(/^upsert/, 'save'))
    return action.endsWith(' application')
      ? `${action} {application}`
      : `${action} of {application}`
  }
  const id = operation.replace(/Using[A-Z]+/, '')
  const known = phrases.find(([pattern]) => pattern.test(id))
  if (known !== undefined) return id.replace(...known)
  const action = id
    .replace(/V2|\d+$/g, '')
    .replace(/^get/, 'read')
    .replace(/^(bulkU|u)psert/, 'save')
  return `${toWords(action)} {name} of {application}`
}

/** Where a value is missing, the preposition before it goes too. */
function fill(template: string, record: AuditRecord): readonly AuditPart[] {
  return template.split(/((?: of | )?\{\w+\})/).flatMap((piece): readonly AuditPart[] => {
    const name = /\{(\w+)\}/.exec(piece)?.[1]
    if (name === undefined) return [piece]
    const found = namedValue(name, record)
    return found === undefined ? [] : [piece.slice(0, piece.indexOf('{')), found]
  })
}

function namedValue(name: string, record: AuditRecord): AuditName | undefined {
  const { id, application = record.application, ...others } = record.resource ?? {}
  const text = { id, application, ...others }[name]
  if (name === 'pipeline') return pipelineName(record)
  if (name === 'run') return id ? runName(id) : undefined
  if (name === 'task') return id ? taskName(id) : undefined
  // Several applications lead nowhere.
  const link =
    name === 'application' && text?.includes(', ') === false
      ? (to: Addresses) => to.application(text)
      : undefined
  return text ? { text, link } : undefined
}

function runName(id: string): AuditName {
  return { text: `run ${shortId(id)}`, link: (to) => to.execution(id) }
}

function taskName(id: string): AuditName {
  return { text: `task ${shortId(id)}`, link: (to) => to.task(id) }
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function pipelineName(record: AuditRecord): AuditName | undefined {
  const {
    id,
    name,
    pipelineNameOrId,
    pipelineName,
    application = record.application,
  } = record.resource ?? {}
  const text = name ?? pipelineNameOrId ?? pipelineName ?? id
  if (text === undefined || application === undefined) return { text: text || 'a pipeline' }
  if (text === pipelineNameOrId && uuid.test(text)) {
    const link = (to: Addresses) => to.pipeline(application, text)
    return { text: `pipeline ${shortId(text)}`, link, pipeline: { application, id: text } }
  }
  const until = String(Date.parse(record.at))
  const link = (to: Addresses) =>
    id !== undefined && record.decision === 'allowed'
      ? to.editPipeline(application, id, { tab: 'history', until })
      : to.pipelines(application, { q: text })
  return { text, link }
}

const irregular: Readonly<Record<string, string>> = {
  diff: 'compared',
  override: 'overrode',
  plan: 'planned',
  put: 'saved',
  read: 'read',
  reset: 'reset',
  run: 'ran',
  send: 'sent',
  set: 'set',
  submit: 'submitted',
  undo: 'undid',
  cancel: 'cancelled',
  rollback: 'rolled back',
}

function pastOf(verb: string) {
  return (
    irregular[verb] ??
    (verb.endsWith('e')
      ? `${verb}d`
      : verb.endsWith('y') && !/[aeo]y$/.test(verb)
        ? `${verb.slice(0, -1)}ied`
        : `${verb}ed`)
  )
}

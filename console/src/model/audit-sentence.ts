/** A record of the audit log as a sentence, with what its names lead to. */
import { shortId } from './execution.ts'

export type AuditTarget =
  | { readonly kind: 'revision'; readonly application: string; readonly id: string; readonly atMs: number }
  | { readonly kind: 'pipelines'; readonly application: string; readonly name: string }
  | { readonly kind: 'pipeline'; readonly application: string; readonly id: string }
  | { readonly kind: 'application'; readonly application: string }
  | { readonly kind: 'execution' | 'task'; readonly id: string }

/** Words, or a name that may lead somewhere. */
export type AuditPart = string | { readonly text: string; readonly target: AuditTarget | undefined }

interface AuditRecord {
  readonly at: string
  readonly kind: string
  readonly decision: string
  readonly operation?: string | undefined
  readonly application?: string | undefined
  readonly resource?: Readonly<Record<string, string>> | undefined
  readonly login?: string | undefined
  readonly error?: string | undefined
  readonly reason?: string | undefined
  readonly repeated?: number | undefined
  readonly lost?: number | undefined
}

/** Verb first. Names in braces are values of the record. Operations that are missing here are worded by their id. */
const phrases: Readonly<Record<string, string>> = {
  savePipelineUsingPOST: 'save {pipeline} of {application}',
  updatePipelineUsingPUT: 'save {pipeline} of {application}',
  deletePipelineUsingDELETE: 'delete the pipeline {pipeline} of {application}',
  reorderPipelinesUsingPOST: 'reorder the pipelines of {application}',
  invokePipelineConfigUsingPOST: 'start {pipeline} of {application}',
  invokePipelineConfigUsingPOST1: 'start {pipeline} of {application}',
  invokePipelineConfigViaEchoUsingPOST: 'start {pipeline} of {application}',
  cancelPipelineUsingPUT: 'cancel {run} of {application}',
  cancelPipelineUsingPUT1: 'cancel {run} of {application}',
  pausePipelineUsingPUT: 'pause {run} of {application}',
  resumePipelineUsingPUT: 'resume {run} of {application}',
  restartStageUsingPUT: 'restart a stage of {run} of {application}',
  updateStageUsingPATCH: 'answer a stage of {run} of {application}',
  deletePipelineUsingDELETE1: 'delete {run} of {application}',
  cancelTaskUsingPUT: 'cancel {task} of {application}',
  cancelTaskUsingPUT1: 'cancel {task} of {application}',
  deleteTaskUsingDELETE: 'delete {task} of {application}',
  forceCancelPipelineUsingPUT: 'cancel {run} by force',
  bulksavePipelineUsingPOST: 'save several pipelines of {application}',
  judgeTaskUsingPOST: 'ask what would become of a task of {application}',
  stageExecutionUsingPOST: 'start a stage of {application}',
  putLocalImage: 'register the image {name}',
  webhooksUsingPOST: 'send a webhook',
  webhooksUsingPOST1: 'send a webhook',
  markBadUsingPOST: 'mark a version of {application} as bad',
  markGoodUsingPOST: 'mark a version of {application} as good',
  deleteManifestByAppUsingDELETE: 'delete the delivery configuration of {application}',
  addFormUserUsingPOST: 'add the user {username}',
  setFormUserPasswordUsingPUT: 'set the password of {username}',
  setFormUserRolesUsingPUT: 'set the roles of {username}',
  unlockFormUserUsingPOST: 'unlock {username}',
  removeFormUserUsingDELETE: 'remove the user {username}',
  createApiTokenUsingPOST: 'create the API token {name}',
  rotateApiTokenUsingPOST: 'rotate the API token {id}',
  revokeApiTokenUsingDELETE: 'revoke the API token {id}',
  endSessionUsingDELETE: 'end a login {username}',
  endOtherSessionsUsingDELETE: 'end all other logins {username}',
  syncUsingPOST: 'refresh the roles of all users',
  setApplicationSecretUsingPUT: 'set the secret {name} of {application}',
  deleteApplicationSecretUsingDELETE: 'delete the secret {name} of {application}',
  setAccountSecretUsingPUT: 'set the secret {name} of the account {account}',
  deleteAccountSecretUsingDELETE: 'delete the secret {name} of the account {account}',
  saveNotificationConfigUsingPOST: 'save the notifications of {application}',
  testNotificationUsingPOST: 'test a notification of {application}',
  listAuditEventsUsingGET: 'read the audit log',
  listFormUsersUsingGET: 'read the users',
}

/** After the user: "started deploy-prod of web (run 8QK2)". */
export function auditSentence(record: AuditRecord): readonly AuditPart[] {
  const { kind, decision, login, lost } = record
  const repeated = record.repeated === undefined ? '' : ` (and ${record.repeated.toLocaleString()} more like it)`
  if (kind === 'login' || kind === 'logout') {
    const done = kind === 'login' ? `signed in${login === undefined ? '' : ` by ${login}`}` : 'signed out'
    return [
      decision === 'allowed' ? done : `could not sign in${login === undefined ? '' : ` by ${login}`}`,
      because(record) + repeated,
    ]
  }
  if (kind === 'audit')
    return [lost === undefined ? (record.reason ?? 'The log has changed.') : `${lost} events could not be written`]
  const [verb = '', ...rest] = phraseOf(record).split(' ')
  const object = fill(rest.join(' '), record)
  const of = (words: string) => [`${words} `, ...object]
  const started = record.resource?.['started']
  switch (decision) {
    case 'allowed':
      return [...of(pastOf(verb)), ...(started === undefined ? [] : startedParts(record, started)), repeated]
    case 'refused':
      return [...of(`was refused to ${verb}`), because(record) + repeated]
    case 'begun':
      return of(`began to ${verb}`)
    case 'interrupted':
      return [...of(`began to ${verb}`), '; the outcome is unknown']
    default:
      return [...of(`could not ${verb}`), because(record) + repeated]
  }
}

function startedParts({ operation = '' }: AuditRecord, id: string): readonly AuditPart[] {
  const kind = operation.startsWith('task') ? 'task' : 'execution'
  return [' (', { text: `${kind === 'task' ? 'task' : 'run'} ${shortId(id)}`, target: { kind, id } }, ')']
}

const reasons: Readonly<Record<string, string>> = {
  CREDENTIALS_REFUSED: 'the credentials are not accepted',
  LOGIN_REQUIRED: 'not signed in',
  RATE_LIMITED: 'too many requests',
}

function because({ reason, error }: AuditRecord): string {
  const why =
    reason?.replace(/^lacks an administrator$/, 'only administrators may') ??
    (error === undefined ? undefined : (reasons[error] ?? error.toLowerCase().replaceAll('_', ' ')))
  return why === undefined ? '' : `: ${why}`
}

function phraseOf({ operation, resource = {} }: AuditRecord): string {
  if (operation === undefined) return 'call an address of no operation'
  const known = phrases[operation]
  if (known !== undefined) return known
  if (operation.startsWith('anyUsing')) return 'call the proxy {id}'
  const { jobs } = resource
  if (operation.startsWith('taskUsing')) {
    if (jobs === undefined) return 'submit a task of {application}'
    const action = toWords(jobs.replace(/^upsert/, 'save'))
    return action.endsWith(' application') ? `${action} {application}` : `${action} of {application}`
  }
  const action = operation
    .replace(/Using[A-Z]+\d*$/, '')
    .replace(/^get/, 'read')
    .replace(/^(bulkU|u)psert/, 'save')
    .replace('V2', '')
  return `${toWords(action)} {name} of {application}`
}

function toWords(name: string): string {
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** Where a value is missing, the preposition before it goes too. */
function fill(template: string, record: AuditRecord): readonly AuditPart[] {
  return template.split(/((?: of | )?\{\w+\})/).flatMap((piece): readonly AuditPart[] => {
    const name = /\{(\w+)\}/.exec(piece)?.[1]
    if (name === undefined) return [piece]
    const part = partOf(name, record)
    return part === undefined ? [] : [piece.slice(0, piece.indexOf('{')), part]
  })
}

function partOf(name: string, { application, resource = {}, decision, at }: AuditRecord): AuditPart | undefined {
  const { id } = resource
  const ofApplication = resource['application'] ?? application
  if (name === 'application') {
    const isOne = ofApplication !== undefined && !ofApplication.includes(', ')
    return (
      ofApplication && { text: ofApplication, target: isOne ? { kind: 'application', application: ofApplication } : undefined }
    )
  }
  if (name === 'run') return id && { text: `run ${shortId(id)}`, target: { kind: 'execution', id } }
  if (name === 'task') return id && { text: `task ${shortId(id)}`, target: { kind: 'task', id } }
  if (name !== 'pipeline') return resource[name] && { text: resource[name], target: undefined }
  const text = resource['name'] ?? resource['pipelineNameOrId'] ?? resource['pipelineName'] ?? id
  if (text === undefined) return undefined
  if (ofApplication === undefined) return { text, target: undefined }
  if (text === resource['pipelineNameOrId'] && isId(text)) {
    return { text: `pipeline ${shortId(text)}`, target: { kind: 'pipeline', application: ofApplication, id: text } }
  }
  const isRevision = id !== undefined && decision === 'allowed'
  return {
    text,
    target: isRevision
      ? { kind: 'revision', application: ofApplication, id, atMs: Date.parse(at) }
      : { kind: 'pipelines', application: ofApplication, name: text },
  }
}

function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
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

function pastOf(verb: string): string {
  return (
    irregular[verb] ??
    (verb.endsWith('e') ? `${verb}d` : verb.endsWith('y') && !/[aeo]y$/.test(verb) ? `${verb.slice(0, -1)}ied` : `${verb}ed`)
  )
}

/** Executions, the runs of pipelines: lists, searches, changes while they run, and event streams. */

import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import {
  AnyList,
  AnyObject,
  flagModel,
  integer,
  maybeText,
  model,
  nonEmpty,
  nothing,
  textModel,
} from '@fairlead/base/json/schemas.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { pathTo, type QueryValue } from '@fairlead/base/net/encode-path.ts'
import { z } from 'zod'
import type { User } from '../../http/request-state.ts'
import { eventStreamType } from '../../live/event-stream.ts'
import type { LiveSubject } from '../../live/source.ts'
import { checkDone } from '../../upstreams/answer-form.ts'
import { findByName, listDefinitions } from '../access/find-definition.ts'
import { changeRun, learnApplication } from '../access/learn-application.ts'
import { isMetByToken, tokenLimited } from '../access/token-limits.ts'
import { get, operationsWith, polledByUsers } from '../declare.ts'
import {
  application,
  executesExecution,
  filteredBy,
  readsApplication,
  readsExecution,
  streamsApplication,
  streamsExecution,
  streamsTask,
  writesExecution,
} from '../demands.ts'
import { ExecutionModel, FailedStage, StageUpdate } from '../models/executions.ts'
import { LiveAnswer, type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { readObject } from '../upstream-shape.ts'
import { toBase64Json } from './task-polling.ts'

const statuses = maybeText.describe('Execution statuses, comma-separated; all unless given.')
const unknownExecution = { 404: 'There is no execution with this id.' }
const notFound = { message: describeUnknownExecution }

const ActiveExecutions = model('ActiveExecutions', { overdue: z.boolean(), count: z.int() })

const moment = z.string().regex(/^\d{1,19}$/, 'it must be a moment in milliseconds since the epoch')

const searchQuery = {
  triggerTypes: maybeText.describe('Comma-separated; all types unless given.'),
  pipelineName: maybeText,
  eventId: maybeText,
  trigger: maybeText.describe('Base64 of a JSON object that the trigger must contain.'),
  triggerTimeStartBoundary: moment
    .optional()
    .describe('Submitted at or after this moment, milliseconds since the epoch.'),
  triggerTimeEndBoundary: moment
    .optional()
    .describe('Submitted at or before this moment, milliseconds since the epoch.'),
  user: nonEmpty
    .optional()
    .describe('Started by this user: `authentication.user` or `trigger.user` is this name.'),
  parameter: nonEmpty
    .optional()
    .describe('Started with this parameter, as `name=value`; the name alone is for any value.'),
  text: nonEmpty
    .optional()
    .describe(
      'Words that its id, application, name, parameters, versions, branch, commits with author and message, build or artifacts contain.',
    ),
  concernsMe: flagModel
    .default(false)
    .describe(
      'Of commits that the caller has written: by user name, full name or e-mail address, with which an author may be known.',
    ),
  statuses: maybeText.describe('Comma-separated; all unless given.'),
  startIndex: integer.default(0),
  size: integer.default(10),
  reverse: flagModel.default(false).describe('Oldest first.'),
  expand: flagModel.default(false).describe('With contexts, outputs and tasks of the stages.'),
}

const list = operationsWith({
  core: true,
  ...polledByUsers,
  cost: 5,
  answer: z.array(ExecutionModel),
})
const control = operationsWith({
  core: true,
  demands: executesExecution,
  answer: nothing,
  errors: unknownExecution,
})
const execution = operationsWith({ core: true, errors: unknownExecution })
const stage = operationsWith({
  core: true,
  demands: executesExecution,
  answer: ExecutionModel,
  errors: unknownExecution,
})

export const executionOperations: Operation[] = [
  list.get(
    'getPipelinesUsingGET',
    '/applications/{application}/pipelines',
    'List executions of an application',
    {
      demands: [...readsApplication, ...filteredBy('application')],
      query: {
        limit: integer
          .optional()
          .describe(
            'Per pipeline definition, not in total; unless given, `gate.execution.fetch.limit`.',
          ),
        statuses,
        expand: flagModel.optional().describe('False leaves the details of stages out.'),
        pipelineNameFilter: maybeText.describe(
          'Keep executions of pipelines whose name contains this.',
        ),
        pipelineLimit: integer.optional().describe('At most so many pipeline definitions.'),
      },
      handle: listOfApplication,
    },
  ),
  list.get('getLatestExecutionsByConfigIdsUsingGET', '/executions', 'List executions by ids', {
    demands: filteredBy('application'),
    description:
      'Latest executions of given definitions, or given executions. Without either list of ids the result is `[]`.',
    query: {
      pipelineConfigIds: maybeText.describe('Ids of definitions, comma-separated or repeated.'),
      executionIds: textModel
        .optional()
        .describe(
          'Ids of executions, comma-separated or repeated; not together with `pipelineConfigIds`.',
        ),
      limit: integer.optional().describe('Per definition.'),
      statuses,
      expand: flagModel.default(true).describe('False leaves the details of stages out.'),
    },
    handle: listByIds,
  }),
  get(
    'getActiveExecutionsByInstanceUsingGET',
    '/executions/activeByInstance',
    'Count executions by instance',
    {
      core: true,
      demands: filteredBy('application'),
      description:
        'Active executions by instance of the orchestrator. Newer orchestrators return 404.',
      forward: 'orca',
      cost: 5,
      answer: z.record(z.string(), ActiveExecutions),
    },
  ),
  execution.get('getPipelineUsingGET', '/pipelines/{id}', 'Get an execution', {
    ...polledByUsers,
    demands: readsExecution,
    forward: 'orca',
    on404: notFound,
    answer: ExecutionModel,
  }),
  execution.get('getPipelineLogsUsingGET', '/pipelines/{id}/logs', 'Get logs of an execution', {
    demands: readsExecution,
    description:
      'What happened in an execution, when and by whom: `timestamp`, `eventType`, `user`, and `details` with stage, task and status. ' +
      'The embedded engine answers it; newer external orchestrators return 404.',
    forward: 'orca',
    on404: {
      message: ({ path }) => `There are no logs of an execution with the id "${path['id']}".`,
    },
    answer: AnyList,
  }),
  execution.remove('deletePipelineUsingDELETE1', '/pipelines/{id}', 'Delete an execution', {
    demands: writesExecution,
    description: 'Deletes the record of an execution that has ended.',
    errors: {
      ...unknownExecution,
      409: 'The execution has not ended, or what it had begun is still being undone.',
    },
    handle: (request) => changeRun(request, 'pipelines', 'DELETE'),
    answer: nothing,
  }),
  control.put('cancelPipelineUsingPUT1', '/pipelines/{id}/cancel', 'Cancel an execution', {
    description: 'Cancels an execution; it reaches CANCELED a little later.',
    query: { reason: maybeText, force: flagModel.default(false) },
    handle: (request) => changeRun(request, 'pipelines', 'PUT', '/cancel'),
  }),
  control.put(
    'cancelPipelineUsingPUT',
    '/applications/{application}/pipelines/{id}/cancel',
    'Cancel an execution (older address)',
    {
      description:
        'Cancels an execution; the older address. The application is ignored, and may be the text `{application}`.',
      query: { reason: maybeText },
      handle: cancelAtOlderAddress,
    },
  ),
  control.put('pausePipelineUsingPUT', '/pipelines/{id}/pause', 'Pause an execution', {
    handle: (request) => changeRun(request, 'pipelines', 'PUT', '/pause'),
  }),
  control.put('resumePipelineUsingPUT', '/pipelines/{id}/resume', 'Resume an execution', {
    handle: (request) => changeRun(request, 'pipelines', 'PUT', '/resume'),
  }),
  stage.put('restartStageUsingPUT', '/pipelines/{id}/stages/{stageId}/restart', 'Restart a stage', {
    description:
      'Restarts a stage. The stored definition of the pipeline takes the place of the body, if there still is one.',
    body: AnyObject,
    errors: { ...unknownExecution, 409: 'What the stage had begun is still being undone.' },
    handle: restartStage,
  }),
  stage.patch(
    'updateStageUsingPATCH',
    '/pipelines/{id}/stages/{stageId}',
    'Update or judge a stage',
    {
      description: 'Merges the body into the context of a stage: a judgment, or the wish to skip.',
      body: { schema: AnyObject, shown: StageUpdate, required: true },
      handle: updateStage,
    },
  ),
  get(
    'searchForPipelineExecutionsByTriggerUsingGET',
    '/applications/{application}/executions/search',
    'Search executions',
    {
      demands: [...readsApplication, ...filteredBy('application')],
      description:
        'Executions of an application by trigger, user, parameter, text, time and status, newest first. `*` searches all that the caller ' +
        'may read. An external Orca cannot search by user, parameter or text: Fairlead asks it for executions whose trigger has this user ' +
        'and parameter, and leaves out of the page what is not of this user or lacks the text.',
      query: searchQuery,
      handle: search,
      cost: 5,
      answer: z.array(ExecutionModel),
    },
  ),
  get(
    'getFailedStagesForPipelineExecutionUsingGET',
    '/executions/failedStages',
    'List failed stages',
    {
      demands: application('READ', 'execution', 'executionId'),
      description:
        'The stages that made an execution fail, including those of the pipelines that it started.',
      query: {
        executionId: nonEmpty,
        deckOrigin: maybeText.describe('Address of the web UI, for links.'),
        limit: integer.default(1),
      },
      forward: 'orca /pipelines/failedStages',
      answer: z.array(FailedStage),
    },
  ),
]

async function listOfApplication(
  request: OperationRequest,
  platform: Platform,
): Promise<StreamedAnswer> {
  const path = pathTo`/v2/applications/${request.path['application'] as string}/pipelines`
  // A limit of 0 counts as not given: it would ask for nothing.
  return new StreamedAnswer('orca', {
    path,
    query: { ...request.query, limit: request.query['limit'] || platform.settings.executionLimit },
  })
}

async function listByIds({ query }: OperationRequest): Promise<StreamedAnswer | []> {
  const hasIds = [query['pipelineConfigIds'], query['executionIds']].some(
    (ids) => String(ids ?? '').trim() !== '',
  )
  return hasIds ? new StreamedAnswer('orca', { path: '/pipelines', query }) : []
}

async function search(request: OperationRequest, { upstreams }: Platform): Promise<unknown> {
  const { concernsMe, ...given } = request.query
  const names = concernsMe === true ? namesOf(request.state.user) : []
  if (concernsMe === true && names.length === 0) return []
  const { user, parameter, text = names[0], trigger, ...query } = given
  const path = pathTo`/applications/${request.path['application'] as string}/pipelines/search`
  const isPlain = user === undefined && parameter === undefined && text === undefined
  if (isPlain || upstreams.traitsOf('orca').searchesByText)
    return new StreamedAnswer('orca', {
      path,
      query: { ...given, ...(names.length > 0 && { authors: names.join('\n') }) },
    })
  const wanted = {
    ...(user !== undefined && { user: RegExp.escape(String(user)) }),
    ...parameterPattern(parameter),
  }
  const found = await request.json('orca', {
    path,
    query: { ...query, trigger: withPattern(trigger, wanted) },
  })
  if (!Array.isArray(found)) return found
  return found.filter(
    (execution) => (user === undefined || isOf(execution, user)) && hasText(execution, text),
  )
}

function namesOf(user: User | undefined): string[] {
  const { username, email, firstName, lastName } = user ?? {}
  const whole = [firstName, lastName].filter(Boolean).join(' ')
  return [username, email, whole].filter((name): name is string => Boolean(name))
}

function parameterPattern(parameter: QueryValue): JsonObject {
  if (parameter === undefined) return {}
  const [name = '', ...value] = String(parameter).split('=')
  return { parameters: { [name]: value.length === 0 ? '(?s).*' : RegExp.escape(value.join('=')) } }
}

/** Texts of a trigger pattern are regular expressions. A pattern that cannot be read is for the service to reject. */
function withPattern(pattern: QueryValue, wanted: JsonObject): QueryValue {
  if (pattern === undefined || pattern === '')
    return Object.keys(wanted).length === 0 ? undefined : toBase64Json(wanted)
  try {
    const given: unknown = parseJson(Buffer.from(String(pattern), 'base64').toString())
    if (!isObject(given)) return String(pattern)
    const parameters = { ...objectOf(given['parameters']), ...objectOf(wanted['parameters']) }
    return toBase64Json({
      ...wanted,
      ...given,
      ...(Object.keys(parameters).length > 0 && { parameters }),
    })
  } catch {
    return String(pattern)
  }
}

const toStarter = shape({
  authentication: shape({ user: textOf }),
  trigger: shape({ user: textOf }),
})

function hasText(execution: unknown, text: QueryValue): boolean {
  if (text === undefined) return true
  const { id, application, name, trigger } = objectOf(execution)
  const found = formatJson([id, application, name, trigger]).toLowerCase()
  return String(text)
    .toLowerCase()
    .split(/\s+/)
    .every((word) => found.includes(word))
}

function isOf(execution: unknown, user: unknown): boolean {
  const { authentication, trigger } = toStarter(execution)
  return authentication.user === user || trigger.user === user
}

export function describeUnknownExecution({ path }: OperationRequest): string {
  return `There is no execution with the id "${path['id']}".`
}

async function cancelAtOlderAddress(request: OperationRequest): Promise<void> {
  const answer = await request.call('orca', {
    method: 'PUT',
    path: pathTo`/pipelines/${request.path['id'] as string}/cancel`,
    query: { reason: request.query['reason'], force: 'false' },
    // One is expected, and not read.
    body: '',
  })
  checkDone(answer, 'orca')
}

async function restartStage(request: OperationRequest): Promise<StreamedAnswer> {
  const { id = '', stageId = '' } = request.path
  const answer = await request.call('orca', { path: pathTo`/pipelines/${id}` })
  const execution = readObject(answer, 'orca')
  checkTokenForParents(request.state.token, execution)
  const application = String(execution['application'])
  const definition = findByName(await listDefinitions(request, application), execution['name'])
  request.state.application = application
  const path = pathTo`/pipelines/${id}/stages/${stageId}/restart`
  return new StreamedAnswer('orca', { method: 'PUT', path, body: definition ?? request.body })
}

/**
 * Runs that have waited for this one go on with it; the service knows the user, and not the token.
 *
 * @throws {GatewayError} TOKEN_LIMITED
 */
function checkTokenForParents(
  token: OperationRequest['state']['token'],
  { trigger }: JsonObject,
): void {
  const { parentExecution: parent, parentPipelineStageId } = objectOf(trigger)
  if (!isObject(parent) || textOf(parentPipelineStageId) === undefined) return
  const need = {
    kind: 'application',
    name: String(parent['application']),
    authorization: 'EXECUTE',
  } as const
  if (!isMetByToken(token, need))
    throw tokenLimited(
      `the execution ${parent['id']} of the application ${need.name} has started this one and restarts with it`,
    )
  checkTokenForParents(token, parent)
}

async function updateStage(request: OperationRequest): Promise<StreamedAnswer> {
  const { id = '', stageId = '' } = request.path
  await learnApplication(request, 'pipelines', id)
  return new StreamedAnswer('orca', {
    method: 'PATCH',
    path: pathTo`/pipelines/${id}/stages/${stageId}`,
    body: request.body,
  })
}

const common =
  'Server-Sent Events. Other events: `resync`: events were missed, read the state again; `stale` and `fresh`: the orchestrator ' +
  'has stopped or begun to answer; `end`: the stream ends, with the reason. Send `Last-Event-ID` to continue. docs/guides/live-data.md ' +
  'describes all of them.'

const tooMany = {
  429: 'The caller has too many event streams open.',
  503: 'The replica serves as many event streams as it may, or is stopping.',
}

type Stream = Pick<Operation, 'demands' | 'summary'> & {
  description: string
  kind: LiveSubject['kind']
  unknown?: string
}

function stream(
  id: string,
  path: string,
  { demands, summary, description, kind, unknown }: Stream,
): Operation {
  return get(id, path, summary, {
    demands,
    description: `${description} ${common}`,
    handle: async (request) =>
      new LiveAnswer({ kind, name: request.path[kind === 'application' ? kind : 'id'] ?? '' }),
    answer: z.string(),
    answerType: eventStreamType,
    errors: unknown === undefined ? tooMany : { 404: unknown, ...tooMany },
  })
}

export const executionStreamOperations: Operation[] = [
  stream('streamExecutionUsingGET', '/executions/{id}/events', {
    demands: streamsExecution,
    summary: 'Follow an execution',
    description:
      'Streams the changes of an execution. Each event `execution` has the whole summary: its state and that of its stages, without contexts and outputs. The first comes at once.',
    unknown: 'There is no execution with this id.',
    kind: 'execution',
  }),
  stream('streamExecutionsUsingGET', '/applications/{application}/executions/events', {
    demands: streamsApplication,
    summary: 'Follow executions of an application',
    description:
      'Streams the changes of an application. Begins with `ready`, which names the parts that are reported. Each event `execution` has the summary of an execution that has changed or is new; `removed` has the id of one that was deleted; `changed` names a part to read again: `tasks`, `infrastructure` or `definitions`, where its service is embedded.',
    kind: 'application',
  }),
]

export const taskStreamOperations: Operation[] = [
  stream('streamTaskUsingGET', '/tasks/{id}/events', {
    demands: streamsTask,
    summary: 'Follow a task',
    description:
      'Streams the changes of a task. Each event `task` has the whole summary: its state and that of its steps. The first comes at once.',
    unknown: 'There is no task with this id.',
    kind: 'task',
  }),
]

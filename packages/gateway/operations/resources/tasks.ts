/** Tasks: work outside of pipelines, by application and by id. */

import { GatewayError } from '@fairlead/base/errors.ts'
import {
  AnyObject,
  integer,
  maybeText,
  nonEmptyList,
  nothing,
  Ref,
} from '@fairlead/base/json/schemas.ts'
import { isObject, type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import {
  findApplicationNameObjection,
  pluginApplication,
  quoteName,
} from '@fairlead/base/names/application-name.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { describeIssue } from '@fairlead/base/settings/describe-issue.ts'
import { z } from 'zod'
import { checkDone } from '../../upstreams/answer-form.ts'
import { applicationExists } from '../access/access-resources.ts'
import { requireAdministrator } from '../access/application-access.ts'
import { decodeDocument } from '../access/job-form.ts'
import { changeRun, learnApplication } from '../access/learn-application.ts'
import { applicationsCreatedBy } from '../access/subjects.ts'
import { operationsWith, polledByUsers, post } from '../declare.ts'
import {
  application,
  executesTask,
  readsApplication,
  readsTask,
  submitsJobs,
  writesApplication,
  writesTask,
} from '../demands.ts'
import { CloudOperation, TaskJudgement, TaskModel, TaskRequest } from '../models/executions.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { checkObject } from '../upstream-shape.ts'
import { withDisplayedUser } from './caller.ts'
import { findingsQuery, Saved, type SavedDocument, withFindingsOf } from './findings.ts'
import { startModeOf } from './pipeline-starts.ts'
import { submissionType } from './task-polling.ts'

const applicationChangeMs = 1000
const orPlan =
  ' With `"plan": true`, nothing starts and the response is a judgement. With `"dryRun": true`, its stages call and change nothing.'
const unknownTask = { 404: 'There is no task with this id.' }

const task = operationsWith({ core: true, errors: unknownTask })
const core = operationsWith({ core: true })
const details = operationsWith({
  core: true,
  demands: readsTask,
  forward: 'clouddriver /task/{taskDetailsId}',
  answer: CloudOperation,
})

export const taskOperations: Operation[] = [
  core.get(
    'getTasksUsingGET',
    '/applications/{application}/tasks',
    'List tasks of an application',
    {
      ...polledByUsers,
      demands: readsApplication,
      description: 'Tasks of an application, newest first.',
      query: {
        page: integer.optional().describe('From 1.'),
        limit: integer.optional().describe('Size of a page.'),
        statuses: maybeText.describe('Comma-separated; all unless given.'),
      },
      forward: 'orca',
      answer: z.array(TaskModel),
    },
  ),
  core.post(
    'taskUsingPOST',
    '/applications/{application}/tasks',
    'Submit a task to an application',
    {
      demands: [...writesApplication, ...submitsJobs],
      description: `Submits a task for an application, whatever application its body names.${orPlan}`,
      body: { schema: AnyObject, shown: TaskRequest, required: true },
      query: findingsQuery,
      handle: (request, platform) => submit(request, platform, taskOfPath(request)),
      answer: z.union([Ref, Saved]),
    },
  ),
  post(
    'judgeTaskUsingPOST',
    '/applications/{application}/tasks/judge',
    'Judge a task without running it',
    {
      demands: [...writesApplication, ...submitsJobs],
      changesNothing: true,
      cost: 5,
      description:
        'Why a task would be rejected and what it would do, as things are now: stage types, fields, accounts, the requirements of its ' +
        'operations, traffic guards. Nothing is stored and nothing changes. With an external Orca, Fairlead judges the rights and the form alone.',
      body: { schema: AnyObject, shown: TaskRequest, required: true },
      handle: (request, platform) => previewTask(request, platform, taskOfPath(request)),
      answer: TaskJudgement,
    },
  ),
  task.get(
    'getTaskUsingGET',
    '/applications/{application}/tasks/{id}',
    'Get a task (older address)',
    {
      ...polledByUsers,
      demands: readsTask,
      description: 'One task; the older address. The application is ignored.',
      forward: 'orca /tasks/{id}',
      answer: TaskModel,
    },
  ),
  task.put(
    'cancelTaskUsingPUT',
    '/applications/{application}/tasks/{id}/cancel',
    'Cancel a task (older address)',
    {
      demands: executesTask,
      handle: (request) => changeRun(request, 'tasks', 'PUT', '/cancel'),
      answer: nothing,
    },
  ),
  details.get(
    'getTaskDetailsUsingGET',
    '/applications/{application}/tasks/{id}/details/{taskDetailsId}',
    'Get a cloud operation (older address)',
    {
      description: 'The cloud operation behind a step of a task; the older address.',
    },
  ),
  core.post('taskUsingPOST1', '/tasks', 'Submit a task', {
    demands: submitsJobs,
    description:
      'Submits a task and does not wait for it. Applications and projects are created, changed and deleted this way; doubts about what jobs save, ' +
      `such as declared environments, are in the header \`X-Fairlead-Warnings\`.${orPlan}`,
    body: { schema: AnyObject, shown: TaskRequest, required: true },
    query: findingsQuery,
    handle: (request, platform) => {
      const task = request.body as JsonObject
      if (typeof task['application'] === 'string') request.state.application = task['application']
      return submit(request, platform, task)
    },
    answer: z.union([Ref, Saved]),
  }),
  task.get('getTaskUsingGET1', '/tasks/{id}', 'Get a task', {
    ...polledByUsers,
    demands: readsTask,
    forward: 'orca',
    answer: TaskModel,
  }),
  task.remove('deleteTaskUsingDELETE', '/tasks/{id}', 'Delete a task', {
    demands: writesTask,
    description: 'Deletes the record of a task that has ended.',
    handle: (request) => changeRun(request, 'tasks', 'DELETE'),
    answer: nothing,
  }),
  task.put('cancelTaskUsingPUT1', '/tasks/{id}/cancel', 'Cancel a task', {
    demands: executesTask,
    description: 'Cancels a task; it reaches CANCELED a little later.',
    handle: (request) => changeRun(request, 'tasks', 'PUT', '/cancel'),
    answer: nothing,
  }),
  core.put('cancelTasksUsingPUT', '/tasks/cancel', 'Cancel several tasks', {
    demands: application('EXECUTE', 'task', 'ids'),
    description:
      'Cancels several tasks. If the caller may not cancel one of them, the gateway rejects the request; where only the services ' +
      'check (`permissions.enforce`), Orca skips it.',
    query: { ids: nonEmptyList },
    handle: cancelSeveral,
    answer: nothing,
  }),
  details.get(
    'getTaskDetailsUsingGET1',
    '/tasks/{id}/details/{taskDetailsId}',
    'Get a cloud operation',
    {},
  ),
]

function taskOfPath({ body, path }: OperationRequest): JsonObject {
  return { ...(body as JsonObject), application: path['application'] }
}

async function submit(
  request: OperationRequest,
  platform: Platform,
  given: JsonObject,
): Promise<unknown> {
  const { plan, body: task } = startModeOf(given)
  if (plan) return previewTask(request, platform, task)
  for (const name of applicationsCreatedBy(task)) await checkNewName(request, platform, name)
  const body = withDisplayedUser(request, task)
  const answer = await request.json('orca', {
    method: 'POST',
    path: '/ops',
    body,
    headers: submissionType,
  })
  const submitted = checkObject(answer, 'orca')
  // Who created an application looks for it in the list as soon as the task has ended.
  if (changesApplication(task))
    setTimeout(() => void platform.applications.refresh(), applicationChangeMs).unref()
  return withFindingsOf(request, platform, { saved: savedBy(task), answer: submitted, status: 200 })
}

const documentsOfJobs: readonly [types: RegExp, kind: SavedDocument['kind'], field: string][] = [
  [/^(?:create|update|upsert)application$/i, 'application', 'application'],
  [/^(?:save|update)pipeline$/i, 'pipeline', 'pipeline'],
  [/^savepipeline$/i, 'pipeline', 'pipelines'],
  [/^(?:create|update)(?:v2)?pipelinetemplate$/i, 'template', 'pipelineTemplate'],
]

/** Documents that jobs carry as objects, or as base64 of JSON. */
function savedBy({ job }: JsonObject): SavedDocument[] {
  return objectsOf(job).flatMap((each) =>
    documentsOfJobs
      .filter(([types]) => types.test(String(each['type'])))
      .flatMap(([_types, kind, field]) =>
        [decodeDocument(each[field])]
          .flat()
          .flatMap((document) => (isObject(document) ? { kind, document } : [])),
      ),
  )
}

async function previewTask(
  request: OperationRequest,
  platform: Platform,
  task: JsonObject,
): Promise<JsonObject> {
  const objection = await nameObjection(request, platform, task)
  if (objection !== undefined) return refusedHere(platform, objection)
  if (!platform.upstreams.traitsOf('orca').previewsTasks) return checkForm(task)
  const answer = await request.json('orca', {
    method: 'POST',
    path: '/ops/judge',
    body: task,
    headers: submissionType,
  })
  return { engine: 'embedded', ...checkObject(answer, 'orca') }
}

async function nameObjection(
  request: OperationRequest,
  platform: Platform,
  task: JsonObject,
): Promise<string | undefined> {
  try {
    for (const name of applicationsCreatedBy(task)) await checkNewName(request, platform, name)
    return undefined
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'BAD_ARGUMENT') return error.message
    throw error
  }
}

function refusedHere({ upstreams }: Platform, message: string): JsonObject {
  const engine = upstreams.traitsOf('orca').previewsTasks ? 'embedded' : 'external'
  return { engine, decision: 'refused', objections: [{ message }], open: [], effects: [] }
}

function checkForm(task: JsonObject): JsonObject {
  const { error } = TaskRequest.safeParse(task)
  const objections =
    error?.issues.map((issue) => ({
      message: `"${issue.path.join('.')}": ${describeIssue(issue)}.`,
    })) ?? []
  const open = [
    {
      message:
        'The external Orca judges the rest when the task runs: Fairlead has judged the rights and the form.',
    },
  ]
  return {
    engine: 'external',
    decision: objections.length > 0 ? 'refused' : 'depends',
    objections,
    open,
    effects: [],
  }
}

/**
 * Applications that exist may keep their names. The one of plugins gives rights on all of them to its first owner.
 *
 * @throws {GatewayError} BAD_ARGUMENT, PERMISSION_DENIED
 */
async function checkNewName(
  request: OperationRequest,
  platform: Platform,
  name: string,
): Promise<void> {
  const objection = findApplicationNameObjection(name)
  const isReserved = foldName(name) === pluginApplication
  if (
    (objection === undefined && !isReserved) ||
    (await applicationExists(request.call, name)) === true
  )
    return
  if (objection !== undefined) {
    const message = `The application name ${quoteName(name)} ${objection}. Choose letters, digits, hyphens and underscores.`
    throw new GatewayError('BAD_ARGUMENT', message)
  }
  await requireAdministrator(request.state, platform, 'everybody')
}

function changesApplication({ job }: JsonObject): boolean {
  return objectsOf(job).some(({ type }) =>
    /^(create|update|upsert|delete)Application$/.test(String(type)),
  )
}

async function cancelSeveral(request: OperationRequest): Promise<void> {
  const ids = (request.query['ids'] as string[]).filter((id) => id.trim() !== '')
  const [first] = ids
  if (first === undefined)
    throw new GatewayError('MISSING_PARAMETER', 'The query parameter "ids" names no task.')
  await learnApplication(request, 'tasks', first)
  checkDone(await request.call('orca', { method: 'PUT', path: '/tasks/cancel', body: ids }), 'orca')
}

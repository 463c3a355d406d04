/**
 * `createApplication`, `updateApplication`, `upsertApplication`: all three create or update an application.
 * @see docs/contracts/orchestration.md#jobs
 */
import { pathTo } from '../../../http/encode-path.ts'
import { isObject, type JsonObject } from '../../../json/values.ts'
import { describePermissionsProblem } from '../../rights/application-permissions.ts'
import { StageError } from '../machine/failure.ts'
import { brokenNameRules } from './application-names.ts'
import type { StageType, TaskContext, TaskResult } from './stage-type.ts'

const retryPauseMs = 10_000
const oneHourMs = 3600 * 1000

export const upsertApplicationStages: readonly StageType[] = ['createApplication', 'updateApplication', 'upsertApplication'].map(
  (type) => ({
    type,
    steps: [{ name: type, execute: upsertApplication, judge: judgeApplication, pollMs: retryPauseMs, timeoutMs: oneHourMs }],
  }),
)

async function upsertApplication(context: TaskContext): Promise<TaskResult> {
  const { permissions, ...application } = checkApplication(context.stage.context['application'])
  const { name } = application
  const path = pathTo`/v2/applications/${name}`
  const found = await context.call('front50', { method: 'GET', path }, [404])
  const isNew = found.status === 404
  // A repeated run of this step remembers what was there before its first one.
  const previousState = context.stage.context['previousState'] ?? (isNew ? {} : found.body)
  await context.call(
    'front50',
    isNew ? { method: 'POST', path: '/v2/applications', body: application } : { method: 'PATCH', path, body: application },
  )
  if (permissions !== undefined || isNew) {
    const body = { name, permissions: permissions ?? {} }
    await context.call('front50', { method: 'PUT', path: pathTo`/permissions/applications/${name}`, body })
  }
  return {
    status: 'SUCCEEDED',
    context: {
      'notification.type': 'upsertapplication',
      'application.name': name,
      previousState,
      newState: { ...application, permissions },
    },
  }
}

async function judgeApplication({ stage }: TaskContext): Promise<undefined> {
  checkApplication(stage.context['application'])
}

/** @throws {StageError} with a text for everything that is wrong with it. */
function checkApplication(application: unknown): JsonObject & { name: string } {
  if (!isObject(application)) throw new StageError(['The job needs an "application", an object with "name" and "email".'])
  const name = typeof application['name'] === 'string' ? application['name'].trim() : ''
  if (name === '') throw new StageError(['The application needs a name.'])
  const broken = brokenNameRules(name, application['cloudProviders'])
  if (broken.length > 0) throw new StageError(broken)
  // Later, the application would exist already, open to all users.
  const problem = describePermissionsProblem(application['permissions'])
  if (problem !== undefined) throw new StageError([problem])
  return { ...application, name }
}

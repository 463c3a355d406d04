/** Starts of pipelines: stored, given in the body, or through the event service. */
import { randomUUID } from 'node:crypto'
import { GatewayError } from '@fairlead/base/errors.ts'
import { AnyObject, maybeText, Ref, submitted } from '@fairlead/base/json/schemas.ts'
import { asGiven, shape } from '@fairlead/base/json/shape.ts'
import {
  isObject,
  isTrue,
  type JsonObject,
  listOf,
  objectOf,
  parseObject,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { describeIssue } from '@fairlead/base/settings/describe-issue.ts'
import { createUlid } from '@fairlead/base/storage/ulid.ts'
import { PipelineModel } from '@fairlead/model/environments/pipeline-models.ts'
import {
  describeOtherValues,
  describeParameterProblem,
} from '@fairlead/model/stage-types/check-parameters.ts'
import { z } from 'zod'
import { type UpstreamAnswer, upstreamFailed } from '../../upstreams/answer-form.ts'
import { checkMayExecute, isDecided } from '../access/application-access.ts'
import { findDefinition } from '../access/find-definition.ts'
import { operationsWith, post } from '../declare.ts'
import { startsByEvent, startsGiven, startsStored } from '../demands.ts'
import { StartRequest } from '../models/executions.ts'
import { DirectAnswer, type Operation, type OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { readObject } from '../upstream-shape.ts'
import { displayedUser, usernameOf, withDisplayedUser } from './caller.ts'
import { withWarnings } from './findings.ts'

const StartTrigger = z.looseObject({
  user: z.string().nullish(),
  parameters: AnyObject.nullish(),
  notifications: z.array(z.unknown()).nullish(),
})
type StartTrigger = z.infer<typeof StartTrigger>

const orPlan =
  ' With `"plan": true`, nothing starts: status 200 has the definition as it would run, and 400 its faults. With `"dryRun": true`, ' +
  'an execution starts whose stages call and change nothing.'

const startErrors = {
  400: 'A required parameter of the pipeline has no value.',
  403: 'The caller may not execute pipelines of the application.',
  404: 'No definition has that name or id.',
}

const start = operationsWith({ core: true, answer: Ref })

export const pipelineStartOperations: Operation[] = [
  start.post(
    'invokePipelineConfigUsingPOST',
    '/applications/{application}/pipelineConfigs/{pipelineName}',
    'Start a pipeline (older address)',
    {
      demands: startsStored('pipelineName'),
      description: `Starts a stored pipeline by name or id; the older address of POST /pipelines/{application}/{pipelineNameOrId}.${orPlan}`,
      query: { user: maybeText.describe('Accepted and ignored.') },
      body: { schema: AnyObject, shown: StartRequest, required: false },
      handle: (request, platform) =>
        startStored(request, platform, request.path['pipelineName'] as string, 200),
      errors: startErrors,
    },
  ),
  post(
    'invokePipelineConfigUsingPOST1',
    '/pipelines/{application}/{pipelineNameOrId}',
    'Start a pipeline',
    {
      core: true,
      demands: startsStored('pipelineNameOrId'),
      description: `Starts a stored pipeline by name or id. The body is its trigger, or an object with the one field \`trigger\`. The header \`X-Fairlead-Warnings\` names values that are none of the options of their parameter.${orPlan}`,
      body: { schema: AnyObject, shown: StartRequest, required: false },
      handle: (request, platform) =>
        startStored(request, platform, request.path['pipelineNameOrId'] as string),
      ...submitted,
      errors: startErrors,
    },
  ),
  start.post('startUsingPOST', '/pipelines/start', 'Start a given definition', {
    demands: startsGiven,
    description: `Starts a pipeline from the complete definition in the body, its trigger included.${orPlan}`,
    body: { schema: AnyObject, shown: PipelineModel, required: true },
    handle: startGiven,
    errors: { 403: startErrors[403] },
  }),
  post(
    'invokePipelineConfigViaEchoUsingPOST',
    '/pipelines/v2/{application}/{pipelineNameOrId}',
    'Start a pipeline in the background',
    {
      demands: startsByEvent,
      description: `Starts a stored pipeline in the background. The execution appears under the id in \`ref\` shortly after.${orPlan}`,
      body: { schema: AnyObject, shown: StartRequest, required: false },
      handle: startByEvent,
      success: 202,
      answer: z.object({
        eventId: z.uuid(),
        ref: z.string().describe('/pipelines/{execution id}'),
      }),
      errors: { 403: 'The caller lacks EXECUTE on the application.' },
    },
  ),
]

async function startStored(
  request: OperationRequest,
  platform: Platform,
  nameOrId: string,
  status = 202,
): Promise<unknown> {
  const application = request.path['application'] as string
  request.state.application = application
  const { plan, trigger } = toStart(request)
  const prefix = `Pipeline "${nameOrId}" of ${application} could not be started: `
  const started = await withPrefix(prefix, () => startOfApplication(request, platform, nameOrId))
  if (started !== undefined) {
    const { warnings, ...answer } = started
    return withWarnings(textsOf(warnings), answer, status)
  }
  const definition = await withPrefix(prefix, () => findDefinition(request, application, nameOrId))
  await checkMayExecute(request, platform, String(definition['application'] ?? application))
  const parameters = trigger.parameters ?? {}
  const problem = describeParameterProblem(definition, parameters)
  if (problem !== undefined) throw new GatewayError('BAD_ARGUMENT', problem)
  return withPrefix(prefix, async () => {
    const body = {
      ...definition,
      trigger,
      ...addNotifications(definition, trigger),
      ...(plan && { plan }),
    }
    const answer = readObject(
      await request.call('orca', {
        method: 'POST',
        path: '/orchestrate',
        query: { user: trigger.user },
        body,
      }),
      'orca',
    )
    if (plan) return new DirectAnswer(200, answer)
    return withWarnings(describeOtherValues(definition, parameters), answer, status)
  })
}

/**
 * With one call, where the engine reads definitions itself: it starts one of exactly the application that the caller may execute.
 * Undefined: all others, and what is wrong with them.
 */
async function startOfApplication(
  request: OperationRequest,
  platform: Platform,
  nameOrId: string,
): Promise<JsonObject | undefined> {
  const application = request.path['application'] as string
  const { plan, trigger } = toStart(request)
  const { upstreams } = platform
  const startsStored = (['front50', 'orca'] as const).every(
    (service) => upstreams.traitsOf(service).startsStored,
  )
  if (!startsStored || plan || trigger.notifications.length > 0) return undefined
  const mayExecute = checkMayExecute(request, platform, application).then(
    () => true,
    () => false,
  )
  if (!(await mayExecute)) return undefined
  const answer = await request.call('orca', {
    method: 'POST',
    path: pathTo`/orchestrate/${application}/${nameOrId}`,
    query: { user: trigger.user },
    body: trigger,
  })
  return answer.status === 404 ? undefined : readObject(answer, 'orca')
}

/** Starts that change nothing: `plan` asks for the definition as it would run, `dryRun` for stages that do nothing. */
interface StartMode {
  readonly plan: boolean
  readonly body: JsonObject
}

export function startModeOf(given: JsonObject): StartMode {
  const { plan, body } = takePlan(given)
  const { dryRun, ...rest } = body
  return {
    plan,
    body: isTrue(dryRun)
      ? { ...rest, trigger: { ...objectOf(rest['trigger']), dryRun: true } }
      : body,
  }
}

function takePlan(given: JsonObject): StartMode {
  const { plan, ...body } = given
  const { plan: inner, ...trigger } = objectOf(body['trigger'])
  if (isTrue(inner)) return { plan: true, body: { ...body, trigger } }
  return isTrue(plan) ? { plan: true, body } : { plan: false, body: given }
}

interface StoredStart {
  readonly plan: boolean
  readonly trigger: StartTrigger & { user: string; notifications: unknown[] }
}

function toStart(request: OperationRequest): StoredStart {
  const { plan, body } = takePlan((request.body ?? {}) as JsonObject)
  const given = Object.keys(body).length === 1 && isObject(body['trigger']) ? body['trigger'] : body
  const checked = StartTrigger.safeParse(given)
  if (!checked.success) {
    const [issue] = checked.error.issues as [z.core.$ZodIssue]
    throw new GatewayError(
      'UNREADABLE_BODY',
      `"${issue.path.join('.')}" of the trigger is not usable: ${describeIssue(issue)}.`,
    )
  }
  const { user, notifications } = checked.data
  return {
    plan,
    trigger: { ...given, user: displayedUser(request, user), notifications: notifications ?? [] },
  }
}

function addNotifications(
  definition: JsonObject,
  trigger: { notifications: unknown[] },
): JsonObject {
  if (trigger.notifications.length === 0) return {}
  return { notifications: [...listOf(definition['notifications']), ...trigger.notifications] }
}

async function withPrefix<T>(prefix: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    throw new GatewayError(error.code, prefix + error.message, {
      ...error.details,
      status: error.status,
    })
  }
}

async function startGiven(request: OperationRequest, platform: Platform): Promise<unknown> {
  const { plan, body: definition } = startModeOf(request.body as JsonObject)
  if (typeof definition['application'] === 'string')
    request.state.application = definition['application']
  await checkMayStart(request, platform, definition)
  const answer = await request.call('orca', {
    method: 'POST',
    path: '/orchestrate',
    query: { user: usernameOf(request) },
    body: withDisplayedUser(request, plan ? { ...definition, plan } : definition),
  })
  if (answer.status === 400 && definition['type'] === 'templatedPipeline')
    throw templateRefused(answer)
  return readObject(answer, 'orca')
}

const toStarted = shape({
  application: asGiven,
  config: shape({ pipeline: shape({ application: asGiven }) }),
})

/** A templated pipeline may name its application twice, and the inner one counts: both are checked. */
async function checkMayStart(
  request: OperationRequest,
  platform: Platform,
  definition: JsonObject,
): Promise<void> {
  if (!isDecided(platform)) return
  const { application: outer, config } = toStarted(definition)
  const applications = [outer, config.pipeline.application].filter((name) => name !== undefined)
  if (applications.length === 0)
    throw new GatewayError('BAD_ARGUMENT', 'Name the application of the pipeline in "application".')
  for (const application of applications.map(String)) {
    // The orchestrator would replace it after the check.
    if (application.includes('${'))
      throw new GatewayError(
        'BAD_ARGUMENT',
        'Name the application in plain text, without expressions.',
      )
    await checkMayExecute(request, platform, application)
  }
}

/** Everything that the orchestrator says about a template is for its author, who reads it from the error itself. */
function templateRefused(answer: UpstreamAnswer): GatewayError {
  const { code, message, details } = upstreamFailed('orca', answer)
  const fields = parseObject(answer.text)
  return new GatewayError(code, message, fields === undefined ? details : { ...details, fields })
}

/**
 * Whether the pipeline exists is not asked: the event service finds it, and reports nothing if it does not.
 *
 * @see docs/contracts/events.md#manual-starts
 */
async function startByEvent(request: OperationRequest, platform: Platform): Promise<unknown> {
  const { application, pipelineNameOrId } = request.path as {
    application: string
    pipelineNameOrId: string
  }
  if (takePlan((request.body ?? {}) as JsonObject).plan)
    return startStored(request, platform, pipelineNameOrId)
  const eventId = randomUUID()
  const executionId = createUlid(Date.now())
  request.state.application = application
  const trigger = { ...(request.body as object | undefined), eventId, executionId }
  const content = { application, pipelineNameOrId, user: usernameOf(request), trigger }
  await request.json('echo', {
    method: 'POST',
    path: '/',
    body: { details: { type: 'manual' }, eventId, content },
  })
  return { eventId, ref: `/pipelines/${executionId}` }
}

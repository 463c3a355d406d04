/** `webhook`: calls an address, and follows the work that it starts (docs/contracts/orchestration.md#webhook-stages). */
import http from 'node:http'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import {
  fieldAt,
  isObject,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  objectsOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import { CallError } from '@fairlead/base/net/call.ts'
import type { OutsideAnswer, OutsideRequest } from '@fairlead/base/outside/call-outside.ts'
import { isReadMethod } from '@fairlead/base/telemetry/methods.ts'
import { webhook } from '@fairlead/model/stage-types/control.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { findPathProblem, valueAt } from '../../pipelines/json-path.ts'
import { bindExpected } from '../artifact-binding.ts'
import { distinctArtifacts } from '../artifacts-at-hand.ts'
import { failureRecord, StageError } from '../machine/failure.ts'
import { passedMs } from '../machine/timeout.ts'
import { repeatedKey, type Stage } from '../model.ts'
import { maskCopies } from '../secrets.ts'
import { expectsArtifacts } from './manifests/produced-artifacts.ts'
import type { StageType, Step, TaskContext, TaskResult } from './stage-type.ts'

const minuteMs = 60_000
const callPauseMs = 10_000
const defaultFailFast = [504]
/** Values of a response that a path may look at. */
const maxPathSteps = 100_000

const create: Step = {
  name: 'createWebhook',
  execute: callWebhook,
  isUnrecognized: true,
  pollMs: callPauseMs,
  timeoutMs: 5 * minuteMs,
  timeoutFollowsStage: true,
}
const pause: Step = { name: 'waitBeforeMonitorWebhook', decide: waitBeforeMonitor }
const monitor: Step = {
  name: 'monitorWebhook',
  execute: monitorWebhook,
  timeoutMs: 60 * minuteMs,
  timeoutFollowsStage: true,
}
const bind: Step = { name: 'bindProducedArtifacts', decide: bindArtifacts }

export const webhookStage = {
  type: 'webhook',
  steps: [create, pause, monitor, bind],
  chooseSteps({ context }) {
    const { waitForCompletion, monitorOnly, waitBeforeMonitor } = settingsOf(context)
    return [
      ...(monitorOnly ? [] : [create]),
      ...(waitForCompletion && waitBeforeMonitor > 0 ? [pause] : []),
      ...(waitForCompletion || monitorOnly ? [monitor] : []),
      ...(expectsArtifacts(context) ? [bind] : []),
    ]
  },
  forgets: ['webhook', 'statusEndpoint', 'waitBeforeMonitorSince', repeatedKey],
  onCancel: cancelWebhook,
} satisfies StageType

function settingsOf(context: JsonObject) {
  return readFields(webhook.fields, context)
}

type WebhookCallSettings = ReturnType<typeof settingsOf>

/** What the steps note in the context, as clients read it. */
const toNotes = shape({
  webhook: objectOf,
  statusEndpoint: textOf,
  waitBeforeMonitorSince: numberOf,
})
const toCall = shape({ statusEndpoint: textOf, body: toAny, monitor: objectOf })
const toMonitor = shape({ pastStatusCodes: listOf, body: toAny, answersNotUnderstood: countOf })

function countOf(value: unknown): number {
  return numberOf(value) ?? 0
}

function toAny(value: unknown): unknown {
  return value
}

async function callWebhook(context: TaskContext): Promise<TaskResult> {
  const settings = settingsOf(context.stage.context)
  const { url, payload } = settings
  if (url === undefined) throw new StageError(['The webhook has no address: set "url".'])
  const method = settings.method.toUpperCase()
  const answer = await attempt(context, { method, url, payload })
  if ('fault' in answer) return callFailed(method, answer)
  const body = parseBody(answer.text)
  const called = shownAnswer(answer, body)
  const outcome = outcomeOf(settings, answer.status)
  if (outcome === 'again') return { status: 'RUNNING', context: { webhook: called } }
  if (outcome === 'failed')
    return failed(called, `The webhook answered with status ${answer.status}.`)
  if (!settings.waitForCompletion)
    return { status: 'SUCCEEDED', context: { webhook: called }, outputs: { webhook: called } }
  const statusEndpoint = statusEndpointOf(settings, { url, answer, body })
  const unknown =
    'The response of the webhook names no status address; check statusUrlResolution and statusUrlJsonPath.'
  if (statusEndpoint === undefined) return failed(called, unknown)
  return {
    status: 'SUCCEEDED',
    context: { webhook: { ...called, statusEndpoint }, statusEndpoint },
  }
}

interface CallTarget {
  readonly method: string
  readonly url: string
  readonly payload: unknown
}

/** An answer, or why there is none. The values of secrets are in the call alone. */
async function attempt(
  { callOutside, reveal, stage }: TaskContext,
  target: CallTarget,
): Promise<OutsideAnswer | CallError> {
  const { customHeaders } = settingsOf(stage.context)
  const { value, secrets } = await reveal({
    customHeaders,
    ...target,
    payload: parsedPayload(target.payload),
  })
  try {
    const answer = await callOutside(requestOf(value))
    const { status, headers, text } =
      secrets.length === 0 ? answer : maskCopies({ ...answer, bytes: '' }, secrets)
    return { status, headers, text, bytes: answer.bytes }
  } catch (error) {
    if (error instanceof CallError)
      return new CallError(error.fault, maskCopies(error.message, secrets))
    throw error
  }
}

/** A payload may be the text of JSON, whose values are references as well. */
function parsedPayload(payload: unknown): unknown {
  if (typeof payload !== 'string' || !/^\s*[[{]/.test(payload) || !payload.includes('secret:'))
    return payload
  return parseBody(payload)
}

/** Unknown hosts, and silence on a GET, may pass; a POST that may have arrived is not sent again. */
function callFailed(method: string, error: CallError): TaskResult {
  const webhook = { error: error.message }
  const mayPass = error.fault === 'unknown-host' || (error.fault === 'timeout' && method === 'GET')
  return mayPass ? { status: 'RUNNING', context: { webhook } } : failed(webhook, error.message)
}

function failed(webhook: JsonObject, message: string): TaskResult {
  const exception = failureRecord('WebhookFailed', [message])
  return { status: 'TERMINAL', context: { webhook: { ...webhook, error: message }, exception } }
}

/** Leaves out headers that would speak for the engine. */
export function headersOf(customHeaders: JsonObject): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(customHeaders)) {
    if (/^x-spinnaker-/i.test(name)) continue
    headers[name.toLowerCase()] = Array.isArray(value) ? value.map(String) : String(value)
  }
  return headers
}

function requestOf({
  method,
  url,
  payload,
  customHeaders,
}: CallTarget & { readonly customHeaders: JsonObject }): OutsideRequest {
  const headers = headersOf(customHeaders)
  const hasBody =
    payload !== undefined && payload !== null && payload !== '' && !isReadMethod(method)
  if (hasBody && headers['content-type'] === undefined) headers['content-type'] = 'application/json'
  return {
    method,
    url,
    headers,
    body: hasBody ? bodyOf(payload, [headers['content-type']].flat()[0] ?? '') : undefined,
  }
}

/** @throws {StageError} for fields that the content type has no form for */
function bodyOf(payload: unknown, contentType: string): string {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(contentType)
  const fields = isForm && typeof payload === 'string' ? parseBody(payload) : payload
  if (isForm && isObject(fields)) return formOf(fields).toString()
  if (typeof payload === 'string') return payload
  if (/^multipart\/|[/+]xml\b/i.test(contentType))
    throw new StageError([
      `The payload is JSON, but its content type is ${contentType}: write the payload as a text of that type, or leave the header Content-Type out.`,
    ])
  return formatJson(payload)
}

/** A list is a field several times. */
function formOf(fields: JsonObject): URLSearchParams {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const each of Array.isArray(value) ? value : [value]) {
      const isText = typeof each === 'string'
      if (each !== null && each !== undefined) form.append(name, isText ? each : formatJson(each))
    }
  return form
}

function outcomeOf(settings: WebhookCallSettings, status: number): 'good' | 'again' | 'failed' {
  if (status >= 200 && status < 400) return 'good'
  const failFast = codesOf(settings.failFastStatusCodes) ?? defaultFailFast
  if (failFast.includes(status)) return 'failed'
  return isPassing(status, settings.webhookRetryStatusCodes) ? 'again' : 'failed'
}

/** @param further Status codes after which a call is repeated, too */
function isPassing(status: number, further: unknown): boolean {
  return status === 429 || status >= 500 || codesOf(further)?.includes(status) === true
}

function codesOf(value: unknown): number[] | undefined {
  return Array.isArray(value) ? value.map(Number) : undefined
}

/** Whether the status is asked of the address of the webhook itself. */
export function callsOwnAddress(context: JsonObject): boolean {
  return settingsOf(context).statusUrlResolution === 'getMethod'
}

function statusEndpointOf(
  { statusUrlResolution, statusUrlJsonPath }: WebhookCallSettings,
  { url, answer, body }: { url: string; answer: OutsideAnswer; body: unknown },
): string | undefined {
  if (statusUrlResolution === 'getMethod') return url
  const isHeader = statusUrlResolution === 'locationHeader'
  const found = isHeader ? answer.headers['location'] : jsonAt(body, statusUrlJsonPath)
  return typeof found === 'string' && found !== '' ? URL.parse(found, url)?.href : undefined
}

function waitBeforeMonitor({ execution, stage, now }: TaskContext): TaskResult {
  const { waitBeforeMonitorSince = now } = toNotes(stage.context)
  const { waitBeforeMonitor: seconds } = settingsOf(stage.context)
  const remainingMs = seconds * 1000 - passedMs(execution, waitBeforeMonitorSince, now)
  const context = { waitBeforeMonitorSince }
  return remainingMs <= 0
    ? { status: 'SUCCEEDED', context }
    : { status: 'RUNNING', context, pollMs: remainingMs }
}

async function monitorWebhook(context: TaskContext): Promise<TaskResult> {
  const { stage, now } = context
  const settings = settingsOf(stage.context)
  const url = monitoredUrl(stage, settings)
  if (url === undefined)
    throw new StageError(['The webhook has no status address: set "statusEndpoint".'])
  const { webhook: called } = toNotes(stage.context)
  const before = toCall(called).monitor
  const elapsedMs = now - (stage.startTime ?? now)
  const again = (monitor: JsonObject): TaskResult => ({
    status: 'RUNNING',
    context: { webhook: { ...called, monitor: { ...before, ...monitor } } },
    pollMs: elapsedMs < minuteMs ? 1000 : 15_000,
  })
  const answer = await attempt(context, { method: 'GET', url, payload: undefined })
  if ('fault' in answer) {
    return answer.fault === 'forbidden' || answer.fault === 'failed'
      ? failed({ ...called, monitor: { error: answer.message } }, answer.message)
      : again({ error: answer.message })
  }
  const pastStatusCodes = [...toMonitor(before).pastStatusCodes, answer.status].slice(-100)
  const body = parseBody(answer.text)
  const seen = { ...shownAnswer(answer, body), pastStatusCodes, ...progressOf(settings, body) }
  if (isPolledAgain(settings, answer.status, pastStatusCodes)) return again(seen)
  if (answer.status >= 400)
    return failed(
      { ...called, monitor: seen },
      `The status address answered with status ${answer.status}.`,
    )
  const path = settings.statusJsonPath
  if (path === undefined) return ended('SUCCEEDED', called, seen)
  const value = statusAt(body, path)
  // A number is a percentage, unless the author names it as a status.
  const isNamed = hasLists(settings) && statusOf(settings, value) !== 'RUNNING'
  const percentage = typeof value === 'boolean' || isNamed ? undefined : numberOf(value)
  if (percentage !== undefined) {
    const shown = { ...seen, ...understood, percentComplete: percentage, resolvedValue: percentage }
    return percentage === 100 ? ended('SUCCEEDED', called, shown) : again(shown)
  }
  const status = statusOf(settings, value)
  const shown = { ...seen, ...understood, resolvedValue: value }
  if (status !== 'RUNNING') return ended(status, called, shown)
  const notUnderstood = describeNotUnderstood(settings, value)
  if (notUnderstood === undefined) return again(shown)
  const answers = toMonitor(before).answersNotUnderstood + 1
  const error = answers < answersBeforeError ? undefined : notUnderstood
  return again({ ...shown, answersNotUnderstood: answers, error })
}

const answersBeforeError = 3
const understood = { answersNotUnderstood: undefined, error: undefined }

/** A status may come as bare text, and a path that may find several values has found one. */
function statusAt(body: unknown, path: string): unknown {
  if (typeof body === 'string') return body.trim()
  const value = jsonAt(body, path)
  return Array.isArray(value) && value.length === 1 ? value[0] : value
}

/** What the answers lack, for the author of the stage; undefined: work that is under way looks like this. */
function describeNotUnderstood(
  { statusJsonPath, ...lists }: WebhookCallSettings,
  value: unknown,
): string | undefined {
  if (value === undefined || value === null)
    return `statusJsonPath "${statusJsonPath}" finds nothing in the response. Compare it with "body" of this stage.`
  if (typeof value === 'object')
    return `statusJsonPath "${statusJsonPath}" finds ${Array.isArray(value) ? 'a list' : 'an object'}, and no status. Let it lead to a text or a number.`
  return hasLists(lists)
    ? undefined
    : `The status "${shorten(String(value))}" ends nothing. Name those that do in successStatuses, canceledStatuses and terminalStatuses.`
}

function monitoredUrl(
  { context }: Stage,
  { monitorOnly, statusUrlResolution, url, statusEndpoint }: WebhookCallSettings,
) {
  const own = monitorOnly || statusUrlResolution !== 'getMethod' ? undefined : url
  return own ?? statusEndpoint ?? toCall(toNotes(context).webhook).statusEndpoint ?? url
}

/** @param pastStatusCodes The last one included */
function isPolledAgain(
  { retries, retryStatusCodes }: WebhookCallSettings,
  status: number,
  pastStatusCodes: readonly unknown[],
): boolean {
  const maxRetries = numberOf(fieldAt(retries, String(status), 'maxAttempts'))
  if (maxRetries !== undefined)
    return pastStatusCodes.filter((code) => code === status).length <= maxRetries
  return isPassing(status, retryStatusCodes)
}

function ended(
  status: 'SUCCEEDED' | 'CANCELED' | 'TERMINAL',
  called: JsonObject,
  monitor: JsonObject,
): TaskResult {
  const whole = { ...called, monitor }
  if (status === 'TERMINAL')
    return failed(
      whole,
      `The work that the webhook started ended with "${String(monitor['resolvedValue'])}".`,
    )
  return { status, context: { webhook: whole }, outputs: { webhook: whole } }
}

function statusOf(
  settings: WebhookCallSettings,
  value: unknown,
): 'SUCCEEDED' | 'CANCELED' | 'TERMINAL' | 'RUNNING' {
  const wanted = String(value).trim().toLowerCase()
  const isIn = (list = '') =>
    wanted !== '' &&
    list
      .toLowerCase()
      .split(',')
      .some((each) => each.trim() === wanted)
  const lists = hasLists(settings) ? settings : usualStatuses
  if (isIn(lists.successStatuses)) return 'SUCCEEDED'
  if (isIn(lists.canceledStatuses)) return 'CANCELED'
  return isIn(lists.terminalStatuses) ? 'TERMINAL' : 'RUNNING'
}

type StatusLists = Pick<
  WebhookCallSettings,
  'successStatuses' | 'canceledStatuses' | 'terminalStatuses'
>

/** Applies to stages that name no status at all. */
const usualStatuses: StatusLists = {
  successStatuses: 'SUCCEEDED,SUCCESS',
  canceledStatuses: 'CANCELED,CANCELLED',
  terminalStatuses: 'TERMINAL,FAILED,FAILURE',
}

function hasLists({ successStatuses, canceledStatuses, terminalStatuses }: StatusLists): boolean {
  return [successStatuses, canceledStatuses, terminalStatuses].some(
    (list) => (list ?? '').trim() !== '',
  )
}

function progressOf({ progressJsonPath }: WebhookCallSettings, body: unknown): JsonObject {
  const message = jsonAt(body, progressJsonPath)
  return message === undefined ? {} : { progressMessage: String(message) }
}

function jsonAt(body: unknown, path: string | undefined): unknown {
  if (path === undefined) return undefined
  const problem = findPathProblem(path)
  if (problem !== undefined) throw new StageError([`The path "${shorten(path)}" ${problem}.`])
  let steps = 0
  return valueAt(body, path, (count) => {
    steps += count
    if (steps > maxPathSteps)
      throw new StageError([`The path "${path}" looks at too many values of the response.`])
  })
}

async function cancelWebhook(context: TaskContext): Promise<void> {
  const {
    cancelEndpoint: url,
    cancelMethod,
    cancelPayload: payload,
  } = settingsOf(context.stage.context)
  if (url === undefined) return
  const answer = await attempt(context, { method: cancelMethod.toUpperCase(), url, payload })
  if ('fault' in answer && answer.fault !== 'forbidden') throw answer
}

/** Artifacts that the response names, bound to those that the stage expects. */
function bindArtifacts({ stage }: TaskContext): TaskResult {
  const { monitor, body } = toCall(toNotes(stage.context).webhook)
  const received =
    [toMonitor(monitor).body, body]
      .map((each) => objectOf(each)['artifacts'])
      .find(Array.isArray) ?? []
  const expected = objectsOf(stage.context['expectedArtifacts'])
  const resolved = bindExpected(expected, {
    among: received,
    isUnique: true,
    missing: 'The webhook has returned no artifact',
  })
  const artifacts = distinctArtifacts([
    ...received,
    ...resolved.map(({ boundArtifact }) => boundArtifact),
  ])
  const bound = { artifacts, resolvedExpectedArtifacts: resolved }
  return { status: 'SUCCEEDED', context: bound, outputs: bound }
}

function shownAnswer({ status, headers }: OutsideAnswer, body: unknown): JsonObject {
  return { statusCode: statusName(status), statusCodeValue: status, body, headers: { ...headers } }
}

/** Spring's name: `NOT_FOUND`. */
function statusName(status: number): string {
  return (http.STATUS_CODES[status] ?? String(status)).toUpperCase().replace(/[^A-Z0-9]+/g, '_')
}

function parseBody(text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    const value = parseJson(text)
    // Some servers quote the JSON that they send.
    return typeof value === 'string' && /^\s*[[{]/.test(value) ? parseJson(value) : value
  } catch {
    return text
  }
}

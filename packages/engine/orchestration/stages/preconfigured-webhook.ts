/** Kinds of webhooks that the configuration adds; what it fixes wins over the stage. */
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  fieldOf,
  isObject,
  type JsonObject,
  objectOf,
} from '@fairlead/base/json/values.ts'
import { type CallOutside, hrefOf } from '@fairlead/base/outside/call-outside.ts'
import { fixedOrigins, type PreconfiguredWebhook } from '@fairlead/base/outside/settings.ts'
import { stageDescriptions } from '@fairlead/model/stage-types/all.ts'
import {
  object,
  parameterFields,
  type StageDescription,
} from '@fairlead/model/stage-types/description.ts'
import { executionScope } from '../expressions/scopes.ts'
import { type EvaluationPlace, withSummary } from '../expressions/stage-evaluation.ts'
import { type ExpressionSummary, evaluateTree } from '../expressions/template.ts'
import { maskCopies, secretsOfSettings } from '../secrets.ts'
import type { StageType, Step, TaskContext, TaskResult } from './stage-type.ts'
import { callsOwnAddress, webhookStage } from './webhook.ts'

export function preconfiguredWebhookStage(webhook: PreconfiguredWebhook): StageType {
  const fixed = fixedSettings(webhook)
  const complete = <Run extends Pick<TaskContext, 'stage'>>(run: Run, settings = fixed): Run => {
    const parameterValues = valuesOf(run.stage.context, webhook)
    const context = { ...run.stage.context, ...settings, parameterValues }
    return { ...run, stage: { ...run.stage, context } }
  }
  const callOutsideFor = ({ callOutside }: TaskContext): CallOutside => {
    const trusted = fixedOrigins(webhook)
    const own = new Set(Object.keys(webhook.customHeaders ?? {}).map((name) => name.toLowerCase()))
    return (request) => {
      if (trusted.has(URL.parse(hrefOf(request.url))?.origin)) return callOutside(request)
      return callOutside({
        ...request,
        headers: Object.fromEntries(
          Object.entries(request.headers).filter(([name]) => !own.has(name)),
        ),
      })
    }
  }
  const confine = (context: TaskContext, settings: JsonObject): TaskContext => ({
    ...complete(context, settings),
    callOutside: callOutsideFor(context),
  })
  const evaluated = (context: TaskContext) =>
    evaluateSettings(fixed, { ...context, stage: complete(context, {}).stage })
  const completeStep = (step: Step): Step =>
    'execute' in step
      ? {
          ...step,
          execute: async (context) => {
            const { value: settings, summary } = evaluated(context)
            const result = await step.execute(confine(context, settings))
            const shown = withoutFixed(result, settings)
            return {
              ...shown,
              context: { ...shown.context, ...withSummary(context.stage, summary) },
            }
          },
        }
      : { ...step, decide: (context) => step.decide(complete(context)) }
  return {
    ...webhookStage,
    type: webhook.type,
    description: describePreconfigured(webhook),
    steps: webhookStage.steps.map(completeStep),
    chooseSteps: (stage) => webhookStage.chooseSteps(complete({ stage }).stage).map(completeStep),
    onCancel: (context) => webhookStage.onCancel(confine(context, evaluated(context).value)),
  }
}

/** What the configuration leaves open, and the parameters. */
function describePreconfigured(webhook: PreconfiguredWebhook): StageDescription {
  const { type, label, description, parameters } = webhook
  const fixed = new Set(
    Object.entries(webhook).flatMap(([name, value]) => (value === undefined ? [] : [name])),
  )
  return {
    type,
    label,
    group: 'Calls',
    use: 'pipeline',
    description,
    fields: [
      object('parameterValues', 'Values of the webhook.', parameterFields(parameters)),
      ...(stageDescriptions.get('webhook')?.fields ?? []).filter(({ name }) => !fixed.has(name)),
    ],
  }
}

/** The server may repeat in its response what the configuration holds and no stage shows. An address in it stays: it is called. */
function withoutFixed(result: TaskResult, settings: JsonObject): TaskResult {
  const shown = maskCopies(result, secretsOfSettings(settings))
  const endpoint = result.context?.['statusEndpoint']
  if (endpoint === undefined || callsOwnAddress(settings)) return shown
  return { ...shown, context: { ...shown.context, statusEndpoint: endpoint } }
}

const toGiven = shape({ parameterValues: objectOf })

function fixedSettings({
  parameters: _parameters,
  type: _type,
  label: _label,
  ...fixed
}: PreconfiguredWebhook): JsonObject {
  return definedOf(fixed)
}

/** What the stage gives, else the default. */
function valuesOf(context: JsonObject, { parameters }: PreconfiguredWebhook): JsonObject {
  const { parameterValues: given } = toGiven(context)
  return Object.fromEntries(
    parameters.map(({ name, defaultValue }) => [name, fieldOf(given, name) ?? defaultValue ?? '']),
  )
}

/** Texts of the configuration are expressions, and see what the stage sees: its parameters as `parameterValues`. */
function evaluateSettings(
  settings: JsonObject,
  place: EvaluationPlace,
): { value: JsonObject; summary: ExpressionSummary } {
  const options = { scope: executionScope(place), now: place.now, meter: place.meter }
  const { value, summary } = evaluateTree(toNamed(settings), { ...options, skip: bodyKeys })
  const bodies = bodyKeys.flatMap((key) => {
    if (settings[key] === undefined) return []
    const body = evaluateBody(toNamed(settings[key]), options)
    Object.assign(summary, body.summary)
    return [[key, body.value] as const]
  })
  return { value: { ...value, ...Object.fromEntries(bodies) }, summary }
}

const bodyKeys = ['payload', 'cancelPayload']

/** In the text of JSON, a value that a parameter brings stays within its quotes. */
function evaluateBody(body: unknown, options: Parameters<typeof evaluateTree>[1]) {
  const parsed = typeof body === 'string' && body.includes('${') ? parsedText(body) : undefined
  if (parsed === undefined) return evaluateTree(body, options)
  const { value, summary } = evaluateTree(parsed, options)
  return { value: formatJson(quotedAs(parsed, value)), summary }
}

function parsedText(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** What stood in quotes is a text, whatever its expression has given. */
function quotedAs(written: unknown, value: unknown): unknown {
  if (typeof written === 'string')
    return typeof value === 'object' && value !== null ? formatJson(value) : String(value)
  if (Array.isArray(written) && Array.isArray(value))
    return written.map((each, at) => quotedAs(each, value[at]))
  if (!isObject(written) || !isObject(value)) return value
  const texts = Object.values(written)
  return Object.fromEntries(
    Object.entries(value).map(([key, member], at) => [key, quotedAs(texts[at], member)]),
  )
}

/** Names with hyphens would be differences. */
function toNamed<T>(value: T): T {
  if (typeof value === 'string')
    return value.replace(/(\$\{\s*parameterValues)\.([\w-]+)(\s*\})/g, "$1['$2']$3") as T
  if (Array.isArray(value)) return value.map(toNamed) as T
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toNamed(each)])) as T
}

/** Kinds of webhooks that the configuration adds; what it fixes wins over the stage. */
import { shape } from '@fairlead/base/json/shape.ts'
import { fieldOf, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { type CallOutside, hrefOf } from '@fairlead/base/outside/call-outside.ts'
import { fixedOrigins, type PreconfiguredWebhook } from '@fairlead/base/outside/settings.ts'
import { stageDescriptions } from '@fairlead/model/stage-types/all.ts'
import {
  object,
  parameterFields,
  type StageDescription,
} from '@fairlead/model/stage-types/description.ts'
import { maskCopies, secretsOfSettings } from '../secrets.ts'
import type { StageType, Step, TaskContext, TaskResult } from './stage-type.ts'
import { callsOwnAddress, webhookStage } from './webhook.ts'

export function preconfiguredWebhookStage(webhook: PreconfiguredWebhook): StageType {
  const complete = <Run extends Pick<TaskContext, 'stage'>>(run: Run): Run => {
    const context = { ...run.stage.context, ...fixedSettings(run.stage.context, webhook) }
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
  const confine = (context: TaskContext): TaskContext => ({
    ...complete(context),
    callOutside: callOutsideFor(context),
  })
  const completeStep = (step: Step): Step =>
    'execute' in step
      ? {
          ...step,
          execute: async (context) =>
            withoutFixed(
              await step.execute(confine(context)),
              fixedSettings(context.stage.context, webhook),
            ),
        }
      : { ...step, decide: (context) => step.decide(complete(context)) }
  return {
    ...webhookStage,
    type: webhook.type,
    description: describePreconfigured(webhook),
    steps: webhookStage.steps.map(completeStep),
    chooseSteps: (stage) => webhookStage.chooseSteps(complete({ stage }).stage).map(completeStep),
    onCancel: (context) => webhookStage.onCancel(confine(context)),
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

/** `${parameterValues.name}` in the fixed texts takes what the stage gives, else the default. */
function fixedSettings(
  context: JsonObject,
  { parameters, type: _type, label: _label, ...fixed }: PreconfiguredWebhook,
): JsonObject {
  const { parameterValues: given } = toGiven(context)
  const values = Object.fromEntries(
    parameters.map(({ name, defaultValue }) => [name, fieldOf(given, name) ?? defaultValue ?? '']),
  )
  const fill = (value: unknown): unknown => {
    if (typeof value === 'string') {
      return value.replace(
        /\$\{\s*parameterValues(?:\.([\w-]+)|\[['"]([^'"\]]+)['"]\])\s*\}/g,
        (text, dotted, quoted) => {
          const filled = fieldOf(values, dotted ?? quoted)
          return filled === undefined ? text : String(filled)
        },
      )
    }
    if (Array.isArray(value)) return value.map(fill)
    return typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, fill(each)]))
      : value
  }
  const settings = Object.fromEntries(
    Object.entries(fixed).filter(([, value]) => value !== undefined),
  )
  return { ...(fill(settings) as JsonObject), parameterValues: values }
}

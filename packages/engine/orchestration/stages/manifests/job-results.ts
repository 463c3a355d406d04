/** Results of a Kubernetes job: the properties that its containers have printed, and why it failed. */
import { fieldOf, isObject, type JsonObject, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import type { JobPlace } from '@fairlead/ports/infrastructure.ts'
import { failureRecord } from '../../machine/failure.ts'
import type { Stage } from '../../model.ts'
import { kubernetes } from '../infrastructure/cloud-context.ts'
import type { TaskContext } from '../stage-type.ts'

/** What the container printed that `propertyFile` names: of the job, else of a pod of it that succeeded. Undefined: nothing. */
export async function loadProperties(context: TaskContext, job: JobPlace, status: JsonObject): Promise<JsonObject | undefined> {
  const container = textOf(context.stage.context['propertyFile'])
  if (container === undefined) return {}
  const own = await context.infrastructure.jobProperties({ ...job, file: container })
  const properties = own ?? (await podProperties(context, job, { container, status }))
  return properties && { ...properties, propertyFileContents: properties }
}

/** The error record of a stage whose job succeeded without them. */
export function describeMissingProperties({ context }: Pick<Stage, 'context'>): JsonObject {
  return failureRecord('PropertiesMissing', [
    `The container "${String(context['propertyFile'])}" of the job printed no properties. Print lines of the form ` +
      'SPINNAKER_PROPERTY_NAME=value, or one of the form SPINNAKER_CONFIG_JSON={…}; or leave out "propertyFile".',
  ])
}

async function podProperties(
  context: TaskContext,
  job: JobPlace,
  { container, status }: { container: string; status: JsonObject },
): Promise<JsonObject | undefined> {
  const pod = objectsOf(status['pods']).find((each) => fieldOf(each['status'], 'phase') === 'Succeeded')
  const name = textOf(pod?.['name'])
  if (name === undefined) return undefined
  return context.infrastructure.podProperties({ ...job, provider: kubernetes, name, container })
}

/** The error record of the stage. */
export function describeJobFailure({ name }: JobPlace, status: JsonObject): JsonObject {
  const shown = textOf(status['name']) ?? name.split(' ').at(-1) ?? name
  const { message, reason, failureDetails } = status
  const parts = [reason, message].flatMap((part) => textOf(part) ?? [])
  const details = describeDetails(failureDetails) ?? describeExit(objectOf(status['completionDetails']))
  return failureRecord('JobFailed', [
    [`Job: '${shown}' failed.`, ...parts, ...(details === undefined ? [] : [details])].join(' '),
  ])
}

/** A sentence, or its parts. */
function describeDetails(details: unknown): string | undefined {
  if (!isObject(details)) return textOf(details)
  const { pod, podName, container, containerName, exitCode } = details
  const [podText, containerText] = [textOf(pod) ?? textOf(podName), textOf(container) ?? textOf(containerName)]
  const ended = exitCode === undefined || exitCode === null || exitCode === '' ? undefined : `exit code ${String(exitCode)}`
  const why = [ended, textOf(details['reason']), textOf(details['message'])].filter((each) => each !== undefined)
  const where = [podText && `pod ${podText}`, containerText && `container ${containerText}`].filter(Boolean)
  if (where.length === 0 && why.length === 0) return undefined
  return `${where.join(', ')}${where.length > 0 && why.length > 0 ? ': ' : ''}${why.join(', ')}.`
}

function describeExit({ exitCode, message, reason }: JsonObject): string | undefined {
  return describeDetails({ exitCode, reason, message })
}

/** Job stages that the configuration adds: a fixed Job, with parameters that the author of a stage fills in. */
import { shape } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import {
  object,
  parameterFields,
  type StageDescription,
} from '@fairlead/model/stage-types/description.ts'
import { StageError } from '../../machine/failure.ts'
import type { Stage } from '../../model.ts'
import type { PreconfiguredJob } from '../../settings.ts'
import { kubernetes } from '../infrastructure/cloud-context.ts'
import type { StageType, Step } from '../stage-type.ts'
import { jobStage } from './run-job.ts'

/** What the configuration decides, whatever the stage says. */
const fixedKeys = [
  'account',
  'manifest',
  'application',
  'cloudProvider',
  'credentials',
  'region',
  'propertyFile',
  'waitForCompletion',
] as const

export function preconfiguredJobStage(job: PreconfiguredJob): StageType {
  const prepare: Step = {
    name: 'setPreconfiguredJob',
    decide: ({ stage }) => ({ status: 'SUCCEEDED', context: fillIn(stage.context, job) }),
  }
  const complete = ({ context }: Stage) => ({ ...context, ...fixedFields(job) })
  return { ...jobStage(job.type, [prepare], complete), description: describe(job) }
}

function fixedFields(job: PreconfiguredJob): JsonObject {
  const given = fixedKeys
    .map((key) => [key, job[key]] as const)
    .filter(([, value]) => value !== undefined)
  return { cloudProvider: kubernetes, source: 'text', ...Object.fromEntries(given) }
}

const toGiven = shape({ parameters: objectOf, dynamicParameters: objectOf })

/** @throws {StageError} when a parameter has no place in the job */
function fillIn(context: JsonObject, job: PreconfiguredJob): JsonObject {
  const filled = structuredClone(fixedFields(job))
  const { parameters: given, dynamicParameters } = toGiven(context)
  for (const { name, mapping, defaultValue } of job.parameters) {
    const value = Object.hasOwn(given, name) ? given[name] : defaultValue
    if (value !== undefined && value !== null) setAt(filled, mapping, String(value))
  }
  for (const [mapping, value] of Object.entries(dynamicParameters))
    setAt(filled, mapping, String(value))
  return { ...filled, preconfiguredJobParameters: job.parameters }
}

/** Writes a value at a path such as `manifest.spec.containers[0].name`. @throws {StageError} when a part on the way is missing */
function setAt(target: JsonObject, mapping: string, value: string): void {
  const parts = mapping.split(/[.[\]]+/).filter((part) => part !== '')
  const last = parts.pop()
  let holder: unknown = target
  for (const part of parts) holder = memberOf(holder, part)
  const isKnown = isObject(holder) || (Array.isArray(holder) && Number(last) < holder.length)
  if (last === undefined || last === '__proto__' || !isKnown)
    throw new StageError([
      `The parameter for "${mapping}" has no place in the job. An operator can correct job.preconfigured.kubernetes.`,
    ])
  const place = holder as Record<string, unknown>
  place[last] = value
}

function memberOf(holder: unknown, part: string): unknown {
  if (Array.isArray(holder)) return holder[Number(part)]
  return isObject(holder) && Object.hasOwn(holder, part) ? holder[part] : undefined
}

function describe({ type, label, description, parameters }: PreconfiguredJob): StageDescription {
  return {
    type,
    label,
    group: 'Jobs',
    use: 'pipeline',
    description: description === '' ? `Runs the job "${label}" of the configuration.` : description,
    fields: [object('parameters', 'Values of the job.', parameterFields(parameters))],
  }
}

/** Results of a build: properties and artifacts, as outputs of its stage. */
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, listOf } from '@fairlead/base/json/values.ts'
import { buildFields } from '@fairlead/model/stage-types/builds.ts'
import { stageFields } from '@fairlead/model/stage-types/common.ts'
import { namesOf } from '@fairlead/model/stage-types/description.ts'
import type { Build } from '@fairlead/ports/builds.ts'
import { distinctArtifacts } from '../../artifacts-at-hand.ts'
import { StageError } from '../../machine/failure.ts'
import { type Stage, waitingKey } from '../../model.ts'
import { minuteMs } from '../infrastructure/cloud-task.ts'
import type { Step, TaskContext, TaskResult } from '../stage-type.ts'
import { buildOf, buildSettingsOf, notesOf, noWait, waitFor } from './build-context.ts'
import { type BuildReading, nameOf, readArtifacts, readProperties } from './build-service.ts'

const reading = { pollMs: 5000, timeoutMs: minuteMs } as const

/** Servers of this name may have builds without property file. */
const lenientHosts = 'travis-'

export const propertiesStep: Step = {
  name: 'getBuildProperties',
  ...reading,
  execute: takeProperties,
}

export const artifactsStep: Step = { name: 'getBuildArtifacts', ...reading, execute: takeArtifacts }

async function takeProperties(context: TaskContext): Promise<TaskResult> {
  const build = buildOf(context.stage)
  const { propertyFile: file = '' } = buildSettingsOf(context.stage)
  const { found, missing } = await readProperties(context, build, file)
  if (found === undefined) return waitFor(context, missing, reading.pollMs)
  if (Object.keys(found).length > 0) return { status: 'SUCCEEDED', ...toResults(found) }
  if (build.host.startsWith(lenientHosts)) return { status: 'SUCCEEDED', context: noWait }
  throw new StageError([
    `The property file "${file}" of ${nameOf(build)} is empty or cannot be parsed. Let the build archive it with lines of the ` +
      'form name=value, or as YAML or JSON by its name; or leave out "propertyFile".',
  ])
}

/** What a build that failed has archived may say more about it. */
export async function findProperties(
  context: TaskContext,
  build: Build,
): Promise<Pick<TaskResult, 'context' | 'outputs'>> {
  const { propertyFile: file } = buildSettingsOf(context.stage)
  if (file === undefined) return {}
  const { found = {} } = await readProperties(context, build, file).catch(
    (): Partial<BuildReading<JsonObject>> => ({}),
  )
  return toResults(found)
}

/** All become outputs; in the context, a property of a build does not replace what steers the stage. */
function toResults(properties: JsonObject): Required<Pick<TaskResult, 'context' | 'outputs'>> {
  const added = Object.entries(properties).filter(([key]) => !ownKeys.has(key))
  return {
    context: { ...Object.fromEntries(added), propertyFileContents: properties, ...noWait },
    outputs: { ...properties, propertyFileContents: properties },
  }
}

const ownKeys = new Set([
  ...[...stageFields, ...buildFields].flatMap(namesOf),
  ...[
    'buildInfo',
    'buildNumber',
    'queuedBuild',
    'exception',
    'restartDetails',
    'previousAttempts',
    'status',
  ],
])

/** Keys of the context that are from the build, and hold no expressions of the author. */
export function keysOfBuild(stage: Pick<Stage, 'context'>): string[] {
  const properties = Object.keys(notesOf(stage).propertyFileContents).filter(
    (key) => !ownKeys.has(key),
  )
  return [
    ...properties,
    'propertyFileContents',
    'buildInfo',
    'resolvedExpectedArtifacts',
    'artifacts',
    waitingKey,
  ]
}

async function takeArtifacts(context: TaskContext): Promise<TaskResult> {
  const { stage } = context
  const artifacts = await readArtifacts(
    context,
    buildOf(stage),
    buildSettingsOf(stage).propertyFile,
  )
  const { buildInfo: archived } = toArchived(stage.context)
  return {
    status: 'SUCCEEDED',
    outputs: { artifacts: distinctArtifacts([...artifacts, ...archived.artifacts]) },
  }
}

const toArchived = shape({ buildInfo: shape({ artifacts: listOf }) })

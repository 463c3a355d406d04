/** `checkManifestDrift`: fails when something else has changed what was deployed. */
import { fieldOf, type JsonObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { failureRecord } from '../../machine/failure.ts'
import { isFalse } from '../../model.ts'
import { stageAccountOf } from '../infrastructure/cloud-context.ts'
import type { StageType, TaskContext, TaskResult } from '../stage-type.ts'
import { manifestStage } from './manifest-context.ts'

const mostFields = 10

export const checkManifestDriftStage: StageType = manifestStage({
  type: 'checkManifestDrift',
  steps: [{ name: 'checkManifestDrift', execute: check, readsOnly: true, timeoutMs: 5 * 60_000 }],
})

async function check(context: TaskContext): Promise<TaskResult> {
  const { stage, execution, infrastructure } = context
  const settings = stage.context
  const application = textOf(settings['app']) ?? textOf(fieldOf(settings['moniker'], 'app')) ?? execution.application
  const [account, location] = [stageAccountOf(settings), textOf(settings['location'])]
  const drift = await infrastructure.drift({ application, account, location })
  const [first, ...others] = drift.map(describe)
  const found = { drift }
  if (first === undefined || isFalse(settings['failOnDrift'])) return { status: 'SUCCEEDED', context: found, outputs: found }
  return {
    status: 'TERMINAL',
    context: { ...found, exception: failureRecord('ManifestDrift', [first, ...others]) },
    outputs: found,
  }
}

function describe({ account, namespace, name, manager, since, fields }: JsonObject): string {
  const place = [account, namespace].flatMap((part) => textOf(part) ?? []).join('/')
  const changed = textsOf(fields)
  const more = changed.length > mostFields ? ` and ${changed.length - mostFields} more` : ''
  const which = changed.length === 0 ? 'it' : `${changed.slice(0, mostFields).join(', ')}${more}`
  const when = toTime(since)
  return `${String(name)} in ${place} has drifted: ${textOf(manager) ?? 'something else'} changed ${which}${when}.`
}

/** @param since Milliseconds since the epoch, or a time as text */
function toTime(since: unknown): string {
  if (typeof since === 'string' && since !== '') return ` at ${since}`
  return typeof since === 'number' ? ` at ${new Date(since).toISOString()}` : ''
}

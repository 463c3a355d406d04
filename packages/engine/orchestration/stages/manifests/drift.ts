/** `checkManifestDrift`: fails when something else has changed what was deployed. */

import { checkManifestDrift } from '@fairlead/model/stage-types/manifests.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import type { CloudDrift } from '@fairlead/ports/cloud-values.ts'
import { failureRecord } from '../../machine/failure.ts'
import { stageAccountOf } from '../infrastructure/cloud-context.ts'
import type { StageType, TaskContext, TaskResult } from '../stage-type.ts'
import { appOf, manifestStage } from './manifest-context.ts'

const mostFields = 10

export const checkManifestDriftStage: StageType = manifestStage({
  type: 'checkManifestDrift',
  steps: [{ name: 'checkManifestDrift', execute: check, readsOnly: true, timeoutMs: 5 * 60_000 }],
})

async function check(context: TaskContext): Promise<TaskResult> {
  const settings = context.stage.context
  const { failOnDrift, location } = readFields(checkManifestDrift.fields, settings)
  const place = { application: appOf(context), account: stageAccountOf(settings), location }
  const drift = await context.infrastructure.drift(place)
  const [first, ...others] = drift.map(describe)
  const found = { drift: drift.map(({ all }) => all) }
  if (first === undefined || !failOnDrift)
    return { status: 'SUCCEEDED', context: found, outputs: found }
  const exception = failureRecord('ManifestDrift', [first, ...others])
  return { status: 'TERMINAL', context: { ...found, exception }, outputs: found }
}

function describe({
  account,
  namespace,
  name,
  manager = 'something else',
  since,
  deleted,
  note,
  fields,
}: CloudDrift): string {
  const place = [account, namespace].filter(Boolean).join('/')
  if (deleted)
    return [`${name} in ${place} has drifted: something else deleted it.`, note ?? []]
      .flat()
      .join(' ')
  const more = fields.length > mostFields ? ` and ${fields.length - mostFields} more` : ''
  const which = fields.length === 0 ? 'it' : `${fields.slice(0, mostFields).join(', ')}${more}`
  return `${name} in ${place} has drifted: ${manager} changed ${which}${since === undefined ? '' : ` at ${since}`}.`
}

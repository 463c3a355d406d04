/** `resolveTargetManifest`: the newest, oldest, largest … object of a cluster as the target of a stage. */
import { fieldOf, textOf } from '@fairlead/base/json/values.ts'
import { StageError } from '../../machine/failure.ts'
import type { Stage } from '../../model.ts'
import { requireAccount } from '../infrastructure/cloud-context.ts'
import { attempt } from '../infrastructure/cloud-task.ts'
import type { Step, TaskContext, TaskResult } from '../stage-type.ts'
import { locationIn } from './manifest-context.ts'

const lookups = { key: 'manifests.lookups', tries: 10, pauseMs: 200 }

/** Without criteria, the stage names its target itself. */
export const resolveTargetStep: Step = {
  name: 'resolveTargetManifest',
  timeoutMs: 60_000,
  readsOnly: true,
  execute: async (context) =>
    isDynamic(context.stage) ? attempt(context, lookups, () => findTarget(context)) : { status: 'SUCCEEDED' },
}

function isDynamic({ context }: Stage): boolean {
  const mode = textOf(context['mode'])
  return textOf(context['criteria']) !== undefined && (mode === undefined || mode === 'dynamic')
}

async function findTarget(context: TaskContext): Promise<TaskResult> {
  const { stage, execution, infrastructure } = context
  const settings = stage.context
  const account = requireAccount(settings)
  const location = locationIn(settings)
  const [kind, cluster, criteria] = ['kind', 'cluster', 'criteria'].map((key) => {
    const value = textOf(settings[key])
    if (value === undefined)
      throw new StageError([`The target has no "${key}": set "kind", "cluster" and "criteria", or "manifestName".`])
    return value
  }) as [string, string, string]
  const app = textOf(settings['app']) ?? textOf(fieldOf(settings['moniker'], 'app')) ?? execution.application
  const place = { account, location, kind, application: app, cluster }
  const found = await infrastructure.manifestByCriterion({ ...place, criterion: criteria })
  const manifestName = found && toFullName(found, kind)
  if (manifestName === undefined) {
    throw new StageError([
      `There is no ${kind} for "${criteria}" of the cluster "${cluster}" of ${app} in ${account}/${location}. Check kind, cluster and application.`,
    ])
  }
  return { status: 'SUCCEEDED', context: { manifestName }, outputs: { manifestName } }
}

/** Coordinates of an object have its name alone, or the full one. */
export function toFullName(coordinates: unknown, kind: string): string | undefined {
  const name = textOf(fieldOf(coordinates, 'name'))
  if (name === undefined || name.includes(' ')) return name
  return `${textOf(fieldOf(coordinates, 'kind')) ?? kind} ${name}`
}

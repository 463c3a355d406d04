/** `verify`: watches what was deployed, each check in an inner stage of its own; one that fails may roll the deployment back. */
import { or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, objectsOf } from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { verify } from '@fairlead/model/stage-types/verification.ts'
import { failureRecord, StageError } from '../../machine/failure.ts'
import { passedMs } from '../../machine/timeout.ts'
import type { Execution, Stage } from '../../model.ts'
import {
  cloudPlaceFields,
  placesOf,
  stageAccountOf,
  stageProviderOf,
} from '../infrastructure/cloud-context.ts'
import {
  inSequence,
  type NewStage,
  type StageType,
  type Step,
  type TaskContext,
  type TaskResult,
} from '../stage-type.ts'
import { checkKinds, readCheck, type VerificationCheck } from './checks.ts'
import { deployedGroups } from './deployed-groups.ts'

const shortestIntervalSeconds = 1

const watchStep: Step = { name: 'watch', execute: watch }

export const verifyStage: StageType = {
  type: 'verify',
  steps: [watchStep],
  chooseSteps: (stage) => (isCheck(stage) ? verifyStage.steps : []),
  beforeStages: (stage) => (isCheck(stage) ? [] : plannedChecks(stage)),
  onFailureStages: (stage, execution) =>
    readFields(verify.fields, stage.context).rollback ? rollbacks(stage, execution) : [],
  forgets: ['verification'],
}

/** The stage itself has a list of checks, each of its inner stages one of them. */
function isCheck({ context }: Stage): boolean {
  return context['check'] !== undefined
}

const toChecks = shape({ checks: objectsOf })

/** @throws {StageError} when there is nothing to check */
function plannedChecks({ context }: Stage): NewStage[] {
  const { checks } = toChecks(context)
  if (checks.length === 0) throw new StageError(['The stage has no check: add one to "checks".'])
  const { checks: _checks, rollback: _rollback, name: _name, ...shared } = context
  return checks.map((check) => {
    const fields = readCheck(check)
    const { type, name = describe(fields) } = fields
    if (type === 'command') return commandStage(name, fields, shared)
    return { type: 'verify', name, context: { ...placeIn(shared), check } }
  })
}

/** What says which server groups are watched. */
function placeIn(context: JsonObject): JsonObject {
  const kept = [
    'cloudProvider',
    'credentials',
    'account',
    'region',
    'regions',
    'serverGroupName',
    'cluster',
    'moniker',
  ]
  return Object.fromEntries(
    kept.flatMap((key) => (context[key] === undefined ? [] : [[key, context[key]]])),
  )
}

/** Names the account of the stage, where that is one of this machine. */
function commandStage(
  name: string,
  { command, env, seconds }: VerificationCheck,
  shared: JsonObject,
): NewStage {
  const account =
    stageProviderOf(shared) === standalone.provider ? stageAccountOf(shared) : undefined
  const place = account === undefined ? {} : { credentials: account, regions: placesOf(shared) }
  return {
    type: 'runCommand',
    name,
    context: { ...place, command, env, stageTimeoutMs: seconds * 1000 },
  }
}

function describe(check: VerificationCheck): string {
  return (
    kindOf(check)?.describe(check) ?? (check.type === 'command' ? 'A command succeeds' : 'Check')
  )
}

function kindOf({ type }: VerificationCheck) {
  return type !== undefined && Object.hasOwn(checkKinds, type) ? checkKinds[type] : undefined
}

/** What a check notes in its stage. */
const toTally = shape({
  looks: or(numberOf, 0),
  failures: or(numberOf, 0),
  successes: or(numberOf, 0),
})

interface Tally extends ShapeOf<typeof toTally> {
  readonly last: string
}

/** Looks once; the check is over when its time is, when too many looks have failed, or when nothing more can come. */
async function watch(context: TaskContext): Promise<TaskResult> {
  const { stage, execution, now } = context
  const check = readCheck(stage.context['check'])
  const kind = kindOf(check)
  if (kind === undefined) {
    const known = ['command', ...Object.keys(checkKinds)].join(', ')
    throw new StageError([`There is no check of the type "${check.type}": use one of ${known}.`])
  }
  const { result, text, isFinal = false } = await kind.look(context, check)
  const { looks, failures, successes } = toTally(stage.context['verification'])
  const tally = {
    looks: looks + 1,
    failures: failures + (result === 'bad' ? 1 : 0),
    successes: successes + (result === 'good' ? 1 : 0),
    last: text,
  }
  const shown = { context: { verification: tally } }
  if (tally.failures > check.failures) return failed(stage, tally, check.failures)
  const isOver = passedMs(execution, stage.startTime ?? now, now) >= check.seconds * 1000
  if (!isOver && !isFinal) {
    return {
      status: 'RUNNING',
      ...shown,
      pollMs: Math.max(check.intervalSeconds, shortestIntervalSeconds) * 1000,
    }
  }
  return tally.successes === 0
    ? failed(stage, tally, check.failures)
    : { status: 'SUCCEEDED', ...shown }
}

function failed({ name }: Stage, tally: Tally, allowed: number): TaskResult {
  const { looks, failures, last } = tally
  const often =
    failures > 0 && allowed > 0 ? ` ${failures} of ${looks} looks failed, ${allowed} may.` : ''
  const exception = failureRecord('VerificationFailed', [
    `The check "${name}" failed: ${last}${often}`,
  ])
  return { status: 'TERMINAL', context: { verification: tally, exception } }
}

/** What ran before takes the traffic again, cluster by cluster. */
function rollbacks(stage: Stage, execution: Execution): NewStage[] {
  const clusters = new Map(
    deployedGroups({ stage, execution }).map((group) => [
      JSON.stringify([group.account, group.region, group.cluster]),
      group,
    ]),
  )
  return inSequence(
    [...clusters.values()].map(({ cluster, moniker, ...place }) => ({
      type: 'rollbackCluster',
      name: `Roll back ${cluster} in ${place.region}`,
      context: {
        ...cloudPlaceFields(place),
        cluster,
        moniker,
        targetHealthyRollbackPercentage: 100,
      },
    })),
  )
}

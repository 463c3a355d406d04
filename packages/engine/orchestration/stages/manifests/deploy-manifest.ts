/** `deployManifest` and `planManifest`: objects of a cluster as manifests describe them, or what would change. */
import { shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, objectOf, objectsOf } from '@fairlead/base/json/values.ts'
import { deploying, failOnError } from '@fairlead/model/stage-types/manifests.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { failureRecord } from '../../machine/failure.ts'
import type { Stage } from '../../model.ts'
import { checkCanarySteps } from '../infrastructure/canary.ts'
import { kubernetes } from '../infrastructure/cloud-context.ts'
import { monitorStep, submitStep } from '../infrastructure/cloud-task.ts'
import { tasksNote } from '../infrastructure/notes.ts'
import type { StageType, Step, TaskContext, TaskResult } from '../stage-type.ts'
import { checkCanaryManifests, describeManifestStop, trafficOf } from './canary.ts'
import { cleanUpSteps } from './clean-up.ts'
import { manifestStage, operationFields } from './manifest-context.ts'
import { previewedOnceResolved, resolveStep } from './manifest-source.ts'
import { packDocuments, packedDocuments } from './packed-documents.ts'
import { bindStep, expectsArtifacts } from './produced-artifacts.ts'
import { clearOutputsStep, promoteStep } from './promote-outputs.ts'
import { stabilizeStep } from './stabilize.ts'
import {
  cancelManifests,
  findOldStep,
  oldVersionStages,
  trafficFields,
  trafficStrategyOf,
  undoStages,
} from './traffic.ts'

const resolve = resolveStep('resolveDeploySourceManifest', {
  key: 'manifests',
  toContext: (manifests) => packDocuments(manifests).context,
  toOutputs: ({ 'manifests.packed': _packed, ...outputs }) => outputs,
})

function submitDeployment(operation: 'deployManifest' | 'planManifest'): Step {
  const submit = submitStep(operation, (context) => ({
    operations: [{ [operation]: description(context) }],
    context: { cloudProvider: kubernetes },
  }))
  return previewedOnceResolved(submit)
}

const toFields = shape({ moniker: objectOf, manifests: objectsOf })

function description(context: TaskContext): JsonObject {
  const {
    plan: _plan,
    rollback: _rollback,
    trafficManagement: _traffic,
    'manifests.packed': _packed,
    ...fields
  } = operationFields(context)
  const settings = context.stage.context
  const documents = { ...fields, ...definedOf({ manifests: packedDocuments(settings) }) }
  const { moniker, manifests } = toFields(documents)
  if (trafficStrategyOf(settings) === 'CANARY') checkCanaryManifests(manifests, settings)
  const app = moniker['app'] || context.execution.application
  return {
    ...documents,
    moniker: { ...moniker, app },
    source: 'text',
    ...trafficFields(settings),
  }
}

const planSteps = [submitDeployment('planManifest'), monitorStep('monitorPlan')]

/** Only outputs keep the plan of a deployment: in the context, `plan` asks for one. */
const keepPlan: Step = {
  name: 'keepPlan',
  decide: ({ stage }) => ({ status: 'SUCCEEDED', outputs: shownOf(planOf(stage)) }),
}

const judgePlan: Step = {
  name: 'judgePlan',
  decide: ({ stage }): TaskResult => {
    const plan = planOf(stage)
    const found = shownOf(plan)
    const faults = plan.flatMap(
      ({ change, name, namespace, message = 'the API server refuses it and says no reason' }) => {
        const place = namespace === undefined ? '' : ` in ${namespace}`
        return change === 'error' ? [`${name}${place} cannot be deployed: ${message}`] : []
      },
    )
    const [first, ...others] = faults
    if (first === undefined || !readFields([failOnError], stage.context).failOnError)
      return { status: 'SUCCEEDED', context: found, outputs: found }
    const exception = failureRecord('PlanFailed', [first, ...others])
    return { status: 'TERMINAL', context: { ...found, exception }, outputs: found }
  },
}

function planOf({ context }: Stage) {
  return tasksNote
    .in(context)
    .flatMap(({ results }) => results.flatMap(({ differences }) => differences))
}

/** What would change, object by object, and whether anything would. */
function shownOf(plan: ReturnType<typeof planOf>): JsonObject {
  return {
    plan: plan.map(({ all }) => all),
    planHasChanges: plan.some(({ change }) => change !== 'none'),
  }
}

export const planManifestStage: StageType = manifestStage({
  type: 'planManifest',
  steps: [resolve, ...planSteps, judgePlan],
  unevaluatedKeys: () => ['plan'],
  forgets: ['plan'],
})

/** @param absenceMs How long a deployed object may be missing */
export function deployManifestStage(absenceMs: number): StageType {
  const stabilize = stabilizeStep(absenceMs)
  const plan = [...planSteps, keepPlan]
  const main = [
    submitDeployment('deployManifest'),
    monitorStep('monitorDeploy'),
    promoteStep,
    stabilize,
    ...cleanUpSteps,
  ]
  return manifestStage({
    type: 'deployManifest',
    steps: [resolve, ...plan, ...main, bindStep, findOldStep, clearOutputsStep],
    chooseSteps: ({ context }, execution) => {
      const strategy = trafficStrategyOf(context)
      const settings = readFields(deploying, context)
      if (strategy === 'CANARY') checkCanarySteps({ canary: trafficOf(context).canary }, execution)
      return [
        resolve,
        ...(settings.plan ? plan : []),
        ...main,
        ...(expectsArtifacts(context) ? [bindStep] : []),
        ...(strategy === 'NONE' ? [] : [findOldStep]),
        ...(settings.noOutput ? [clearOutputsStep] : []),
      ]
    },
    afterStages: oldVersionStages,
    onFailureStages: undoStages,
    describeFailure: describeManifestStop,
    onCancel: cancelManifests,
  })
}

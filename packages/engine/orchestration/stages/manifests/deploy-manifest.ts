/** `deployManifest` and `planManifest`: objects of a cluster as manifests describe them, or what would change. */
import { isTrue, type JsonObject, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { failureRecord } from '../../machine/failure.ts'
import { isFalse, type Stage } from '../../model.ts'
import { checkCanarySteps } from '../infrastructure/canary.ts'
import { kubernetes } from '../infrastructure/cloud-context.ts'
import { monitorStep, submitStep } from '../infrastructure/cloud-task.ts'
import type { StageType, Step, TaskContext, TaskResult } from '../stage-type.ts'
import { checkCanaryManifests, describeManifestStop, trafficOptionsOf } from './canary.ts'
import { cleanUpSteps } from './clean-up.ts'
import { manifestStage, operationFields } from './manifest-context.ts'
import { previewedOnceResolved, resolveStep } from './manifest-source.ts'
import { bindStep, expectsArtifacts } from './produced-artifacts.ts'
import { clearOutputsStep, promoteStep } from './promote-outputs.ts'
import { stabilizeStep } from './stabilize.ts'
import { cancelManifests, findOldStep, oldVersionStages, trafficFields, trafficStrategyOf, undoStages } from './traffic.ts'

const resolve = resolveStep('resolveDeploySourceManifest', {
  key: 'manifests',
  toContext: (manifests) => ({ manifests }),
})

function submitDeployment(operation: 'deployManifest' | 'planManifest'): Step {
  const submit = submitStep(operation, operation.toLowerCase(), (context) => ({
    operations: [{ [operation]: description(context) }],
    context: { cloudProvider: kubernetes },
  }))
  return previewedOnceResolved(submit)
}

function description(context: TaskContext): JsonObject {
  const { plan: _plan, rollback: _rollback, trafficManagement: _traffic, ...fields } = operationFields(context)
  const moniker = objectOf(fields['moniker'])
  const settings = context.stage.context
  if (trafficStrategyOf(settings) === 'CANARY') checkCanaryManifests(objectsOf(fields['manifests']), settings)
  return {
    ...fields,
    moniker: { ...moniker, app: textOf(moniker['app']) ?? context.execution.application },
    source: 'text',
    ...trafficFields(settings),
  }
}

const planSteps = [submitDeployment('planManifest'), monitorStep('monitorPlan')]

/** Only outputs keep the plan of a deployment: in the context, `plan` asks for one. */
const keepPlan: Step = { name: 'keepPlan', decide: ({ stage }) => ({ status: 'SUCCEEDED', outputs: readPlan(stage) }) }

const judgePlan: Step = {
  name: 'judgePlan',
  decide: ({ stage }): TaskResult => {
    const found = readPlan(stage)
    const faults = found.plan.filter(({ change }) => change === 'error').map(describeFault)
    const [first, ...others] = faults
    if (first === undefined || isFalse(stage.context['failOnError']))
      return { status: 'SUCCEEDED', context: found, outputs: found }
    const exception = failureRecord('PlanFailed', [first, ...others])
    return { status: 'TERMINAL', context: { ...found, exception }, outputs: found }
  },
}

function describeFault({ name, namespace, message }: JsonObject): string {
  const place = textOf(namespace) === undefined ? '' : ` in ${String(namespace)}`
  return `${String(name)}${place} cannot be deployed: ${textOf(message) ?? 'the API server refuses it and says no reason'}`
}

/** What would change, object by object, and whether anything would. */
function readPlan({ context }: Stage): { plan: JsonObject[]; planHasChanges: boolean } {
  const results = objectsOf(context['kato.tasks']).flatMap(({ resultObjects }) => objectsOf(resultObjects))
  const plan = results.flatMap(({ differences }) => objectsOf(differences))
  return { plan, planHasChanges: plan.some(({ change }) => change !== 'none') }
}

export const planManifestStage: StageType = manifestStage({
  type: 'planManifest',
  steps: [resolve, ...planSteps, judgePlan],
  unevaluatedKeys: () => ['plan'],
  forgets: ['plan'],
})

/** @param absenceMs How long a deployed object may be missing */
export function deployManifestStage(absenceMs: number): StageType {
  const deploy = submitDeployment('deployManifest')
  const monitor = monitorStep('monitorDeploy')
  const stabilize = stabilizeStep(absenceMs)
  const plan = [...planSteps, keepPlan]
  const main = [deploy, monitor, promoteStep, stabilize, ...cleanUpSteps]
  return manifestStage({
    type: 'deployManifest',
    steps: [resolve, ...plan, ...main, bindStep, findOldStep, clearOutputsStep],
    chooseSteps: ({ context }, execution) => {
      if (trafficStrategyOf(context) === 'CANARY') checkCanarySteps(trafficOptionsOf(context), execution)
      return [
        resolve,
        ...(isTrue(context['plan']) ? plan : []),
        ...main,
        ...(expectsArtifacts(context) ? [bindStep] : []),
        ...(trafficStrategyOf(context) === 'NONE' ? [] : [findOldStep]),
        ...(isTrue(context['noOutput']) ? [clearOutputsStep] : []),
      ]
    },
    afterStages: oldVersionStages,
    onFailureStages: undoStages,
    describeFailure: describeManifestStop,
    onCancel: cancelManifests,
  })
}

/** Stages that run a build and hand its results on (docs/contracts/orchestration.md#build-stages). */

import { asGiven, maybe, shape } from '@fairlead/base/json/shape.ts'
import { objectOf } from '@fairlead/base/json/values.ts'
import type { Stage } from '../../model.ts'
import { bindStep, expectsArtifacts } from '../manifests/produced-artifacts.ts'
import type { StageType, Step, TaskContext } from '../stage-type.ts'
import { buildJobOf, buildSettingsOf } from './build-context.ts'
import { artifactsStep, keysOfBuild, propertiesStep } from './build-results.ts'
import { followBuildStep, queueStep } from './follow-build.ts'
import { scriptOrder } from './script.ts'
import type { ScriptSettings } from './settings.ts'
import {
  type StageBuildOrder,
  startStep,
  stopAfterTimeout,
  stopBuildStage,
  stopStartedBuild,
} from './start-build.ts'

/** Any of them runs jobs of any build server; clients have a form for each. Tasks have the name of the type in theirs. */
const types = [
  { type: 'jenkins', title: 'JenkinsJob' },
  { type: 'travis', title: 'TravisJob' },
  { type: 'gitlab-ci', title: 'GitlabCiJob' },
] as const

export function createBuildStages(script: ScriptSettings): readonly StageType[] {
  return [
    ...types.map(({ type, title }) => buildStage(type, title, orderOf)),
    buildStage('script', 'Script', (context) => scriptOrder(context, script)),
    stopBuildStage,
  ]
}

function orderOf({ stage }: TaskContext): StageBuildOrder {
  return { ...buildJobOf(stage), parameters: buildSettingsOf(stage).parameters }
}

function buildStage(
  type: string,
  title: string,
  order: (context: TaskContext) => StageBuildOrder,
): StageType {
  const start = startStep(`start${title}`, order)
  const queue = queueStep(`waitFor${title}Start`)
  const monitor = followBuildStep(`monitor${title}`)
  const steps: readonly Step[] = [start, queue, monitor, propertiesStep, artifactsStep, bindStep]
  return {
    type,
    steps,
    chooseSteps(stage) {
      const { waitForCompletion: waits, propertyFile } = buildSettingsOf(stage)
      const isChosen = new Map<Step, boolean>([
        [monitor, waits],
        [propertiesStep, waits && propertyFile !== undefined],
        [artifactsStep, waits],
        [bindStep, expectsArtifacts(stage.context)],
      ])
      return steps.filter((step) => isChosen.get(step) ?? true)
    },
    unevaluatedKeys: keysOfBuild,
    prepareRestart: forgetBuild,
    onCancel: stopStartedBuild,
    onFailureStages: stopAfterTimeout,
  }
}

const toBuilt = shape({ buildInfo: maybe(asGiven), restartDetails: objectOf })

/** The next run starts a build of its own. */
function forgetBuild(stage: Stage): void {
  const gone = new Set([...keysOfBuild(stage), 'buildNumber', 'queuedBuild'])
  const { buildInfo, restartDetails } = toBuilt(stage.context)
  const kept = Object.fromEntries(Object.entries(stage.context).filter(([key]) => !gone.has(key)))
  const former =
    buildInfo === undefined
      ? {}
      : { restartDetails: { ...restartDetails, previousBuildInfo: buildInfo } }
  stage.context = { ...kept, ...former }
  stage.outputs = {}
}

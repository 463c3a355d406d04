/** `script`: the job of the configuration runs a command (docs/contracts/orchestration.md#build-stages). */
import { definedOf, isTrue, type JsonObject, textOf } from '../../../../json/values.ts'
import { StageError } from '../../machine/failure.ts'
import { firstText } from '../infrastructure/cloud-context.ts'
import type { TaskContext } from '../stage-type.ts'
import type { ScriptSettings } from './settings.ts'
import type { BuildOrder } from './start-build.ts'

/** Why no stage of the type runs; undefined when stages may. */
export function describeMissingHost({ host }: ScriptSettings): string | undefined {
  if (host !== undefined) return undefined
  return (
    'No build server runs the commands of "script" stages. Set script.master to a connected build server and script.job to a job of it ' +
    'that runs COMMAND in a checkout of REPO_URL; or use a stage of the type "jenkins" with a job of its own.'
  )
}

/** @throws {StageError} */
export function scriptOrder({ stage, execution }: TaskContext, script: ScriptSettings): BuildOrder {
  const { host = '' } = script
  const problem = describeMissingHost(script)
  if (problem !== undefined) throw new StageError([problem])
  const job = textOf(stage.context['job']) ?? script.job
  if (job === undefined) throw new StageError([`No job of "${host}" runs the command. Set "job", or script.job for all stages.`])
  const { strategy, parameters } = execution.trigger
  return {
    host,
    job,
    parameters: toParameters(stage.context, isTrue(strategy) ? parameters : {}),
    context: { master: host, job, REPO_URL: textOf(stage.context['repoUrl']) ?? 'default' },
  }
}

/** By the names that jobs of Spinnaker have. @param strategy What a strategy is run for, where the stage does not say */
function toParameters(context: JsonObject, strategy: JsonObject): JsonObject {
  return definedOf({
    SCRIPT_PATH: textOf(context['scriptPath']),
    COMMAND: textOf(context['command']),
    IMAGE_ID: textOf(context['image']) ?? firstText(strategy, 'amiName', 'imageId'),
    REGION_PARAM: textOf(context['region']) ?? firstText(strategy, 'region', 'zone'),
    ENV_PARAM: textOf(context['account']) ?? firstText(strategy, 'credentials'),
    CLUSTER_PARAM: textOf(context['cluster']) ?? firstText(strategy, 'cluster'),
    CMC: textOf(context['cmc']),
    REPO_URL: textOf(context['repoUrl']),
    REPO_BRANCH: textOf(context['repoBranch']),
  })
}

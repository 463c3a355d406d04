/** `script`: the job of the configuration runs a command (docs/contracts/orchestration.md#build-stages). */
import { shape } from '@fairlead/base/json/shape.ts'
import { definedOf, textOf } from '@fairlead/base/json/values.ts'
import { script as description } from '@fairlead/model/stage-types/builds.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { StageError } from '../../machine/failure.ts'
import type { TaskContext } from '../stage-type.ts'
import type { ScriptSettings } from './settings.ts'
import type { StageBuildOrder } from './start-build.ts'

/** Why no stage of the type runs; undefined when stages may. */
export function describeMissingHost({ host }: ScriptSettings): string | undefined {
  if (host !== undefined) return undefined
  return (
    'No build server runs the commands of "script" stages. Set script.master to a connected build server and script.job to a job of it ' +
    'that runs COMMAND in a checkout of REPO_URL; or use a stage of the type "jenkins" with a job of its own.'
  )
}

/** @throws {StageError} */
export function scriptOrder(
  { stage, execution }: TaskContext,
  script: ScriptSettings,
): StageBuildOrder {
  const { host = '' } = script
  const problem = describeMissingHost(script)
  if (problem !== undefined) throw new StageError([problem])
  const settings = readFields(description.fields, stage.context)
  const { job = script.job, repoUrl, account, region, cluster, image } = settings
  if (job === undefined)
    throw new StageError([
      `No job of "${host}" runs the command. Set "job", or script.job for all stages.`,
    ])
  const { strategy, parameters } = execution.trigger
  const target = toTarget(strategy ? parameters : {})
  return {
    host,
    job,
    // By the names that jobs of Spinnaker have.
    parameters: definedOf({
      SCRIPT_PATH: settings.scriptPath,
      COMMAND: settings.command,
      IMAGE_ID: image ?? target.image,
      REGION_PARAM: region ?? target.region,
      ENV_PARAM: account ?? target.account,
      CLUSTER_PARAM: cluster ?? target.cluster,
      CMC: settings.cmc,
      REPO_URL: repoUrl,
      REPO_BRANCH: settings.repoBranch,
    }),
    context: { master: host, job, REPO_URL: repoUrl ?? 'default' },
  }
}

/** What a strategy is run for, where the stage does not say. */
const toTarget = shape({
  image: [textOf, 'amiName', 'imageId'],
  region: [textOf, 'region', 'zone'],
  account: [textOf, 'credentials'],
  cluster: textOf,
})

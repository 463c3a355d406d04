/** Which stage types have a form made by hand; others get one of their description. */
import { bakeForm } from './bake.tsx'
import { buildForm, commandForm, jobForm, scriptForm } from './command.tsx'
import { deployForm, serverGroupForm } from './deploy.tsx'
import type { Part } from './form.tsx'
import { judgmentForm } from './judgment.tsx'
import { manifestForm } from './manifest.ts'
import { pipelineForm } from './pipeline.tsx'
import { webhookForm } from './webhook.ts'

export const forms: Readonly<Record<string, readonly Part[]>> = {
  deploy: deployForm,
  createServerGroup: serverGroupForm,
  cloneServerGroup: serverGroupForm,
  bake: bakeForm,
  deployManifest: manifestForm,
  manualJudgment: judgmentForm,
  runCommand: commandForm,
  runJob: jobForm,
  script: scriptForm,
  webhook: webhookForm,
  pipeline: pipelineForm,
  jenkins: buildForm,
  travis: buildForm,
  'gitlab-ci': buildForm,
}

/** Settings of stages that deploy manifests, and of job stages from the configuration. */

import {
  inSeconds,
  off,
  on,
  optionalText,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  whole,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

const Parameter = z.looseObject({
  name: z.string().min(1).describe('Name, as in `parameters` of the stage.'),
  label: z.string().optional().describe('Label in the web UI.'),
  description: optionalText.describe('Help text.'),
  type: z.string().default('string').describe('Type in the web UI.'),
  defaultValue: z.unknown().optional().describe('Value of stages that give none.'),
  mapping: z
    .string()
    .min(1)
    .describe(
      'Where the value is written, such as `manifest.spec.template.spec.containers[0].env[1].value`.',
    ),
  order: z.int().optional().describe('Place in the form.'),
})

/** Spinnaker's form: unknown fields are ignored, and entries that lack a part are left out. */
const ConfiguredJob = z.looseObject({
  type: optionalText.describe('Stage type.'),
  label: optionalText.describe('Name of the stage type in the web UI.'),
  description: z.string().default('').describe('Description in the web UI.'),
  enabled: on.describe('Offer the stage type.'),
  cloudProvider: optionalText.describe('The provider, which must be set.'),
  account: optionalText.describe('Account in which the job runs.'),
  credentials: optionalText.describe('The same, as older versions write it.'),
  application: optionalText.describe('Application of the job. Default: that of the execution.'),
  region: optionalText.describe('Kept for the web UI.'),
  manifest: z
    .record(z.string(), z.unknown().meta({ description: 'A field of the job.', template: true }))
    .optional()
    .describe('The Job.'),
  waitForCompletion: on.describe('Wait until the job has ended.'),
  propertyFile: optionalText.describe('Container whose output has the properties of the job.'),
  producesArtifacts: on.describe('Offer expected artifacts in the web UI.'),
  uiType: z.string().default('BASIC').describe('Form in the web UI.'),
  parameters: z
    .array(Parameter)
    .default([])
    .describe('Fields that the author of a stage fills in.'),
})

export type PreconfiguredJob = z.infer<typeof ConfiguredJob> & {
  readonly type: string
  readonly label: string
}

const jobsKey = 'job.preconfigured.kubernetes'

export const manifestKeys = settings({
  jobs: setting(jobsKey, z.array(ConfiguredJob).default([])).describe(
    'Job stages that the embedded engine adds. Entries without type, label or cloud provider are left out.',
  ),
  guards: setting('stages.manifests.traffic-guards', off).describe(
    'Apply the traffic guards of applications to stages that disable, delete or scale to 0 a single object of Kubernetes.',
  ),
  absenceMs: setting('stages.manifests.absence-seconds', inSeconds(whole(0).default(60))).describe(
    'Seconds for which a deployed object may be missing before the stage that waits for it fails.',
  ),
})

type ManifestValues = SettingsOf<typeof manifestKeys>

export type ManifestSettings = Readonly<Omit<ManifestValues, 'jobs'>> & {
  readonly jobs: readonly PreconfiguredJob[]
}

export function toManifestSettings(
  values: ManifestValues,
  report: SettingsReport,
): ManifestSettings {
  const jobs = values.jobs.filter(isComplete)
  const types = new Set<string>()
  for (const { type } of jobs) {
    if (types.has(type)) report.problem(jobsKey, `the stage type "${type}" is listed twice`)
    types.add(type)
  }
  return { ...values, jobs }
}

function isComplete(job: ManifestValues['jobs'][number]): job is PreconfiguredJob {
  return (
    job.enabled &&
    [job.type, job.label, job.cloudProvider].every((part) => part !== undefined && part !== '')
  )
}

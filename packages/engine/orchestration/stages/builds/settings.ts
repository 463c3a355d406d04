/** Settings of `script` stages: the job that runs their commands. */
import {
  optionalText,
  type SettingsOf,
  setting,
  settings,
} from '@fairlead/base/settings/setting.ts'

export const scriptKeys = settings({
  host: setting('script.master', optionalText).describe(
    'Build server with the job that runs the commands of `script` stages.',
  ),
  job: setting('script.job', optionalText).describe('That job, unless the stage names one.'),
})

export type ScriptSettings = Readonly<SettingsOf<typeof scriptKeys>>

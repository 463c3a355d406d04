/** Settings of findings about definitions. */
import { off, setting, settings } from '@fairlead/base/settings/setting.ts'

export const findingKeys = settings({
  strict: setting('definitions.strict', off).describe(
    'Whether the embedded store refuses (400) an enabled pipeline, strategy or template with a finding of the severity `error`, such as an unknown ' +
      'stage type. Otherwise it keeps what Spinnaker would keep, and reports the finding.',
  ),
})

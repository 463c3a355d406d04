/** Settings of the web console. */
import { on, setting, settings } from '@fairlead/base/settings/setting.ts'

export const consoleSettings = settings({
  enabled: setting('console.enabled', on).describe(
    'Serve the web console at `/console`. It works beside Deck.',
  ),
})

/** Settings of the build service: how often build servers are polled, and which builds are reported. */
import { on, type SettingsOf, setting, settings, whole } from '@fairlead/base/settings/setting.ts'

export const buildServiceKeys = settings(
  {
    pollSeconds: setting('spinnaker.build.pollInterval', whole(1, 86_400).default(30)).describe(
      'Seconds between two polls of a build server.',
    ),
    handlesFirstBuilds: setting('spinnaker.build.handleFirstBuilds', on).describe(
      'Report builds of a job that is seen for the first time, if they have just ended.',
    ),
    lookBackMinutes: setting(
      'spinnaker.build.lookBackWindowMins',
      whole(0, 10_080).default(10),
    ).describe('How long ago the first reported builds of a job may have ended, in minutes.'),
    maxChanges: setting(
      'spinnaker.pollingSafeguard.itemUpperThreshold',
      whole(1).default(1000),
    ).describe(
      'Most jobs of a build server with new builds in one poll; with more, none is reported until an administrator skips them.',
    ),
  },
  {
    'spinnaker.build.processBuildsOlderThanLookBackWindow':
      'Builds that end later than the remembered position are always reported, older ones never.',
  },
)

export type BuildServiceSettings = SettingsOf<typeof buildServiceKeys>

/** Settings of triggers of the embedded event service. */

import { type SettingsOf, setting, settings } from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

export const triggerKeys = settings(
  {
    gitSecret: setting('trigger.git.shared-secret', z.string().min(1).optional()).describe(
      'Secret of git webhooks for triggers that have none of their own.',
    ),
    polls: {
      intervalS: setting(
        'trigger.polls.interval-seconds',
        z.int().min(1).max(86_400).default(30),
      ).describe('Seconds between two polls of a repository or registry for triggers.'),
      programIntervalS: setting(
        'trigger.polls.ssh-interval-seconds',
        z.int().min(1).max(86_400).default(60),
      ).describe('The same for repositories over SSH, for which each poll starts Git.'),
      atATime: setting('trigger.polls.at-a-time', z.int().min(1).max(64).default(4)).describe(
        'Polls that run at a time.',
      ),
      timeoutS: setting(
        'trigger.polls.timeout-seconds',
        z.int().min(1).max(600).default(20),
      ).describe('Longest time of one poll, in seconds.'),
    },
  },
  {
    dockerRegistry:
      'Registries of clouddriver; accounts of the same names in `artifacts.oci.accounts` are polled for triggers.',
  },
)
/** Plain data. */
export type TriggerSettings = SettingsOf<typeof triggerKeys>

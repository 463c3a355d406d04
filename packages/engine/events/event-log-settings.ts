/** Settings of the event log: how many events are kept, and for how long. */

import { type SettingsOf, setting, settings } from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

export const eventLogKeys = settings({
  maxEvents: setting(
    'event-log.max-events',
    z.int().min(100).max(1_000_000).default(10_000),
  ).describe(
    'Most events of triggers that the embedded event service keeps, with what they started or why they started nothing.',
  ),
  maxDays: setting('event-log.max-days', z.int().min(1).max(3650).default(14)).describe(
    'Days after which an event is removed.',
  ),
})
/** Plain data. */
export type EventLogSettings = SettingsOf<typeof eventLogKeys>

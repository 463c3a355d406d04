/** Settings of event streams. */
import {
  duration,
  type SettingsOf,
  setting,
  settings,
  whole,
} from '@fairlead/base/settings/setting.ts'

const interval = (byDefault: string) =>
  duration('ms')
    .refine((ms) => ms >= 100 && ms <= 3_600_000, 'must be between 100ms and 1h')
    .prefault(byDefault)

export const liveSettings = settings({
  maxStreams: setting('live.maxStreams', whole(0, 100_000).default(1000)).describe(
    'Event streams that one replica serves at once; 0 switches them off.',
  ),
  maxStreamsPerUser: setting('live.maxStreamsPerUser', whole(1, 100_000).default(50)).describe(
    'Event streams of one user at once; without login, of one client address.',
  ),
  heartbeatMs: setting('live.heartbeat', interval('25s')).describe(
    'Pause between two heartbeats, so that proxies keep an idle stream open.',
  ),
  maxAgeMs: setting('live.maxAge', interval('15m')).describe(
    'Age at which Fairlead ends a stream. The client connects again, and its credentials are checked anew.',
  ),
  pollMs: setting('live.pollInterval', interval('2s')).describe(
    'With an external orca: pause between two reads of what a client listens to, while it runs.',
  ),
  idlePollMs: setting('live.idlePollInterval', interval('10s')).describe(
    'The same while nothing of it runs.',
  ),
})
export type LiveSettings = SettingsOf<typeof liveSettings>

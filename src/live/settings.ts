/** Settings of event streams. */
import { z } from 'zod'
import { duration } from '../setting.ts'

/** As far as a timer reaches, and no shorter than a service should be asked. */
const interval = (byDefault: string) =>
  duration('ms')
    .refine((ms) => ms >= 100 && ms <= 3_600_000, 'must be between 100ms and 1h')
    .prefault(byDefault)

export const LiveKeys = z.strictObject({
  'live.maxStreams': z
    .int()
    .min(0)
    .max(100_000)
    .default(1000)
    .describe('Event streams that one replica serves at once; 0 switches them off.'),
  'live.maxStreamsPerUser': z
    .int()
    .min(1)
    .max(100_000)
    .default(50)
    .describe('Event streams of one user at once; without login, of one client address.'),
  'live.heartbeat': interval('25s').describe('Pause between two heartbeats, so that proxies keep an idle stream open.'),
  'live.maxAge': interval('15m').describe(
    'Age at which Fairlead ends a stream. The client connects again, and its credentials are checked anew.',
  ),
  'live.pollInterval': interval('2s').describe(
    'With an external orca: pause between two reads of what a client listens to, while it runs.',
  ),
  'live.idlePollInterval': interval('10s').describe('The same while nothing of it runs.'),
})
export type LiveKeys = z.infer<typeof LiveKeys>

export type LiveSettings = ReturnType<typeof toLiveSettings>

export function toLiveSettings(keys: LiveKeys) {
  return {
    maxStreams: keys['live.maxStreams'],
    maxStreamsPerUser: keys['live.maxStreamsPerUser'],
    heartbeatMs: keys['live.heartbeat'],
    maxAgeMs: keys['live.maxAge'],
    pollMs: keys['live.pollInterval'],
    idlePollMs: keys['live.idlePollInterval'],
  }
}

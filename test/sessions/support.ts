/** Opens a session store in a directory that goes away with the test. */
import type { TestContext } from 'node:test'
import pino from 'pino'
import { openSessions, type Sessions } from '../../packages/gateway/sessions/sessions.ts'
import type { SessionSettings } from '../../packages/gateway/sessions/settings.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'

export const silentLog = pino({ level: 'silent' })

export const sessionSettings: SessionSettings = {
  idleMs: 3_600_000,
  absoluteMs: 7 * 86_400_000,
  maxPerUser: 10_000,
  cookie: {
    name: 'SESSION',
    domain: undefined,
    secure: 'auto',
    maxAgeSeconds: undefined,
    sameSite: undefined,
  },
}

export function temporaryDirectory(t: TestContext): string {
  const directory = createFolder('sessions')
  t.after(() => removeFolder(directory))
  return directory
}

export interface Clock {
  nowMs: number
  now: () => number
}

export function createClock(nowMs = 1_700_000_000_000): Clock {
  const clock = { nowMs, now: () => clock.nowMs }
  return clock
}

export function openTestSessions(
  t: TestContext,
  dataDir: string,
  clock: Clock,
  settings: Partial<SessionSettings> = {},
): Sessions {
  const sessions = openSessions({
    settings: { ...sessionSettings, ...settings },
    dataDir,
    contextPath: '',
    log: silentLog,
    now: clock.now,
  })
  t.after(() => sessions.close())
  return sessions
}

/** Runs as a process of its own: starts sessions without end and prints each identifier once it is saved, until it is killed. */
import pino from 'pino'
import { openSessions } from '../../packages/gateway/sessions/sessions.ts'
import { sessionSettings } from './support.ts'

const dataDir = process.argv[2] as string
const sessions = openSessions({
  settings: sessionSettings,
  dataDir,
  contextPath: '',
  log: pino({ level: 'silent' }),
})

for (let index = 0; ; index++) {
  const username = `user${index}`
  const { id } = await sessions.start({
    user: {
      username,
      email: null,
      firstName: null,
      lastName: null,
      roles: [],
      allowedAccounts: [],
      method: 'form',
    },
    loggedInAtMs: Date.now(),
  })
  await new Promise((resolve) => process.stdout.write(`${id} ${username}\n`, resolve))
}

/** A session in which somebody is logged in. */
import type { SessionContent } from '../../packages/gateway/sessions/session.ts'

export const alice: SessionContent = {
  user: {
    username: 'alice',
    email: null,
    firstName: null,
    lastName: null,
    roles: ['dev'],
    allowedAccounts: ['prod'],
    method: 'form',
  },
  loggedInAtMs: 1_700_000_000_000,
  credentialStamp: '7',
}

/** Artifacts that an address names: `http/file`, as clouddriver has them. */

import {
  type AccountCredentials,
  authorizationFor,
  checkHosts,
  credentialKeys,
} from '@fairlead/base/outside/account-credentials.ts'
import { createSource } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { z } from 'zod'
import { type ArtifactAccount, listedAccounts } from './account-type.ts'

export const httpArtifacts = listedAccounts({
  id: 'http',
  enabled:
    'Fetch artifacts of type `http/file`. The account `no-auth-http-account` needs no settings.',
  accounts: 'Accounts for artifacts that need a login.',
  account: z.strictObject(credentialKeys),
  check: checkHosts,
  open: openAccounts,
})

function openAccounts(
  accounts: readonly AccountCredentials[],
  { settings: { outside } }: BackendContext,
): ArtifactAccount[] {
  const open = createSource({ outside })
  return [{ name: 'no-auth-http-account' }, ...accounts].map((account: AccountCredentials) => ({
    name: account.name,
    types: ['http/file'],
    async fetch({ reference }) {
      if (reference === undefined)
        throw new PortError(400, 'An artifact of type http/file needs its address as "reference".')
      const authorization = await authorizationFor(account, URL.parse(reference)?.hostname ?? '')
      return (
        await open()(reference, {
          credentials: authorization === undefined ? {} : { authorization },
        })
      ).bytes
    },
  }))
}

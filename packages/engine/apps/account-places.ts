/** Places of accounts that an app file names. */
import { list, or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import type { AppPlace } from './compile.ts'

const toAccount = shape({
  name: or(textOf, ''),
  provider: [or(textOf, ''), 'cloudProvider', 'type'],
  regions: list(shape({ name: or(textOf, '') })),
  namespaces: textsOf,
})

/**
 * The first region of the account.
 *
 * @param listed As the infrastructure lists them for the caller
 * @throws {PortError} 400 when the caller sees no such account, or apps cannot run there
 */
export function readAccountPlace(listed: readonly JsonObject[], name: string): AppPlace {
  const accounts = listed.map(toAccount)
  const found = accounts.find((account) => account.name === name)
  if (found === undefined) {
    const names = accounts.map((account) => account.name).join(', ')
    throw new PortError(
      400,
      `There is no account "${name}"${names === '' ? '' : `, only ${names}`}. Correct "account" in the app file, or ask an administrator for access.`,
    )
  }
  const { provider, regions } = found
  if (provider !== standalone.provider) {
    throw new PortError(
      400,
      `The account ${name} is one of ${provider}. Apps are deployed to accounts of this machine.`,
    )
  }
  return { provider, account: name, region: regions[0]?.name ?? standalone.region }
}

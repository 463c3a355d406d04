/** Values of secrets for the back ends of a process, with or without the store of secrets in it. */

import { PortError } from '@fairlead/base/port-error.ts'
import { allReferencesIn } from '@fairlead/model/secrets/secret-references.ts'
import type { SecretValues } from '@fairlead/ports/secrets.ts'

/** @param find The store; undefined while it is not opened, or where it is elsewhere */
export function passSecretsOn(find: () => SecretValues | undefined): SecretValues {
  return {
    async reveal(value, use) {
      const store = find()
      if (store !== undefined) return store.reveal(value, use)
      const [first] = allReferencesIn(value)
      if (first === undefined) return { value, secrets: [], versions: [] }
      throw absent(`secret:${first}`)
    },
    seal: (text, place) => storeOf(find).seal(text, place),
    unseal: (sealed, place) => storeOf(find).unseal(sealed, place),
    reseal: (sealed, place) => storeOf(find).reseal(sealed, place),
  }
}

function storeOf(find: () => SecretValues | undefined): SecretValues {
  const store = find()
  if (store === undefined) throw absent('A secret')
  return store
}

function absent(what: string): PortError {
  return new PortError(
    400,
    `${what} cannot be used: secrets, also those of Vault and of files, need the embedded definition store, but services.front50 is set. ` +
      'Remove services.front50, or the reference.',
  )
}

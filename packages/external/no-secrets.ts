/** Secrets where definitions are in a Front50, which keeps none. */
import { PortError } from '@fairlead/base/port-error.ts'
import { allReferencesIn } from '@fairlead/model/secrets/secret-references.ts'
import type { SecretValues } from '@fairlead/ports/secrets.ts'

export const noSecrets: SecretValues = {
  async reveal(value) {
    const [first] = allReferencesIn(value)
    if (first === undefined) return { value, secrets: [], versions: [] }
    throw absent(`secret:${first}`)
  },
  isSet: () => false,
  seal: refuse,
  unseal: refuse,
  reseal: refuse,
}

function refuse(): never {
  throw absent('A secret')
}

function absent(what: string): PortError {
  return new PortError(
    400,
    `${what} cannot be used: secrets, also those of Vault and of files, need the embedded definition store, but services.front50 is set. ` +
      'Remove services.front50, or the reference.',
  )
}

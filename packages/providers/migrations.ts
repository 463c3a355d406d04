/** SQL scripts of providers, as the back ends that open them list theirs. */
import type { Backend } from '@fairlead/ports/backend.ts'
import type { ProviderType } from './provider-type.ts'

/** @param own Scripts of the back end, which come first */
export function migrationsOf(
  types: readonly ProviderType[],
  own: readonly string[],
  scriptsOf: (type: ProviderType) => readonly string[],
): Pick<Backend, 'migrations' | 'partMigrations'> {
  const [shared, separate] = [true, false].map((is) => types.filter((type) => (type.sharesMigrations === true) === is))
  return {
    migrations: [...own, ...(shared ?? []).flatMap(scriptsOf)],
    partMigrations: Object.fromEntries((separate ?? []).map((type) => [type.id, scriptsOf(type)])),
  }
}

/** Databases beside an app: their names, and the variables that lead services there. */
import type { AppHere, AttachmentHere } from './merge-environment.ts'

/** Label of server groups that are a database of an app, with its type. */
export const databaseLabel = 'fairlead.database'

const schemes: Readonly<Record<AttachmentHere['type'], string>> = {
  postgresql: 'postgresql',
  mariadb: 'mysql',
  redis: 'redis',
  valkey: 'redis',
}

/**
 * Name of a password among the secrets of the application.
 *
 * @param generation How often the password was rotated; those with odd numbers are of the second user
 */
export function passwordSecretOf(
  { environment }: Pick<AppHere, 'environment'>,
  name: string,
  generation: number,
): string {
  return `database-${name}-${environment}${generation === 0 ? '' : `-${generation}`}`
}

/** The databases of an environment that Fairlead runs. */
export function ownDatabases({ attach }: Pick<AppHere, 'attach'>): AttachmentHere[] {
  return attach.filter(({ external }) => external === undefined)
}

/** Where services find a database. */
interface DatabaseAddress {
  readonly port: number
  /** Of the password. */
  readonly generation: number
}

/** An environment whose services find its databases: by variables with references to passwords. */
export function withDatabases(
  here: AppHere,
  addressOf: (attachment: AttachmentHere) => DatabaseAddress,
): AppHere {
  const own = ownDatabases(here)
  if (own.length === 0) return here
  const variables = Object.assign(
    {},
    ...own.map((each) => variablesOf(here, each, addressOf(each))),
  ) as Record<string, string>
  const secrets = Object.entries(here.secrets).filter(([name]) => !Object.hasOwn(variables, name))
  return {
    ...here,
    env: { ...variables, ...here.env },
    secrets: Object.fromEntries(secrets),
  }
}

function variablesOf(
  here: Pick<AppHere, 'application' | 'environment'>,
  { name, type, variable }: AttachmentHere,
  { port, generation }: DatabaseAddress,
): Record<string, string> {
  const { application } = here
  const user = generation % 2 === 0 ? application : `${application}_b`
  const secret = passwordSecretOf(here, name, generation)
  const password = `secret:{${secret}}`
  const place = `127.0.0.1:${port}`
  if (type === 'redis' || type === 'valkey')
    return { [variable]: `${schemes[type]}://:${password}@${place}/0` }
  const url = { [variable]: `${schemes[type]}://${user}:${password}@${place}/${application}` }
  if (type !== 'postgresql' || variable !== 'DATABASE_URL') return url
  const parts = { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: user, PGDATABASE: application }
  return { ...url, ...parts, PGPASSWORD: `secret:${secret}` }
}

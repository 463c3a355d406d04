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

/** Name of the password among the secrets of the application. */
export function passwordSecretOf(
  { environment }: Pick<AppHere, 'environment'>,
  name: string,
): string {
  return `database-${name}-${environment}`
}

/** The databases of an environment that Fairlead runs. */
export function ownDatabases({ attach }: Pick<AppHere, 'attach'>): AttachmentHere[] {
  return attach.filter(({ external }) => external === undefined)
}

/**
 * An environment whose services find its databases: by variables with references to passwords.
 *
 * @param portOf Undefined: it has none yet
 */
export function withDatabases(
  here: AppHere,
  portOf: (attachment: AttachmentHere) => number | undefined,
): AppHere {
  const own = ownDatabases(here)
  if (own.length === 0) return here
  const variables = Object.assign(
    {},
    ...own.map((each) => variablesOf(here, each, portOf(each) ?? 0)),
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
  port: number,
): Record<string, string> {
  const { application: user } = here
  const password = `secret:{${passwordSecretOf(here, name)}}`
  const place = `127.0.0.1:${port}`
  if (type === 'redis' || type === 'valkey')
    return { [variable]: `${schemes[type]}://:${password}@${place}/0` }
  const url = { [variable]: `${schemes[type]}://${user}:${password}@${place}/${user}` }
  if (type !== 'postgresql' || variable !== 'DATABASE_URL') return url
  const parts = { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: user, PGDATABASE: user }
  return { ...url, ...parts, PGPASSWORD: `secret:${passwordSecretOf(here, name)}` }
}

/** All kinds of build servers. */
import { z } from 'zod'
import type { SettingsReport } from '../../settings/setting.ts'
import type { BackendContext } from '../backend.ts'
import type { BuildServer, BuildServerType } from './build-server.ts'

export const buildServerTypes: readonly BuildServerType[] = []

export const BuildServerKeys = z.strictObject(
  Object.assign({}, ...buildServerTypes.map(({ keys }) => keys.shape)) as z.core.$ZodShape,
)

/** Settings of the kinds that the configuration connects, by their ids. */
export function toBuildServerSettings(keys: object, report: SettingsReport): Readonly<Record<string, object>> {
  const connected = buildServerTypes.flatMap((type) => {
    const settings = type.toSettings(keys, report)
    return settings === undefined ? [] : [[type.id, settings] as const]
  })
  return Object.fromEntries(connected)
}

export function openBuildServers(context: BackendContext): ReadonlyMap<string, BuildServer> {
  const { buildServers = {} } = context.settings
  const servers = buildServerTypes.flatMap((type) => {
    const settings = buildServers[type.id]
    return settings === undefined ? [] : type.open(settings, context)
  })
  return new Map(servers.map((server) => [server.name, server]))
}

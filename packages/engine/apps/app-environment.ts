/** Names of what an environment of an app file runs, and the file with all its environments. */

import { createHash } from 'node:crypto'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { AppFile } from '@fairlead/model/app-file/app-file.ts'
import { toExecutable } from '@fairlead/model/app-file/detect/shell.ts'
import {
  type AppHere,
  environmentNamesOf,
  mergeEnvironment,
  type ServiceHere,
} from '@fairlead/model/app-file/merge-environment.ts'
import { appFilePath, formatProblem, readAppFile } from '@fairlead/model/app-file/read-app-file.ts'
import type { Command } from '@fairlead/model/app-file/values.ts'

/** An app file whose environments are worked out, in the order of promotion. */
export interface ReadApp {
  readonly application: string
  /** Digest of the file's text. */
  readonly digest: string
  readonly environments: readonly AppHere[]
}

const primary = 'production'

/** @throws {PortError} 400 with all that is wrong, each with its line */
export function readFile(text: string): AppFile {
  const { file, problems } = readAppFile(text)
  if (file === undefined) {
    const count = problems.length === 1 ? 'an error' : `${problems.length} errors`
    throw new PortError(
      400,
      `${appFilePath} has ${count}. ${problems.map((each) => formatProblem(each)).join(' ')}`,
      { errors: problems },
    )
  }
  return file
}

/** @throws {PortError} as `readFile` */
export function readApp(text: string): ReadApp {
  const file = readFile(text)
  return {
    application: file.application,
    digest: createHash('sha256').update(text).digest('hex'),
    environments: environmentNamesOf(file).map((name) => mergeEnvironment(file, name)),
  }
}

/** Name of the cluster of a service. */
export function clusterOf(
  { application, environment }: Pick<AppHere, 'application' | 'environment'>,
  service: string,
): string {
  return environment === primary
    ? `${application}-${service}`
    : `${application}-${environment}-${service}`
}

/** Stack and detail of that name: the stack ends at the first hyphen. */
export function clusterParts(
  application: string,
  cluster: string,
): { readonly stack: string; readonly freeFormDetails?: string } {
  const rest = cluster.slice(application.length + 1)
  const end = rest.indexOf('-')
  return end === -1
    ? { stack: rest }
    : { stack: rest.slice(0, end), freeFormDetails: rest.slice(end + 1) }
}

/** A text is run by a shell, which it replaces. */
export function commandWords(command: Command): string[] {
  return typeof command === 'string' ? ['sh', '-c', `exec ${toExecutable(command)}`] : [...command]
}

/** Server groups that stay for a rollback, the serving one included. */
export const keptGroups = 2
const usualCanaryPercent = 10
const usualCanaryMs = 10 * 60_000

/** Steps of a new version of a service, where requests come in and the file wants them. */
export function canaryOf(
  { promote }: AppHere,
  { strategy, hosts }: Pick<ServiceHere, 'strategy' | 'hosts'>,
): { readonly steps: readonly JsonObject[] } | undefined {
  if (promote?.canary === undefined || hosts.length === 0 || strategy !== 'redblack')
    return undefined
  const { percent = usualCanaryPercent, duration = usualCanaryMs, config } = promote.canary
  const seconds = duration / 1000
  const canaryConfig = { canaryConfigName: config, lifetimeDuration: `PT${seconds}S` }
  const look = config === undefined ? { pauseSeconds: seconds } : { analysis: { canaryConfig } }
  return { steps: [{ percent, ...look }] }
}

/** A version that has served before needs no proof. */
export function withoutCanary(here: AppHere): AppHere {
  const { promote } = here
  return promote?.canary === undefined
    ? here
    : { ...here, promote: { ...promote, canary: { percent: 100, duration: 0 } } }
}

/** Names of secrets by variable, with those of databases that run elsewhere. */
export function secretsOf({ secrets, attach }: AppHere): Readonly<Record<string, string>> {
  const external = attach.flatMap(({ variable, external: name }) =>
    name === undefined ? [] : [[variable, name] as const],
  )
  return { ...secrets, ...Object.fromEntries(external) }
}

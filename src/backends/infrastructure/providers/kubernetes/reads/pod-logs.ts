/** Consoles of pods, and what jobs have printed for the pipeline. */
import type { JsonObject } from '../../../../../json/values.ts'
import type { ConsoleView, LogChoice } from '../../../provider.ts'
import { isApiError } from '../api/api-error.ts'
import { parseFullName } from '../full-name.ts'
import { builtInKind } from '../kinds.ts'
import { monikerOf } from '../manifests/moniker.ts'
import type { KubernetesAccount } from '../parts.ts'
import { containersOf, type LogBounds, propertiesIn, readLog, readLogs } from './logs.ts'
import { findObject } from './object-lookup.ts'

interface PodPlace {
  readonly namespace: string
  /** Full name. */
  readonly name: string
}

/** Undefined where the name is not that of a pod. @throws {BackendError} 5xx */
export async function readConsole(
  account: KubernetesAccount,
  { namespace, name }: PodPlace,
  query: { readonly choice: LogChoice; readonly bounds: LogBounds; readonly tailLines: number | undefined },
): Promise<ConsoleView | undefined> {
  const parsed = parseFullName(name)
  if (parsed === undefined || builtInKind(parsed)?.name !== 'pod') return undefined
  const found = await findObject(account, namespace, name)
  if (found === undefined) return { output: [{ name: 'Error', output: `There is no ${name} in ${namespace} any more.` }] }
  const { object } = found
  const { container } = query.choice
  if (container !== undefined && !containersOf(object).includes(container)) {
    return { output: [{ name: 'Error', output: `${name} has no container ${container}.` }] }
  }
  return { output: await readLogs(account.api, object, query), owner: monikerOf(object).app }
}

/** Properties that a container of one of the pods has printed, the latest pod first; undefined: there is no such log. */
export async function readProperties(
  account: KubernetesAccount,
  { namespace, pods, container }: { readonly namespace: string; readonly pods: readonly string[]; readonly container: string },
  bounds: LogBounds,
): Promise<JsonObject | undefined> {
  for (const name of pods.toReversed()) {
    const log = await readLog(account.api, { namespace, name }, { container }, bounds).catch((error: unknown) => {
      if (isApiError(error, 400, 404)) return undefined
      throw error
    })
    const properties = log === undefined ? {} : propertiesIn(log)
    if (Object.keys(properties).length > 0) return properties
  }
  return undefined
}

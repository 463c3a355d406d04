/** Consoles of pods, and what jobs have printed for the pipeline. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Access } from '@fairlead/ports/access.ts'
import type { Owned } from '../../infrastructure/model.ts'
import type { ConsoleView, LogChoice, PodContainer } from '../../infrastructure/provider.ts'
import { checkOwned } from '../../infrastructure/route.ts'
import { isApiError } from '../api/api-error.ts'
import { loadOwned } from '../controllers.ts'
import { parseFullName } from '../full-name.ts'
import { builtInKind } from '../kinds.ts'
import type { KubernetesAccount, KubernetesParts } from '../parts.ts'
import { containersOf, type LogBounds, propertiesIn, readLog, readLogs } from './logs.ts'
import { answered, findObject } from './object-lookup.ts'

interface PodPlace {
  readonly namespace: string
  /** Full name. */
  readonly name: string
}

/** @throws {PortError} 5xx */
export async function ownerOfObject(account: KubernetesAccount, { namespace, name }: PodPlace): Promise<Owned | undefined> {
  const found = await findObject(account, namespace, name)
  return found && loadOwned(account, found.object)
}

/** Undefined where the name is not that of a pod. @throws {PortError} 5xx */
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
  const owned = await loadOwned(account, object)
  const { container } = query.choice
  if (container !== undefined && !containersOf(object).includes(container)) {
    return { output: [{ name: 'Error', output: `${name} has no container ${container}.` }], owned }
  }
  return { output: await readLogs(account.api, object, query), owned }
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

/** What a container of a pod has printed for a pipeline. @throws {PortError} 403, 5xx */
export async function propertiesOfPod(
  { account: name, location, pod, container }: PodContainer,
  access: Access,
  parts: KubernetesParts,
): Promise<JsonObject | undefined> {
  const account = parts.account(name)
  const found = account && (await findObject(account, location, `pod ${pod}`))
  if (account === undefined || found === undefined) return undefined
  checkOwned(access, await loadOwned(account, found.object))
  const log = { namespace: location, pods: [pod], container }
  return answered(account, () => readProperties(account, log, parts.settings.log))
}

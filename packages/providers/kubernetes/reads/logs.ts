/** Logs of containers: the newest lines, within bounds. */

import { parseJson } from '@fairlead/base/json/json.ts'
import { maybeObject } from '@fairlead/base/json/shape.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Access } from '@fairlead/ports/access.ts'
import type { Owned } from '../../infrastructure/model.ts'
import type { ConsoleView, LogChoice, PodContainer } from '../../infrastructure/provider.ts'
import { checkOwned } from '../../infrastructure/route.ts'
import { isApiError } from '../api/api-error.ts'
import type { ClusterApi, PodLogQuery } from '../api/cluster-api.ts'
import { loadOwned } from '../controllers.ts'
import { builtInKind, parseFullName } from '../kinds.ts'
import { toPod } from '../objects/pod.ts'
import type { KubeObject } from '../objects.ts'
import type { KubernetesAccount, KubernetesParts } from '../parts.ts'
import { answered, findObject } from './object-lookup.ts'

export interface LogBounds {
  readonly lines: number
  readonly bytes: number
}

interface PodName {
  readonly namespace: string
  readonly name: string
}

interface LogQuery {
  readonly choice: LogChoice
  readonly bounds: LogBounds
  readonly tailLines: number | undefined
}

/** The API server cuts the end of what it sends: fewer lines are asked for until they fit. */
const narrowing = 4
const mostNarrowings = 6

/** A first line says that something is missing. */
async function readLog(
  api: ClusterApi,
  pod: PodName,
  query: PodLogQuery,
  bounds: LogBounds,
): Promise<string> {
  let lines = Math.min(query.tailLines ?? bounds.lines, bounds.lines)
  // A wish for fewer lines is no cut.
  let isCut = false
  for (let round = 0; ; round++) {
    const text = await api.log(pod, {
      ...query,
      tailLines: lines + 1,
      limitBytes: bounds.bytes + 1,
    })
    const isWhole = Buffer.byteLength(text) <= bounds.bytes
    if (isWhole || round === mostNarrowings || lines <= 1) {
      const newest = newestLines(text, lines)
      const hasMore =
        newest.length < text.length &&
        (query.tailLines === undefined || query.tailLines > bounds.lines)
      return isCut || !isWhole || hasMore ? `${cutNotice(bounds)}\n${newest}` : newest
    }
    isCut = true
    lines = Math.max(1, Math.floor(lines / narrowing))
  }
}

function newestLines(text: string, count: number): string {
  let start = text.length
  let from = text.endsWith('\n') ? text.length - 2 : text.length - 1
  for (let found = 0; found < count; found++) {
    const at = from < 0 ? -1 : text.lastIndexOf('\n', from)
    start = at + 1
    if (at < 0) return text
    from = at - 1
  }
  return text.slice(start)
}

function cutNotice({ lines, bytes }: LogBounds): string {
  return `[Older lines are left out: at most ${lines} lines and ${bytes} bytes are shown (kubernetes.logs).]`
}

function containersOf(pod: KubeObject): string[] {
  const { initContainers, containers, ephemeralContainers } = toPod(pod).spec
  return [...initContainers, ...containers, ...ephemeralContainers].flatMap(
    ({ name }) => name ?? [],
  )
}

/** One for each container; a log that cannot be read is its error. */
function readLogs(
  api: ClusterApi,
  pod: KubeObject,
  { choice, bounds, tailLines }: LogQuery,
): Promise<{ name: string; output: string }[]> {
  const { namespace = '', name } = pod.metadata
  const chosen = containersOf(pod).filter(
    (container) => choice.container === undefined || container === choice.container,
  )
  return Promise.all(
    chosen.map(async (container) => {
      const query = {
        container,
        ...(choice.previous === true && { previous: true }),
        ...(tailLines !== undefined && { tailLines }),
      }
      const output = await readLog(api, { namespace, name }, query, bounds).catch(describeProblem)
      return { name: container, output }
    }),
  )
}

function describeProblem(error: unknown): string {
  if (isApiError(error)) return error.message
  throw error
}

const propertyMarker = 'SPINNAKER_PROPERTY_'
const configMarker = 'SPINNAKER_CONFIG_JSON='

/** Properties that a container has printed; a broken JSON object makes all of them void. */
function propertiesIn(log: string): JsonObject {
  const properties: JsonObject = {}
  for (const line of log.split('\n')) {
    const text = line.trim()
    if (text.startsWith(configMarker)) {
      const config = parseConfig(text.slice(configMarker.length))
      if (config === undefined) return {}
      Object.assign(properties, config)
      continue
    }
    const at = text.indexOf(propertyMarker)
    const [, key = '', value = ''] =
      at < 0 ? [] : (/^([^=]+)=(.*)$/s.exec(text.slice(at + propertyMarker.length)) ?? [])
    if (key !== '' && value !== '') properties[key.trim().toLowerCase()] = value.trim()
  }
  return properties
}

function parseConfig(text: string): JsonObject | undefined {
  try {
    return maybeObject(parseJson(text))
  } catch {
    return undefined
  }
}

/** @throws {PortError} 5xx */
export async function ownerOfObject(
  account: KubernetesAccount,
  { namespace, name }: PodName,
): Promise<Owned | undefined> {
  const found = await findObject(account, namespace, name)
  return found && loadOwned(account, found.object)
}

/** Undefined where the name is not that of a pod. @throws {PortError} 5xx */
export async function readConsole(
  account: KubernetesAccount,
  { namespace, name }: PodName,
  query: LogQuery,
): Promise<ConsoleView | undefined> {
  const parsed = parseFullName(name)
  if (parsed === undefined || builtInKind(parsed)?.name !== 'pod') return undefined
  const found = await findObject(account, namespace, name)
  if (found === undefined)
    return { output: [{ name: 'Error', output: `There is no ${name} in ${namespace} any more.` }] }
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
  {
    namespace,
    pods,
    container,
  }: { readonly namespace: string; readonly pods: readonly string[]; readonly container: string },
  bounds: LogBounds,
): Promise<JsonObject | undefined> {
  for (const name of pods.toReversed()) {
    const log = await readLog(account.api, { namespace, name }, { container }, bounds).catch(
      (error: unknown) => {
        if (isApiError(error, 400, 404)) return undefined
        throw error
      },
    )
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

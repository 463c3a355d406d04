/** Logs of containers: the newest lines, within bounds. */
import { parseJson } from '@fairlead/base/json/json.ts'
import { fieldAt, isObject, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import type { LogChoice } from '../../infrastructure/provider.ts'
import { isApiError } from '../api/api-error.ts'
import type { ClusterApi, LogQuery } from '../api/cluster-api.ts'
import type { KubeObject } from '../objects.ts'

export interface LogBounds {
  readonly lines: number
  readonly bytes: number
}

interface PodName {
  readonly namespace: string
  readonly name: string
}

/** The API server cuts the end of what it sends: fewer lines are asked for until they fit. */
const narrowing = 4
const mostNarrowings = 6

/** A first line says that something is missing. */
export async function readLog(api: ClusterApi, pod: PodName, query: LogQuery, bounds: LogBounds): Promise<string> {
  let lines = Math.min(query.tailLines ?? bounds.lines, bounds.lines)
  // A wish for fewer lines is no cut.
  let isCut = false
  for (let round = 0; ; round++) {
    const text = await api.log(pod, { ...query, tailLines: lines + 1, limitBytes: bounds.bytes + 1 })
    const isWhole = Buffer.byteLength(text) <= bounds.bytes
    if (isWhole || round === mostNarrowings || lines <= 1) {
      const newest = newestLines(text, lines)
      const hasMore = newest.length < text.length && (query.tailLines === undefined || query.tailLines > bounds.lines)
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

/** Init containers first, then containers, as the pod lists them. */
export function containersOf(pod: KubeObject): string[] {
  const lists = ['initContainers', 'containers', 'ephemeralContainers']
  return lists.flatMap((list) => objectsOf(fieldAt(pod, 'spec', list)).flatMap(({ name }) => textOf(name) ?? []))
}

/** One for each container; a log that cannot be read is its error. */
export function readLogs(
  api: ClusterApi,
  pod: KubeObject,
  {
    choice,
    bounds,
    tailLines,
  }: { readonly choice: LogChoice; readonly bounds: LogBounds; readonly tailLines: number | undefined },
): Promise<{ name: string; output: string }[]> {
  const { namespace = '', name } = pod.metadata
  const chosen = containersOf(pod).filter((container) => choice.container === undefined || container === choice.container)
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
export function propertiesIn(log: string): JsonObject {
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
    const [, key = '', value = ''] = at < 0 ? [] : (/^([^=]+)=(.*)$/s.exec(text.slice(at + propertyMarker.length)) ?? [])
    if (key !== '' && value !== '') properties[key.trim().toLowerCase()] = value.trim()
  }
  return properties
}

function parseConfig(text: string): JsonObject | undefined {
  try {
    const config = parseJson(text)
    return isObject(config) ? config : undefined
  } catch {
    return undefined
  }
}

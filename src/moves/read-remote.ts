/** Definitions of a Front50, or of a Gate or another Fairlead, by its API. */
import { parseJson } from '../json/json.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../json/values.ts'
import { contentOf, type Kind, type MovedObject } from './kinds.ts'

export interface RemoteSource {
  /** Without a slash at its end. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** So many versions of a pipeline are read. */
  readonly mostVersions: number
}

const answerMs = 60_000

/** Lists of Front50; histories are below the second path. */
const lists: readonly { kind: Kind; path: string; historyPath?: string }[] = [
  { kind: 'serviceAccounts', path: '/serviceAccounts' },
  { kind: 'templates', path: '/pipelineTemplates' },
  { kind: 'applications', path: '/v2/applications' },
  { kind: 'permissions', path: '/permissions/applications' },
  { kind: 'projects', path: '/v2/projects' },
  { kind: 'notifications', path: '/notifications' },
  { kind: 'pipelines', path: '/pipelines', historyPath: '/pipelines' },
  { kind: 'strategies', path: '/strategies', historyPath: '/strategies' },
]

/** Whether the address is that of a Front50; otherwise it is a Gate. @throws {Error} when it does not answer */
export async function isFront50(source: RemoteSource): Promise<boolean> {
  return Array.isArray(await read(source, '/v2/applications'))
}

/** @throws {Error} when a list cannot be read; nothing is passed over */
export async function* readFront50(source: RemoteSource): AsyncGenerator<MovedObject, void> {
  for (const { kind, path, historyPath } of lists) {
    for (const document of await readList(source, path)) {
      // Permissions are records of their own.
      const { permissions: _shown, ...application } = document
      const live = kind === 'applications' ? application : document
      yield { kind, versions: historyPath === undefined ? [live] : await readVersions(source, historyPath, live) }
    }
  }
}

/** What the public API shows: neither service accounts nor snapshots, and histories of pipelines only. */
export async function* readGate(source: RemoteSource): AsyncGenerator<MovedObject, void> {
  for (const template of await readList(source, '/pipelineTemplates')) yield { kind: 'templates', versions: [template] }
  for (const project of await readList(source, '/projects')) yield { kind: 'projects', versions: [project] }
  for (const { name } of await readList(source, '/applications')) {
    const path = encodeURIComponent(String(name))
    const { attributes } = objectOf(await read(source, `/applications/${path}?expand=false`))
    // Gate adds accounts of the infrastructure.
    const { permissions, accounts: _found, ...application } = objectOf(attributes)
    yield { kind: 'applications', versions: [{ name, ...application }] }
    if (permissions !== undefined) yield { kind: 'permissions', versions: [{ name, permissions }] }
    const notifications = objectOf(await read(source, `/notifications/application/${path}`))
    if (Object.keys(notifications).length > 0)
      yield { kind: 'notifications', versions: [{ ...notifications, application: name }] }
    for (const pipeline of await readList(source, `/applications/${path}/pipelineConfigs`))
      yield { kind: 'pipelines', versions: await readVersions(source, '/pipelineConfigs', pipeline) }
    for (const strategy of await readList(source, `/applications/${path}/strategyConfigs`))
      yield { kind: 'strategies', versions: [strategy] }
  }
}

async function readVersions(source: RemoteSource, path: string, live: JsonObject): Promise<JsonObject[]> {
  const id = textOf(live['id'])
  if (id === undefined) return [live]
  // A limit of 1 asks for the live object.
  const limit = Math.max(source.mostVersions, 2)
  const versions = objectsOf(await read(source, `${path}/${encodeURIComponent(id)}/history?limit=${limit}`)).reverse()
  const newest = versions.at(-1)
  return newest !== undefined && contentOf(newest) === contentOf(live) ? versions : [...versions, live]
}

async function readList(source: RemoteSource, path: string): Promise<JsonObject[]> {
  const list = await read(source, path)
  if (!Array.isArray(list))
    throw new Error(`${source.url}${path} has no list. Check that --from is the address of Front50 or Gate.`)
  return objectsOf(list)
}

/** Undefined for 404. */
async function read({ url, headers }: RemoteSource, path: string): Promise<unknown> {
  let response: Response
  try {
    // With a token, no other host is followed to.
    response = await fetch(`${url}${path}`, { headers, redirect: 'manual', signal: AbortSignal.timeout(answerMs) })
  } catch (cause) {
    throw new Error(`${url}${path} cannot be read: ${describeCause(cause)}. Check the address of --from.`, { cause })
  }
  const text = await response.text()
  if (response.status === 404) return undefined
  if (response.status === 401 || response.status === 403 || response.status === 302)
    throw new Error(`${url}${path} needs a login (${response.status}): put an API token into FAIRLEAD_TOKEN, or name --user.`)
  if (!response.ok) throw new Error(`${url}${path} answered ${response.status}. Nothing is moved; try again once it answers.`)
  try {
    return parseJson(text)
  } catch (cause) {
    throw new Error(`${url}${path} answered without JSON. Check that --from is the address of Front50 or Gate.`, { cause })
  }
}

function describeCause(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error && cause.message !== '' ? cause.message : message
}

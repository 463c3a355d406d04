/** Definitions of a Front50, or of a Gate or another Fairlead, by its API. */
import { parseJson } from '@fairlead/base/json/json.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { readAnswerBytes } from '@fairlead/base/net/read-answer.ts'
import { contentOf, type DefinitionKind, type MovedObject } from './kinds.ts'

interface RemoteSource {
  /** Without a slash at its end. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** So many versions of a pipeline are read. */
  readonly mostVersions: number
}

const answerMs = 60_000
/** Limit of one list, as for calls of services. */
const maxAnswerBytes = 256 * 1024 * 1024
const toNamed = shape({ id: textOf, name: textOf })
const toApplication = shape({ attributes: objectOf })

interface List {
  readonly kind: DefinitionKind
  readonly path: string
  /** Histories are below it. */
  readonly historyPath?: string
  /** Some storages of Front50 do not keep them. */
  readonly isOptional?: true
}

const applicationsPath = '/v2/applications'
/** Everything, whatever Fiat permits: Front50 compares the names of pipelines with those of applications otherwise. */
const unrestricted = '?restricted=false'

const lists: readonly List[] = [
  { kind: 'serviceAccounts', path: '/serviceAccounts', isOptional: true },
  { kind: 'templates', path: '/pipelineTemplates', isOptional: true },
  { kind: 'applications', path: applicationsPath + unrestricted, historyPath: applicationsPath },
  { kind: 'permissions', path: '/permissions/applications' },
  { kind: 'projects', path: '/v2/projects' },
  { kind: 'notifications', path: '/notifications' },
  { kind: 'pipelines', path: `/pipelines${unrestricted}`, historyPath: '/pipelines' },
  { kind: 'strategies', path: '/strategies', historyPath: '/strategies' },
]

/** Whether the address is that of a Front50; otherwise it is a Gate. @throws {Error} when it does not answer */
export async function isFront50(source: RemoteSource): Promise<boolean> {
  return Array.isArray(await read(source, applicationsPath + unrestricted))
}

/** @throws {Error} when a list cannot be read; nothing is passed over */
export async function* readFront50(source: RemoteSource): AsyncGenerator<MovedObject, void> {
  for (const list of lists) {
    for (const document of await readList(source, list.path, list.isOptional)) {
      // Front50 makes them up for applications without permissions.
      if (list.kind === 'permissions' && document['lastModifiedBy'] === 'auto-generated') continue
      yield {
        kind: list.kind,
        ...(await readVersions(source, list, withoutPermissions(list.kind, document))),
      }
    }
  }
}

/** Permissions are records of their own. */
function withoutPermissions(kind: DefinitionKind, document: JsonObject): JsonObject {
  const { permissions: _shown, ...application } = document
  return kind === 'applications' ? application : document
}

/** What the public API shows: neither service accounts nor snapshots, and histories of pipelines only. */
export async function* readGate(source: RemoteSource): AsyncGenerator<MovedObject, void> {
  for (const template of await readList(source, '/pipelineTemplates'))
    yield { kind: 'templates', versions: [template] }
  for (const project of await readList(source, '/projects'))
    yield { kind: 'projects', versions: [project] }
  for (const { name } of await readList(source, '/applications')) {
    const path = encodeURIComponent(String(name))
    const { attributes } = toApplication(await read(source, `/applications/${path}?expand=false`))
    // Gate adds accounts of the infrastructure.
    const { permissions, accounts: _found, ...application } = attributes
    yield { kind: 'applications', versions: [{ name, ...application }] }
    if (permissions !== undefined) yield { kind: 'permissions', versions: [{ name, permissions }] }
    const notifications = objectOf(await read(source, `/notifications/application/${path}`))
    if (Object.keys(notifications).length > 0)
      yield { kind: 'notifications', versions: [{ ...notifications, application: name }] }
    for (const pipeline of await readList(source, `/applications/${path}/pipelineConfigs`))
      yield {
        kind: 'pipelines',
        ...(await readVersions(
          source,
          { kind: 'pipelines', historyPath: '/pipelineConfigs' },
          pipeline,
        )),
      }
    for (const strategy of await readList(source, `/applications/${path}/strategyConfigs`))
      yield { kind: 'strategies', versions: [strategy] }
  }
}

async function readVersions(
  source: RemoteSource,
  { kind, historyPath }: Pick<List, 'kind' | 'historyPath'>,
  live: JsonObject,
): Promise<Pick<MovedObject, 'versions' | 'lacksHistory'>> {
  const { id, name } = toNamed(live)
  const key = kind === 'applications' ? name?.toLowerCase() : id
  if (historyPath === undefined || key === undefined) return { versions: [live] }
  // A limit of 1 asks for the live object.
  const limit = Math.max(source.mostVersions, 2)
  // Servers such as Tomcat reject a slash in a path, however it is written.
  const isReadable = !/[/\\]/.test(key)
  const found = isReadable
    ? await read(source, `${historyPath}/${encodeURIComponent(key)}/history?limit=${limit}`)
    : undefined
  const [newest, ...older] = objectsOf(found).map((version) => withoutPermissions(kind, version))
  if (newest === undefined) return { versions: [live], lacksHistory: true }
  const isWhole = contentOf(newest) === contentOf(live)
  return { versions: [...older.reverse(), newest, ...(isWhole ? [] : [live])] }
}

async function readList(
  source: RemoteSource,
  path: string,
  isOptional = false,
): Promise<JsonObject[]> {
  const list = await read(source, path, isOptional)
  if (list === undefined && isOptional) return []
  if (!Array.isArray(list))
    throw new Error(
      `${source.url}${path} has no list. Check that --from is the address of Front50 or Gate.`,
    )
  return objectsOf(list)
}

/** Undefined for 404, and for 400 where a storage may not support the list. */
async function read(
  { url, headers }: RemoteSource,
  path: string,
  isOptional = false,
): Promise<unknown> {
  let response: Response
  try {
    // With a token, no other host is followed to.
    response = await fetch(`${url}${path}`, {
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(answerMs),
    })
  } catch (cause) {
    throw new Error(
      `${url}${path} cannot be read: ${describeCause(cause)}. Check the address of --from.`,
      { cause },
    )
  }
  const bytes = await readAnswerBytes(
    response,
    maxAnswerBytes,
    () =>
      new Error(`${url}${path} answered with more than ${maxAnswerBytes} bytes. Nothing is moved.`),
  )
  if (response.status === 404 || (isOptional && response.status === 400)) return undefined
  if (response.status === 401 || response.status === 403 || response.status === 302)
    throw new Error(
      `${url}${path} needs a login (${response.status}): put an API token into FAIRLEAD_TOKEN, or name --user.`,
    )
  if (!response.ok)
    throw new Error(
      `${url}${path} answered ${response.status}. Nothing is moved; try again once it answers.`,
    )
  try {
    return parseJson(bytes.toString('utf8'))
  } catch (cause) {
    throw new Error(
      `${url}${path} answered without JSON. Check that --from is the address of Front50 or Gate.`,
      { cause },
    )
  }
}

function describeCause(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error && cause.message !== '' ? cause.message : message
}

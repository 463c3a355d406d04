/** A Jenkins as its documentation describes it: the answers of `exchanges/jenkins`, of which a `tree` selects fields. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  fieldOf,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  objectsOf,
} from '../../../../packages/base/json/values.ts'
import {
  type RecordedRequest,
  Reply,
  startUpstream,
  type Upstream,
} from '../../../support/upstream.ts'

interface Exchange {
  readonly request: { readonly method: string; readonly path: string }
  readonly response: {
    readonly status: number
    readonly headers?: Record<string, string>
    body?: unknown
  }
}

export interface FakeJenkins extends Upstream {
  /** The document of a job, a build or a queue item, such as `/job/app/7`, which the test may change. */
  document(path: string): JsonObject
  addJob(name: string, fields?: JsonObject): void
  addBuild(job: string, build: JsonObject): void
  /** Answers so in place of its exchange: `POST /job/app/build`. */
  replace(line: string, answer: unknown): void
  /** Requests such as `POST /job/app/build`, in order. */
  lines(): string[]
}

/** How changes are protected: `crumb` wants one, as after a login with a password. */
type Protection = 'none' | 'crumb'

const folder = join(import.meta.dirname, '../exchanges/jenkins')
const documents = readdirSync(folder).map(
  (file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as JsonObject,
)

export async function startJenkins(
  t: TestContext,
  { protection = 'none' as Protection } = {},
): Promise<FakeJenkins> {
  const exchanges = structuredClone(documents).flatMap(
    (document) => document['exchanges'] as Exchange[],
  )
  const answers = new Map<string, unknown>()
  const bodies = new Map<string, JsonObject>()
  for (const { request, response } of exchanges) {
    const resource = /^(.*)\/api\/json$/.exec(request.path)?.[1]
    if (resource !== undefined && isObject(response.body)) bodies.set(resource, response.body)
    answers.set(
      `${request.method} ${request.path}`,
      new Reply(response.status, response.body, response.headers),
    )
  }
  const upstream = await startUpstream(t, (request) => {
    if (request.method === 'POST' && protection === 'crumb' && !hasCrumb(request))
      return new Reply(403, '<title>Error 403 No valid crumb was included in the request</title>')
    const tree = new URLSearchParams(request.query).get('tree')
    const answer = answers.get(`${request.method} ${request.path}`)
    if (typeof answer === 'symbol') return answer
    const { status, body, headers } = toReply(answer)
    if (tree === null || !isObject(body)) return new Reply(status, body, headers)
    return new Reply(
      status,
      select(body, request.path.slice(0, -'/api/json'.length), parseTree(tree), bodies),
      headers,
    )
  })
  const addDocument = (path: string, body: JsonObject) => {
    bodies.set(path, body)
    answers.set(`GET ${path}/api/json`, body)
  }
  const document = (path: string) => objectOf(bodies.get(path))
  return {
    ...upstream,
    document,
    addJob(name, fields = {}) {
      listOf(document('')['jobs']).push({ name })
      addDocument(`/job/${name}`, { name, buildable: true, property: [], builds: [], ...fields })
    },
    addBuild(job, build) {
      listOf(document(job)['builds']).unshift({ number: build['number'] })
      addDocument(`${job}/${build['number']}`, { artifacts: [], actions: [], ...build })
    },
    replace: (line, answer) => void answers.set(line, answer),
    lines: () => upstream.requests.map(({ method, path }) => `${method} ${path}`),
  }
}

function hasCrumb({ headers }: RecordedRequest): boolean {
  return headers['jenkins-crumb'] === 'c0ffee' && headers.cookie === 'JSESSIONID.4f2a=node01'
}

function toReply(answer: unknown): Reply {
  if (answer instanceof Reply) return answer
  return answer === undefined ? new Reply(404, '<title>Not Found</title>') : new Reply(200, answer)
}

interface Tree {
  readonly [name: string]: Tree | undefined
}

/** `name,jobs[name,builds[number]]` as nested objects. */
function parseTree(text: string): Tree {
  const json = text
    .replaceAll(/\[/g, ':{')
    .replaceAll(']', '}')
    .replaceAll(/(\w+)(?=[,}]|$)/g, '$1:{}')
  return JSON.parse(`{${json.replaceAll(/(\w+):/g, '"$1":')}}`) as Tree
}

/** The fields of the tree; objects that stand for another document have all of that one's. */
function select(
  body: JsonObject,
  path: string,
  tree: Tree,
  bodies: ReadonlyMap<string, JsonObject>,
): JsonObject {
  const selected: JsonObject = { ...(body['_class'] !== undefined && { _class: body['_class'] }) }
  for (const [name, inner = {}] of Object.entries(tree)) {
    const value = name === 'lastBuild' ? objectsOf(body['builds'])[0] : fieldOf(body, name)
    const pick = (one: unknown) => {
      if (!isObject(one)) return one
      const place = placeOf(name, one)
      const resource = place === undefined ? undefined : bodies.get(path + place)
      return select(resource ?? one, path + (place ?? ''), inner, bodies)
    }
    if (value !== undefined) selected[name] = Array.isArray(value) ? value.map(pick) : pick(value)
  }
  return selected
}

function placeOf(name: string, { name: job, number }: JsonObject): string | undefined {
  if (name === 'jobs') return `/job/${encodeURIComponent(String(job))}`
  return name === 'builds' || name === 'lastBuild' ? `/${number}` : undefined
}

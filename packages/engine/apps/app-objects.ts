/** Objects of an app as they are in the instance: compared with what its file compiles to, and written. */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { Infrastructure } from '@fairlead/ports/infrastructure.ts'
import type { Ports } from '@fairlead/ports/ports.ts'
import type { AppStore, WrittenObject } from './app-store.ts'
import { type CompiledObject, keyOf } from './compile.ts'

/**
 * `same`: as the file has it. `drift`: edited elsewhere since it was written, or made by someone else; a deployment keeps it unless it
 * may overwrite. `removed`: the file has it no more.
 */
type ObjectState = 'create' | 'change' | 'same' | 'drift' | 'removed'

export interface ObjectPlan {
  readonly object: CompiledObject
  readonly state: ObjectState
  /** Fields that differ from the file, of `change` and `drift`. */
  readonly fields: readonly string[]
  readonly present: JsonObject | undefined
}

/** What exists of an application, by the keys of compiled objects. */
type PresentObjects = ReadonlyMap<string, JsonObject>

interface WriteContext {
  readonly application: string
  readonly ports: Ports
  readonly store: AppStore
  readonly as: Caller
}

export async function loadPresent(
  application: string,
  { definitions, infrastructure }: Ports,
  as: Caller,
): Promise<PresentObjects> {
  const [stored, pipelines, balancers] = await Promise.all([
    definitions.application(application, as),
    definitions.pipelinesOf(application, as),
    infrastructure.loadBalancers(application, as),
  ])
  return new Map([
    ...(stored === undefined
      ? []
      : [[keyOf({ kind: 'application', name: application }), stored.all] as const]),
    ...balancers.map(({ name, all }) => [keyOf({ kind: 'load-balancer', name }), all] as const),
    ...pipelines.map(
      (each) => [keyOf({ kind: 'pipeline', name: String(each['name']) }), each] as const,
    ),
  ])
}

/** @param written By a former deployment */
export function planObjects(
  compiled: readonly CompiledObject[],
  present: PresentObjects,
  written: ReadonlyMap<string, WrittenObject>,
): ObjectPlan[] {
  const plans = compiled.map((object) => {
    const key = keyOf(object)
    return planObject(object, present.get(key), written.get(key))
  })
  const keys = new Set(compiled.map(keyOf))
  const removed = [...written].flatMap(([key, { compiled: content }]) => {
    const found = present.get(key)
    if (keys.has(key) || found === undefined) return []
    const [kind = '', ...name] = key.split(' ')
    const object = { kind: kind as CompiledObject['kind'], name: name.join(' '), content }
    return [{ object, state: 'removed', fields: [], present: found } as const]
  })
  return [...plans, ...removed]
}

function planObject(
  object: CompiledObject,
  present: JsonObject | undefined,
  written: WrittenObject | undefined,
): ObjectPlan {
  if (present === undefined) return { object, state: 'create', fields: [], present }
  const { content } = object
  // Stores spell the names of applications in their own way.
  const keys = Object.keys(content).filter((key) => key !== 'name')
  if (written === undefined) {
    const foreign = keys.filter((key) => !isDeepStrictEqual(present[key], content[key]))
    if (foreign.length === 0) return { object, state: 'same', fields: [], present }
    // An application is often there before its first deployment, and only gains fields.
    const isTaken = object.kind !== 'application' || foreign.some((key) => present[key] != null)
    return { object, state: isTaken ? 'drift' : 'change', fields: foreign, present }
  }
  const seen = viewOf(object, present)
  const edited = Object.keys(written.seen).filter(
    (key) => !isDeepStrictEqual(seen[key], written.seen[key]),
  )
  if (edited.length > 0) return { object, state: 'drift', fields: edited, present }
  const changed = [...new Set([...keys, ...Object.keys(written.compiled)])].filter(
    (key) => !isDeepStrictEqual(content[key], written.compiled[key]),
  )
  return { object, state: changed.length > 0 ? 'change' : 'same', fields: changed, present }
}

/** Fields of load balancers that change by themselves. */
const livingFields = ['serverGroups', 'problems', 'createdTime', 'instances', 'instanceCounts']
/** Fields of pipelines that the store sets. */
const storedFields = ['updateTs', 'lastModifiedBy', 'lastModified', 'createTs', 'index', 'id']

/** What of an object counts as content, in plain values. */
function viewOf({ kind, content }: CompiledObject, present: JsonObject): JsonObject {
  const keys =
    kind === 'application'
      ? Object.keys(content).filter((key) => key !== 'name')
      : Object.keys(present).filter((key) =>
          kind === 'pipeline' ? !storedFields.includes(key) : !livingFields.includes(key),
        )
  const picked = Object.fromEntries(keys.map((key) => [key, present[key]]))
  return JSON.parse(JSON.stringify(picked)) as JsonObject
}

/**
 * Writes what the plan would create or change, and what was edited elsewhere only with `overwrites`; referred objects come first.
 *
 * @throws {PortError} naming the object; those before it are written
 */
export async function writeObjects(
  plans: readonly ObjectPlan[],
  overwrites: boolean,
  context: WriteContext,
): Promise<void> {
  const due = plans.filter(
    ({ state }) => state === 'create' || state === 'change' || (state === 'drift' && overwrites),
  )
  for (const plan of due) await write(plan, context)
  const adopted = plans.filter(({ state }) => state === 'same')
  for (const { object, present } of adopted) {
    if (present !== undefined && !context.store.objects(context.application).has(keyOf(object)))
      keep(object, present, context)
  }
  for (const { object } of plans.filter(({ state }) => state === 'removed'))
    await remove(object, context)
}

async function write(plan: ObjectPlan, context: WriteContext): Promise<void> {
  const { object } = plan
  const load = async () =>
    (await loadPresent(context.application, context.ports, context.as)).get(keyOf(object))
  try {
    await writers[object.kind](plan, context)
  } catch (error) {
    // What was created although it does not work yet, such as a load balancer whose port is taken, is of this file.
    const created = plan.present === undefined ? await load().catch(() => undefined) : undefined
    if (created !== undefined) keep(object, created, context)
    throw new PortError(
      error instanceof PortError ? error.status : 500,
      `The ${wordOf(object)} could not be written: ${(error as Error).message}`,
      error instanceof PortError ? error.fields : {},
    )
  }
  const present = await load()
  if (present !== undefined) keep(object, present, context)
}

function keep(object: CompiledObject, present: JsonObject, context: WriteContext): void {
  const plain = JSON.parse(JSON.stringify(object.content)) as JsonObject
  context.store.keepObject(context.application, keyOf(object), {
    compiled: plain,
    seen: viewOf(object, present),
  })
}

export function wordOf({ kind, name }: Pick<CompiledObject, 'kind' | 'name'>): string {
  return `${kind.replace('-', ' ')} "${name}"`
}

type Writer = (plan: ObjectPlan, context: WriteContext) => Promise<unknown>

const writers: Readonly<Record<CompiledObject['kind'], Writer>> = {
  application: writeApplication,
  'load-balancer': ({ object }, context) =>
    operate(
      { upsertLoadBalancer: object.content },
      object,
      context.ports.infrastructure,
      context.as,
    ),
  pipeline: writePipeline,
}

async function writeApplication(
  { object: { content, name }, present }: ObjectPlan,
  { ports, as }: WriteContext,
): Promise<void> {
  if (present !== undefined)
    return ports.definitions.updateApplication({ ...content, name: String(present['name']) }, as)
  const user = as.user ?? ''
  const email = user.includes('@') ? user : `${user || 'nobody'}@localhost`
  await ports.definitions.createApplication({ ...content, name, email }, as)
}

async function writePipeline(
  { object: { content }, present }: ObjectPlan,
  { ports, as }: WriteContext,
): Promise<void> {
  if (present === undefined) {
    await ports.definitions.savePipeline(content, { staleCheck: false }, as)
    return
  }
  const kept = { id: String(present['id']), index: present['index'] }
  await ports.definitions.replacePipeline({ ...content, ...kept }, { staleCheck: false }, as)
}

const operationMs = 60_000

/** Carries an operation out. @throws {PortError} 400 with why it failed */
export async function operate(
  operation: Readonly<Record<string, JsonObject>>,
  object: CompiledObject,
  infrastructure: Infrastructure,
  as: Caller,
): Promise<void> {
  const provider = String(object.content['cloudProvider'])
  const id = await infrastructure.submit([operation], { provider, id: randomUUID() }, as)
  const limit = { withinMs: operationMs, signal: AbortSignal.timeout(operationMs) }
  const task = await infrastructure.followTask(id, limit, as)
  if (task?.status.completed && !task.status.failed) return
  throw new PortError(400, describeEnd(task))
}

function describeEnd(
  task: { readonly history: readonly JsonObject[] } | undefined | object,
): string {
  const history = (task as { history?: readonly { status?: unknown }[] } | undefined)?.history
  const status = String(history?.at(-1)?.status ?? 'it has not ended within a minute.')
  return status.replace(/^Orchestration failed: \w+ \| /, '')
}

async function remove(
  object: CompiledObject,
  { application, ports, store, as }: WriteContext,
): Promise<void> {
  const { kind, name, content } = object
  if (kind === 'pipeline') await ports.definitions.removePipeline({ application, name }, as)
  if (kind === 'load-balancer') {
    const { credentials, region, cloudProvider } = content
    const place = { credentials, region, regions: [region], cloudProvider }
    const operation = { deleteLoadBalancer: { ...place, loadBalancerName: name } }
    await operate(operation, object, ports.infrastructure, as)
  }
  store.dropObject(application, keyOf(object))
}

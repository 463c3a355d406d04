/** Drafts of this tab: in memory while the page lives, and in `sessionStorage` for a reload and a login. */
import { effect } from '@preact/signals'
import { isPathPart } from '../address.ts'
import { ApiError } from '../api/api-error.ts'
import { client, unwrap } from '../api/client.ts'
import { type Live, useLive } from '../api/live.ts'
import { user } from '../api/session.ts'
import { parseExactly } from '../model/exact-json.ts'
import { type Json, objectOf } from '../model/read.ts'
import { Draft, type KeptDraft } from './draft.ts'

const opened = new Map<string, Draft>()
const stops = new Map<Draft, () => void>()
const keepAfterMs = 400

/** Each user has drafts of their own in a browser that several share. */
function keyOf(application: string, id: string | undefined): string {
  return `fairlead.draft.${JSON.stringify([user.peek()?.username ?? '', application, id ?? null])}`
}

/**
 * The draft that is open, or was left; otherwise one of what is stored now, once that is known.
 *
 * @param id Undefined for the pipeline that is being created.
 */
export function openDraft(application: string, id: string | undefined, stored?: Json): Draft | undefined {
  const key = keyOf(application, id)
  const open = opened.get(key)
  if (open !== undefined && (id !== undefined || open.isDirty.peek())) return open
  // A new one without any change was given up.
  if (open !== undefined) forgetDraft(open)
  const kept = load(key) ?? (stored === undefined ? undefined : { stored, definition: stored })
  return kept === undefined ? undefined : keep(key, new Draft(application, kept))
}

/** Instead of another new one, if any. */
export function createDraft(application: string, definition: Json): Draft {
  const other = openDraft(application, undefined)
  if (other !== undefined) forgetDraft(other)
  return keep(keyOf(application, undefined), new Draft(application, { stored: undefined, definition }))
}

/** A draft that has become the stored pipeline `id` goes on as the draft of that. */
export function adoptDraft(draft: Draft, id: string): void {
  forgetDraft(draft)
  keep(keyOf(draft.application, id), draft)
}

/** After it was deleted or discarded. */
export function forgetDraft(draft: Draft): void {
  for (const [key, each] of opened) if (each === draft) opened.delete(key)
  stops.get(draft)?.()
  stops.delete(draft)
}

const onePath = '/applications/{application}/pipelineConfigs/{pipelineName}'
const allPath = '/applications/{application}/pipelineConfigs'

/** What is stored, kept current; undefined where the application has no such pipeline. */
export function useDefinition(application: string, id: string): Pick<Live<unknown>, 'refresh'> & Found {
  // A stream would read it once more when it begins.
  const options = { refresh: 'steady' } as const
  // Only the list has a pipeline whose id no path can have.
  const isPart = isPathPart(id)
  const one = useLive(onePath, isPart ? { path: { application, pipelineName: id } } : undefined, options)
  const all = useLive(allPath, isPart ? undefined : { path: { application } }, options)
  const { body, error } = (isPart ? one : all).reading.value
  const definition = Array.isArray(body)
    ? (body as readonly Json[]).find((each) => each['id'] === id)
    : (body as Json | undefined)
  const isMissing = body !== undefined && definition === undefined
  return { definition, error: isMissing ? noSuchPipeline() : error, refresh: () => (isPart ? one : all).refresh() }
}

interface Found {
  readonly definition: Json | undefined
  readonly error: ApiError | undefined
}

function noSuchPipeline(): ApiError {
  return new ApiError({ status: 404, message: 'There is no such pipeline, or you may not read it.' })
}

/** @throws {ApiError} 404 as well when the application has no such pipeline */
export async function readDefinition(application: string, id: string): Promise<Json> {
  if (isPathPart(id)) {
    return objectOf(await unwrap(client.GET(onePath, { params: { path: { application, pipelineName: id } } })))
  }
  const found = (await readDefinitions(application)).find((pipeline) => pipeline['id'] === id)
  if (found === undefined) throw noSuchPipeline()
  return found
}

/** All of an application. @throws {ApiError} */
export async function readDefinitions(application: string): Promise<readonly Json[]> {
  return unwrap(client.GET(allPath, { params: { path: { application } } }))
}

function keep(key: string, draft: Draft): Draft {
  opened.set(key, draft)
  let timer: ReturnType<typeof setTimeout> | undefined
  const save = () => store(key, draft.isDirty.peek() ? draft.toKept() : undefined)
  const stop = effect(() => {
    draft.definition.value
    draft.stored.value
    draft.held.value
    clearTimeout(timer)
    timer = setTimeout(save, keepAfterMs)
  })
  addEventListener('pagehide', save)
  stops.set(draft, () => {
    stop()
    clearTimeout(timer)
    removeEventListener('pagehide', save)
    store(key, undefined)
  })
  return draft
}

function store(key: string, kept: KeptDraft | undefined): void {
  try {
    if (kept === undefined) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, JSON.stringify(kept))
  } catch {
    // Storage is switched off or full: the draft lives in memory.
  }
}

function load(key: string): KeptDraft | undefined {
  try {
    const kept = objectOf(parseExactly(sessionStorage.getItem(key) ?? 'null'))
    return typeof kept['definition'] === 'object' && kept['definition'] !== null ? (kept as unknown as KeptDraft) : undefined
  } catch {
    return undefined
  }
}

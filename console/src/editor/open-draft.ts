/** Drafts of this tab: in memory while the page lives, and in `sessionStorage` for a reload and a login. */
import { effect } from '@preact/signals'
import { isPathPart } from '../address.ts'
import { ApiError } from '../api/api-error.ts'
import { client, unwrap } from '../api/client.ts'
import { user } from '../api/session.ts'
import { parseExactly } from '../model/exact-json.ts'
import { type Json, objectOf } from '../model/read.ts'
import { Draft, type KeptDraft } from './draft.ts'
import { editorWords } from './words.ts'

const opened = new Map<string, Draft>()
const keepAfterMs = 400

/** Each user has drafts of their own in a browser that several share. */
function keyOf(application: string, id: string | undefined): string {
  return `fairlead.draft.${JSON.stringify([user.peek()?.username ?? '', application, id ?? null])}`
}

/** The draft that is open, or was left; otherwise one of what is stored now. @throws {ApiError} */
export async function openDraft(application: string, id: string): Promise<Draft> {
  const key = keyOf(application, id)
  return opened.get(key) ?? keep(key, new Draft(application, load(key) ?? fresh(await readDefinition(application, id))))
}

/** The pipeline that is being created; one without any change was given up. */
export function openedNewDraft(application: string): Draft | undefined {
  const key = keyOf(application, undefined)
  const open = opened.get(key)
  if (open?.isDirty.peek() === true) return open
  if (open !== undefined) forgetDraft(open)
  const kept = load(key)
  return kept === undefined ? undefined : keep(key, new Draft(application, kept))
}

/** Instead of another new one, if any. */
export function createDraft(application: string, definition: Json): Draft {
  const other = openedNewDraft(application)
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
  for (const [key, each] of opened) {
    if (each !== draft) continue
    opened.delete(key)
    stops.get(draft)?.()
    stops.delete(draft)
  }
}

/** @throws {ApiError} 404 as well when the application has no such pipeline */
export async function readDefinition(application: string, id: string): Promise<Json> {
  const path = { application, pipelineName: id }
  // The list has every pipeline.
  if (isPathPart(id)) {
    return objectOf(await unwrap(client.GET('/applications/{application}/pipelineConfigs/{pipelineName}', { params: { path } })))
  }
  const all = await unwrap(client.GET('/applications/{application}/pipelineConfigs', { params: { path: { application } } }))
  const found = all.find((pipeline) => pipeline.id === id)
  if (found === undefined) throw new ApiError({ status: 404, message: editorWords.noSuchPipeline })
  return found
}

function fresh(stored: Json): KeptDraft {
  return { stored, definition: stored }
}

const stops = new Map<Draft, () => void>()

function keep(key: string, draft: Draft): Draft {
  opened.set(key, draft)
  let timer: ReturnType<typeof setTimeout> | undefined
  const save = () => store(key, draft.isDirty.peek() ? draft.toKept() : undefined)
  const stop = effect(() => {
    draft.definition.value
    draft.stored.value
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
    const { stored, definition, begun } = objectOf(parseExactly(sessionStorage.getItem(key) ?? 'null'))
    if (typeof definition !== 'object' || definition === null) return undefined
    return {
      stored: stored === undefined ? undefined : objectOf(stored),
      definition: objectOf(definition),
      begun: begun === undefined ? undefined : objectOf(begun),
    }
  } catch {
    return undefined
  }
}

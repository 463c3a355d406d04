/** Drafts of this tab: in memory while the page lives, and in `sessionStorage` for a reload and a login. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { effect } from '@preact/signals'
import { user } from '../api/session.ts'
import { parseExactly } from '../model/exact-json.ts'
import { Draft, type KeptDraft } from './draft.ts'

const opened = new Map<string, { readonly draft: Draft; readonly stop: () => void }>()

/** Each user has drafts of their own in a browser that several share. */
function keyOf(application: string, id: string | undefined) {
  return `fairlead.draft.${JSON.stringify([user.peek()?.username ?? '', application, id ?? null])}`
}

/** The draft that is open, or was left; otherwise one of what is stored, once that is known. A new pipeline has no id. */
export function openDraft(
  application: string,
  id: string | undefined,
  stored?: JsonObject,
): Draft | undefined {
  const key = keyOf(application, id)
  const draft = opened.get(key)?.draft
  if (draft !== undefined && (id !== undefined || draft.isDirty.peek())) return draft
  // A new one without any change was given up.
  if (draft !== undefined) forgetDraft(draft)
  const kept = load(key) ?? (stored && { stored, definition: stored })
  return kept && keep(key, new Draft(application, kept))
}

export function createDraft(application: string, definition: JsonObject): Draft {
  const other = openDraft(application, undefined)
  if (other !== undefined) forgetDraft(other)
  return keep(
    keyOf(application, undefined),
    new Draft(application, { stored: undefined, definition }),
  )
}

/** A draft that has become the stored pipeline `id` goes on as the draft of that. */
export function adoptDraft(draft: Draft, id: string): void {
  forgetDraft(draft)
  keep(keyOf(draft.application, id), draft)
}

export function forgetDraft(draft: Draft): void {
  for (const [key, { draft: each, stop }] of opened) {
    if (each !== draft) continue
    stop()
    store(key, undefined)
    opened.delete(key)
  }
}

function keep(key: string, draft: Draft) {
  const stop = effect(() =>
    store(key, draft.isDirty.value ? JSON.stringify(draft.toKept()) : undefined),
  )
  opened.set(key, { draft, stop })
  return draft
}

/** Where storage is switched off or full, the draft lives in memory. */
function store(key: string, text: string | undefined) {
  try {
    if (text === undefined) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, text)
  } catch {}
}

function load(key: string) {
  try {
    return (parseExactly(sessionStorage.getItem(key) ?? 'null') as KeptDraft | null) ?? undefined
  } catch {
    return undefined
  }
}

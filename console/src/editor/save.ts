/** Saves a draft: changes of others are not overwritten, and a refusal is tied to what it is about. */
import { ApiError, asApiError } from '../api/api-error.ts'
import { refreshMatching } from '../api/live.ts'
import { type Json, textOf } from '../model/read.ts'
import { type Draft, isSameDefinition, toStored } from './draft.ts'
import { readDefinition, readDefinitions } from './open-draft.ts'
import { toRefusals } from './refusals.ts'
import { sendDefinition } from './send-definition.ts'

export type SaveOutcome =
  | { readonly kind: 'saved'; readonly id: string }
  /** Another user saved meanwhile; nothing is written. */
  | { readonly kind: 'conflict'; readonly theirs: Json }
  /** Another user deleted it; nothing is written. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'refused'; readonly error: ApiError }

/** What changes during the save stays an unsaved change. */
export async function saveDraft(draft: Draft): Promise<SaveOutcome> {
  try {
    const before = await findNewer(draft)
    if (before !== undefined) return before
    const sent = toSent(draft)
    try {
      await sendDefinition(sent)
    } catch (cause) {
      const newer = asApiError(cause).status === 400 ? await findNewer(draft) : undefined
      if (newer !== undefined) return newer
      throw cause
    }
    const saved = await readSaved(draft.application, sent)
    draft.rebase(sent, saved)
    draft.isSaved.value = true
    refreshMatching('pipelineConfigs')
    return { kind: 'saved', id: textOf(saved['id']) ?? '' }
  } catch (cause) {
    const error = asApiError(cause)
    // The right is asked again, so that the page says what ended.
    if (error.status === 403) refreshMatching('/auth/explain')
    draft.refusals.value = toRefusals(error, draft.definition.peek())
    return { kind: 'refused', error }
  }
}

/**
 * What the store has instead of what the draft began from. Not every store reports a stale save, so this is asked before each one. A
 * newer version of the same content is taken over.
 *
 * @throws {ApiError}
 */
async function findNewer(draft: Draft): Promise<SaveOutcome | undefined> {
  const stored = draft.stored.peek()
  const id = textOf(stored?.definition['id'])
  if (stored === undefined || id === undefined) return undefined
  try {
    const current = await readDefinition(draft.application, id)
    const isNewer = toStored(current).updateTs !== stored.updateTs
    if (!isSameDefinition(current, stored.definition)) return isNewer ? { kind: 'conflict', theirs: current } : undefined
    if (isNewer) draft.stored.value = toStored(current)
    return undefined
  } catch (cause) {
    if (asApiError(cause).status === 404) return { kind: 'gone' }
    throw cause
  }
}

/** Under the identity of what the draft began from, whatever the text of the user says. */
function toSent(draft: Draft): Json {
  const { id: _id, updateTs: _updateTs, ...definition } = draft.definition.peek()
  const stored = draft.stored.peek()
  const { id } = stored?.definition ?? {}
  const { updateTs } = stored ?? {}
  return {
    ...definition,
    ...(id !== undefined && { id }),
    application: draft.application,
    ...(updateTs !== undefined && { updateTs }),
  }
}

/** @throws {ApiError} */
async function readSaved(application: string, sent: Json): Promise<Json> {
  const id = textOf(sent['id'])
  if (id !== undefined) return readDefinition(application, id)
  const name = String(sent['name']).trim().toLowerCase()
  const found = (await readDefinitions(application)).find((pipeline) => String(pipeline['name']).toLowerCase() === name)
  if (found === undefined) throw new ApiError({ status: 404, message: `The list of ${application} does not have ${name} yet.` })
  return found
}

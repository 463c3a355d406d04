/** Pipelines in the store: read, and written. */

import { type JsonObject, scalarOf } from '@fairlead/base/json/values.ts'
import { ApiError, asApiError, calls, client, type Schemas, warningsOf } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { reportWarning } from '../components/notices.tsx'
import { isSameDefinition } from './changes.ts'
import type { Draft } from './draft.ts'
import { toProblem } from './problems.ts'

export const definitionPath = '/applications/{application}/pipelineConfigs/{pipelineName}'

/** @throws {ApiError} */
export async function readDefinition(application: string, id: string): Promise<JsonObject> {
  return (await client.GET(definitionPath, {
    params: { path: { application, pipelineName: id } },
  })) as JsonObject
}

/** Creates or overwrites a pipeline, and shows what the server warns of; with `updateTs`, unless the stored one is newer. @throws {ApiError} */
export async function sendDefinition(definition: JsonObject): Promise<void> {
  // Browsers before Chrome 114, Firefox 135 and Safari 18.4 read and write long integers with other digits.
  if (!('rawJSON' in JSON) && /[:[,]-?\d{16}/.test(JSON.stringify(definition)))
    throw new ApiError({
      status: 400,
      message: 'Digits of a number would be lost. Save the pipeline with a newer browser.',
    })
  const query = { staleCheck: true }
  const body = definition as Schemas['Pipeline']
  const warnings = await warningsOf(calls.POST('/pipelines', { params: { query }, body }))
  reportWarning(
    `${scalarOf(definition['name']) ?? 'The pipeline'} is saved, with warnings`,
    warnings,
  )
}

/** Asks the server what it finds in the draft; what it cannot say stands in the way of nothing. */
export async function checkDraft(draft: Draft): Promise<void> {
  const { application, definition, findings } = draft
  const asked = definition.peek()
  if (asked === draft.checked) return
  const found = await client
    .POST('/applications/{application}/findings', {
      params: { path: { application } },
      body: asked as Schemas['Pipeline'],
    })
    .catch(() => undefined)
  if (found === undefined || definition.peek() !== asked) return
  draft.checked = asked
  findings.value = found.map((finding) => toProblem(finding, asked))
}

/** Takes over what the pipeline holds back; what this user may not release stays held, and a warning says so. @throws {ApiError} */
export async function releaseHeld(name: string, id: string): Promise<void> {
  const held = await client.PUT('/pipelines/{id}/release', { params: { path: { id } } })
  refreshMatching('/findings')
  reportWarning(
    `${name} is released in part`,
    held.length === 0
      ? undefined
      : 'Its stages do only what you may do, too. An administrator can release them.',
  )
}

/** What another user has stored, or that the pipeline is gone. */
export type Newer = JsonObject | 'gone'

/** What changes during the save stays unsaved. @returns what the store has instead; nothing is written then @throws {ApiError} */
export async function saveDraft(draft: Draft): Promise<Newer | undefined> {
  const newer = await findNewer(draft)
  if (newer !== undefined) return newer
  const { application, stored } = draft
  const { id, updateTs } = stored.peek() ?? {}
  // Under the identity of what the draft began from, whatever the text of the user says.
  const mine = { ...draft.definition.peek(), application, id, updateTs }
  const fresh = { id: crypto.randomUUID(), regenerateCronTriggerIds: true }
  const sent = id === undefined ? { ...mine, ...fresh } : mine
  try {
    await sendDefinition(sent)
  } catch (cause) {
    const other = asApiError(cause).status === 400 ? await findNewer(draft) : undefined
    if (other !== undefined) return other
    throw cause
  }
  draft.rebase(mine, await readDefinition(application, String(sent.id)))
  draft.isSaved.value = true
  refreshMatching('pipelineConfigs', '/findings')
  return undefined
}

/** Asked before each save, because not every store refuses a stale one. A newer version of the same content is taken over. */
async function findNewer({ application, stored }: Draft): Promise<Newer | undefined> {
  const begun = stored.peek()
  if (begun === undefined) return undefined
  try {
    const current = await readDefinition(application, String(begun['id']))
    if (String(current['updateTs']) === String(begun['updateTs'])) return undefined
    if (!isSameDefinition(current, begun)) return current
    stored.value = current
    return undefined
  } catch (cause) {
    if (asApiError(cause).status === 404) return 'gone'
    throw cause
  }
}

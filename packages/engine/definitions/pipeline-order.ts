/** Order of the pipelines or strategies of an application. @see docs/contracts/definitions.md#order */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import type { DocumentStore } from '@fairlead/base/stores/document-store.ts'
import { describeMissing } from '@fairlead/ports/access.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { z } from 'zod'
import { checkWriter, type Writer } from './authorization.ts'
import type { Definitions } from './collections.ts'
import { incomplete, missingDefinition, nameText, optionalTextField, refusal } from './requests.ts'
import { compareValues } from './search.ts'

/** Pipelines with an index first; ties and others by name ignoring case, or by id without one. */
export function inOrder(pipelines: readonly JsonObject[]): JsonObject[] {
  const sortable = pipelines.map((pipeline) => ({
    pipeline,
    index: typeof pipeline['index'] === 'number' ? pipeline['index'] : Number.POSITIVE_INFINITY,
    name: String(pipeline['name'] ?? pipeline['id']).toLowerCase(),
  }))
  sortable.sort((a, b) => compareValues(a.index, b.index) || compareValues(a.name, b.name))
  return sortable.map(({ pipeline }) => pipeline)
}

/** Numbers them 0..n-1 in the answer: clients save a list again that has gaps. */
export function reindexed(pipelines: readonly JsonObject[]): JsonObject[] {
  return pipelines.map((pipeline, index) => ({ ...pipeline, index }))
}

const ReorderFields = z.looseObject({
  application: optionalTextField,
  idsToIndices: z.record(z.string(), z.int()).nullish(),
})

/** Sets the index of each listed pipeline: all of them, or none when one of them cannot be. */
export function reorder(
  { write }: Definitions,
  store: DocumentStore,
  { access, user }: Writer,
  order: unknown,
): void {
  const { application, idsToIndices } = checkBody(ReorderFields, order)
  if (application == null || application === '')
    throw refusal('The field "application" is missing.')
  if (idsToIndices == null) throw refusal('The field "idsToIndices" is missing.')
  // The contract has 400 here, and 403 everywhere else (docs/contracts/definitions.md#order).
  if (access?.mayOnApplication(application, 'WRITE') === false)
    throw refusal(describeMissing(access, 'WRITE', application))
  write(() => {
    const found = Object.entries(idsToIndices).map(([id, index]) => {
      const pipeline = store.get(foldName(id))
      if (pipeline === undefined) throw missingDefinition(`definition with the id "${id}"`)
      if (pipeline['application'] !== application)
        throw refusal(`"${id}" does not belong to the application "${application}".`)
      return { ...pipeline, index }
    })
    for (const pipeline of found)
      store.put(foldName(String((pipeline as JsonObject)['id'])), pipeline, user)
  })
}

const MoveFields = z.looseObject({ application: z.string(), from: z.string(), to: nameText })

/** Gives a pipeline or strategy another name and keeps everything else (docs/contracts/definitions.md#rename-and-move). */
export function move(
  { write }: Definitions,
  store: DocumentStore,
  writer: Writer,
  body: unknown,
): void {
  const { application, from, to } = checkBody(MoveFields, body)
  if (to.trim() === '') throw incomplete('The new name must not be blank.')
  write(() => {
    const found = store.named(from, application)[0]
    if (found === undefined)
      throw missingDefinition(`definition named "${from}" in the application "${application}"`)
    checkWriter(writer, found['application'])
    const key = foldName(String(found['id']))
    const isTaken = store.named(to, application).some((other) => other['id'] !== found['id'])
    if (isTaken) throw refusal(`The name "${to}" is taken in the application "${application}".`)
    store.put(key, { ...found, name: to.trim() }, writer.user)
  })
}

/** Triggers that wait for a user who may use their service account. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import type { StoredDefinitions } from '@fairlead/ports/definitions.ts'

export function isTriggerHeld(
  definitions: Pick<StoredDefinitions, 'heldAtHand'>,
  pipeline: JsonObject,
  account: string | undefined,
): boolean {
  return (
    account !== undefined &&
    definitions
      .heldAtHand(readPipeline(pipeline).id ?? '')
      .some((part) => part.account === foldName(account))
  )
}

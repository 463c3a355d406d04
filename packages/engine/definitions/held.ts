/**
 * Parts of definitions that wait for a user with the right: a trigger for a service account that did not exist when it was saved, and stages whose
 * expressions say what they are about.
 *
 * @see docs/contracts/definitions.md#held-parts
 */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { isCheckedLater } from '@fairlead/model/rights/privileged-stages.ts'
import type { HeldPart } from '@fairlead/ports/definitions.ts'
import { contentOf } from '@fairlead/ports/rights/automatic-user.ts'
import { changeDenied, checkWriter, heldAccounts, type Writer } from './authorization.ts'
import type { Definitions } from './collections.ts'
import { missingDefinition } from './requests.ts'

/**
 * Notes what of a pipeline or strategy waits for another user, in the transaction that saves it. Who switches it on or off, or moves it, has
 * not looked at its stages, and takes nothing over.
 *
 * @param before As it was stored
 */
export function noteHeld(
  { held, serviceAccounts }: Definitions,
  writer: Writer,
  saved: JsonObject,
  before: JsonObject | undefined,
): void {
  const id = String(saved['id'])
  const { access, user } = writer
  if (access === undefined) return
  const stages = held.of(id).filter(({ account }) => account === undefined)
  const isSame = before !== undefined && contentOf(before) === contentOf(saved)
  const isVouched = access.isAdmin || !readPipeline(saved).stages.some(isCheckedLater)
  held.replace(id, [
    ...heldAccounts(writer, serviceAccounts, saved).map((account) => ({ account, user })),
    ...(isSame ? stages : isVouched ? [] : [{ account: undefined, user }]),
  ])
}

/** Takes over what is held: from now on the rights of this user count. @returns what stays held @throws {PortError} 403 */
export function releaseHeld(
  { held, pipelines, write }: Definitions,
  writer: Writer,
  id: string,
): HeldPart[] {
  return write(() => {
    const pipeline = pipelines.get(foldName(id))
    if (pipeline === undefined) throw missingDefinition(`pipeline with the id "${id}"`)
    checkWriter(writer, pipeline['application'])
    const { access, user } = writer
    const parts = held.of(id)
    const forbidden = parts.find(
      ({ account }) => account !== undefined && access?.mayUse(account) === false,
    )
    if (forbidden !== undefined)
      throw changeDenied(
        `The trigger runs as the service account ${forbidden.account}: a user who may use it has to release it, such as an administrator.`,
      )
    const isVouched = access === undefined || access.isAdmin
    const isKept = parts.some(({ account }) => account === undefined) && !isVouched
    held.replace(id, isKept ? [{ account: undefined, user }] : [])
    return held.of(id)
  })
}

/** The stored definition that is started, or that has the id of a submitted one: whose it is, and whether it may run. */

import { isTrue, type JsonObject, objectOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { isPassing, PortError } from '@fairlead/base/port-error.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { checkOnApplication } from '@fairlead/ports/access.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { EngineOptions } from '../engine-parts.ts'

export interface Start {
  readonly caller: Caller
  readonly sources: EngineOptions
  /** What is stored under an id, read once. */
  readonly loadStored: (id: string) => Promise<JsonObject | undefined>
}

export function createStart(caller: Caller, sources: EngineOptions, stored?: JsonObject): Start {
  let reading = stored && Promise.resolve<JsonObject | undefined>(stored)
  const loadStored = (id: string) => (reading ??= loadDefinition(id, caller, sources))
  return { caller, sources, loadStored }
}

/** The one of exactly this application with this name, else with this id. @throws {Error} while the definition store cannot be asked */
export async function findOfApplication(
  { application, nameOrId }: { readonly application: string; readonly nameOrId: string },
  caller: Caller,
  { ports: { definitions } }: EngineOptions,
): Promise<JsonObject | undefined> {
  const found =
    (await definitions.pipelineNamed({ application, name: nameOrId }, caller)) ??
    (await definitions.pipeline(nameOrId, caller))
  const isMeant = found?.['name'] === nameOrId || found?.['id'] === nameOrId
  return isMeant && foldName(String(found['application'])) === foldName(application)
    ? found
    : undefined
}

/** Undefined: the caller sees none. @throws {Error} while the definition store cannot be asked */
export async function loadDefinition(
  id: string,
  caller: Caller,
  { ports }: EngineOptions,
): Promise<JsonObject | undefined> {
  return ports.definitions.pipeline(id, caller).catch((error: unknown) => {
    if (!isPassing(error)) return undefined
    throw error
  })
}

/**
 * A run under the id of a stored pipeline is one of its runs: it receives what the last one left, and starts what follows. So
 * a user who starts a definition of another application under that id needs EXECUTE on the application of the pipeline.
 *
 * @throws {PortError} 403; 503 while the store or the permission service cannot be asked
 */
export async function checkOwner(
  submitted: JsonObject,
  { caller, sources, loadStored }: Start,
): Promise<void> {
  const { id } = readPipeline(submitted)
  if (!sources.judges || id === undefined) return
  const stored = await loadStored(id).catch(() => {
    throw new PortError(
      503,
      'The pipeline cannot be started now: the definition store cannot be asked whose it is.',
    )
  })
  const owner =
    (stored && readPipeline(stored).application) ?? sources.store.newestRun(id)?.application
  if (owner === undefined || foldName(owner) === foldName(String(submitted['application'] ?? '')))
    return
  checkOnApplication(await sources.accessOf(caller.user), owner, 'EXECUTE')
}

/** A store that cannot be asked does not hold anything up. */
export async function isDisabledInStore(
  submitted: JsonObject,
  { sources, loadStored }: Start,
): Promise<boolean> {
  const { id } = readPipeline(submitted)
  if (id === undefined || isTrue(objectOf(submitted['initialConfig'])['enabled'])) return false
  const stored = await loadStored(id).catch((error: unknown) => {
    sources.log.warn({ err: error, pipeline: id }, 'the stored definition could not be read')
    return undefined
  })
  return readPipeline(stored).isDisabled
}

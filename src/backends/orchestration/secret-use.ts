/** Values of secrets in what leaves the engine, for references of authors alone: docs/contracts/secrets.md#authors-and-events. */
import { decodeSegment, encodeValue } from '../../http/encode-path.ts'
import type { JsonObject } from '../../json/values.ts'
import type { ServiceName } from '../../upstreams/services.ts'
import { BackendError } from '../backend.ts'
import { allReferencesIn, mapHolders } from '../secrets/references.ts'
import type { Revealed, SecretUse } from '../secrets/secret-values.ts'
import { foldName } from '../stores/document-store.ts'
import type { EngineOptions } from './engine-parts.ts'
import { executionIdentityOf } from './identity.ts'
import { RetryableError, StageError } from './machine/failure.ts'
import type { Execution, StagePlace, Trigger } from './model.ts'
import { stageAccountOf } from './stages/infrastructure/cloud-context.ts'
import type { CollaboratorRequest } from './stages/stage-type.ts'

/**
 * What the author of a definition refers to. What an event brings along, such as a payload, refers to nothing: otherwise its sender
 * could read secrets. Parameters of a user who starts the run count, and those of a run of the same application.
 */
export function authoredReferences(
  { trigger: _trigger, receivedArtifacts: _received, ...definition }: JsonObject,
  trigger: Pick<Trigger, 'type' | 'parameters'>,
  { application, parent }: { application: unknown; parent: Execution | undefined },
): { references?: readonly string[] } {
  const found = allReferencesIn(definition)
  if (trigger.type === 'manual') allReferencesIn(trigger.parameters, found)
  const isSibling = parent !== undefined && foldName(parent.application) === foldName(String(application))
  for (const each of isSibling ? (parent.engine.references ?? []) : []) found.add(each)
  return found.size === 0 ? {} : { references: [...found] }
}

type SecretParts = Pick<EngineOptions, 'secrets' | 'isEmbedded'>

/** A copy with values, for a call that the engine makes itself. @throws {StageError} for people; {RetryableError} while a store is away */
export async function revealForStage<T>(value: T, place: StagePlace, { secrets }: SecretParts): Promise<Revealed<T>> {
  checkAuthored(value, place)
  try {
    return await secrets.reveal(value, useOf(place))
  } catch (error) {
    if (!(error instanceof BackendError)) throw error
    throw error.status >= 500 ? new RetryableError([error.message]) : new StageError([error.message])
  }
}

/** @throws {StageError} for a reference that did not come with the definition */
function checkAuthored(value: unknown, { execution }: StagePlace): void {
  const known = new Set(execution.engine.references)
  const [foreign] = [...allReferencesIn(value)].filter((each) => !known.has(each))
  if (foreign === undefined) return
  throw new StageError([
    `"secret:${foreign}" is not in the definition of the pipeline, but came with an event or a result, and refers to nothing. ` +
      'Write the reference into the stage, or into the default of the parameter.',
  ])
}

function useOf({ execution, stage }: StagePlace): SecretUse {
  const { application, name, type, id, description = '' } = execution
  const whole = type === 'PIPELINE' ? `pipeline ${application}/${name ?? id}` : `task "${description}" of ${application}`
  return {
    application,
    account: stageAccountOf(stage.context),
    user: executionIdentityOf({ execution, stage }).user || 'anonymous',
    place: `stage ${stage.name} of ${whole}`,
    run: { service: 'orca', id },
  }
}

/** Services whose calls may hold references. Embedded ones get these, and put the values in where they are needed. */
const receivers: ReadonlySet<ServiceName> = new Set(['clouddriver', 'rosco', 'igor'])

/** @returns the request to send, and what its answer must not show */
export async function revealInCall(
  service: ServiceName,
  request: CollaboratorRequest,
  { place, parts }: { place: StagePlace; parts: SecretParts },
): Promise<{ request: CollaboratorRequest; secrets: readonly string[] }> {
  if (!receivers.has(service) || request.method === 'GET') return { request, secrets: [] }
  const isEmbedded = parts.isEmbedded(service)
  const found: string[] = []
  const reveal = async (member: unknown): Promise<unknown> => {
    const { value, secrets } = await revealForStage(member, place, parts)
    found.push(...secrets)
    return value
  }
  const change = async (member: unknown, name: string): Promise<unknown> => {
    if (!isEmbedded) return reveal(member)
    // Manifests come from repositories, whose references count for the Secrets in them.
    if (name !== 'stringData') checkAuthored(member, place)
    return member
  }
  const body = await mapHolders(request.body, change)
  const path = service === 'igor' ? await mapQuery(request.path, (value) => change(value, 'parameters')) : request.path
  return { request: { ...request, body, path }, secrets: found }
}

/** Parameters of builds are in the query. */
async function mapQuery(path: string, change: (value: string) => Promise<unknown>): Promise<string> {
  const [start = '', query] = path.split('?', 2)
  if (query === undefined || !decodeSegment(query).includes('secret:')) return path
  const pairs: string[] = []
  for (const [name, value] of new URLSearchParams(query))
    pairs.push(`${encodeValue(name)}=${encodeValue(String(await change(value)))}`)
  return `${start}?${pairs.join('&')}`
}

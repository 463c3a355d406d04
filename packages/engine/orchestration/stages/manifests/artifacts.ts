/** Artifacts that stages of manifests take in: by the id under which they are expected, or written into the stage. */
import { asGiven, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectsOf, scalarOf, textOf } from '@fairlead/base/json/values.ts'
import { sourced } from '@fairlead/model/stage-types/manifests.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { toNonEmpty } from '@fairlead/ports/cloud-values.ts'
import {
  artifactsSeenBy,
  distinctArtifacts,
  expectedArtifactsById,
} from '../../artifacts-at-hand.ts'
import { StageError } from '../../machine/failure.ts'
import type { StagePlace } from '../../model.ts'
import type { TaskContext } from '../stage-type.ts'

const embedded = 'embedded/base64'

interface ArtifactReference {
  /** Id of an expected artifact. */
  readonly id?: string
  /** The artifact itself; it wins. */
  readonly artifact?: unknown
  readonly account?: string
}

const toPlace = shape({ artifactAccount: textOf })

/**
 * @param what How messages begin: `The manifest artifact`
 * @throws {StageError} when there is no such artifact
 */
export function requireArtifact(
  place: StagePlace,
  what: string,
  { id: expected, artifact, account }: ArtifactReference,
): JsonObject {
  const found = toNonEmpty(artifact) ?? (expected && expectedArtifactsById(place).get(expected))
  if (!found) {
    const why =
      expected === undefined
        ? 'is not set'
        : `with the id "${expected}" was neither received nor produced before`
    throw new StageError([
      `${what} ${why}. Choose an expected artifact, or write the artifact into the stage.`,
    ])
  }
  const name = account ?? toPlace(found).artifactAccount
  return name === undefined ? found : { ...found, artifactAccount: name }
}

/** The content of an artifact: text, or a value where the text is JSON. @throws {StageError} */
export async function fetchArtifact(
  { infrastructure }: TaskContext,
  what: string,
  artifact: JsonObject,
): Promise<unknown> {
  const { type, reference } = artifact
  if (type === embedded && typeof reference === 'string')
    return Buffer.from(reference, 'base64').toString('utf8')
  if (toPlace(artifact).artifactAccount === undefined)
    throw new StageError([`${what} needs an account from which it is fetched: set its account.`])
  return infrastructure.fetchArtifact(artifact)
}

/** Whether its content can be read without another service. */
export function hasItsContent({ type }: JsonObject): boolean {
  return type === embedded
}

interface BindableArtifacts {
  /** Each must be bound in a manifest. */
  readonly requiredArtifacts: readonly JsonObject[]
  readonly optionalArtifacts: readonly JsonObject[]
}

/** @throws {StageError} when a required one is missing */
export function bindableArtifacts(place: StagePlace): BindableArtifacts {
  const { context } = place.stage
  const { requiredArtifactIds } = readFields(sourced, context)
  const { required: listed } = toRequired(context)
  const references = [...requiredArtifactIds.map((id) => ({ id })), ...listed.map(referenceOf)]
  const required = references.map((each) => requireArtifact(place, 'The required artifact', each))
  // What is embedded has no reference that a field of a manifest could take.
  const optional = artifactsSeenBy(place).filter((each) => !hasItsContent(each))
  return {
    requiredArtifacts: distinctArtifacts(required),
    optionalArtifacts: optional,
  }
}

const toRequired = shape({ required: [objectsOf, 'manifests.required', 'requiredArtifacts'] })
const toReference = shape({ id: [scalarOf, 'expectedArtifactId'], artifact: asGiven })

function referenceOf(entry: JsonObject): ArtifactReference {
  const { id, artifact } = toReference(entry)
  return id === undefined && artifact === undefined ? { artifact: entry } : { id, artifact }
}

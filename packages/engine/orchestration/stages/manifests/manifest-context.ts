/** Fields that stages of manifests share: the object they work on, and the notes they keep. */
import { definedOf, isTrue, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { StageError } from '../../machine/failure.ts'
import { documentKeys, type Stage, type StagePlace } from '../../model.ts'
import { kubernetes, requireAccount } from '../infrastructure/cloud-context.ts'
import { withoutNotes } from '../infrastructure/server-group-operations.ts'
import type { StageType } from '../stage-type.ts'

/** Location in paths of what has no namespace. */
export const noLocation = '_'

/** One object of a cluster. */
export interface ManifestTarget {
  readonly account: string
  /** The namespace; `_` where there is none. */
  readonly location: string
  /** `deployment web` */
  readonly name: string
}

export function locationIn(context: JsonObject): string {
  return textOf(context['location']) ?? textOf(context['namespace']) ?? noLocation
}

/** @param location A namespace, or an empty text */
export function toPathLocation(location: string): string {
  return location === '' ? noLocation : location
}

/** The object that the stage names. @throws {StageError} when it names none, or no account */
export function requireManifest({ context }: Pick<Stage, 'context'>): ManifestTarget {
  const account = requireAccount(context)
  const name = textOf(context['manifestName'])
  if (name === undefined && context['labelSelectors'] !== undefined)
    throw new StageError(['The stage works on one object and cannot select by labels: set "manifestName" or "criteria".'])
  if (name === undefined) throw new StageError(['The stage names no object: set "manifestName", such as "deployment web".'])
  return { account, location: locationIn(context), name: checkFullName(name) }
}

/** @throws {StageError} unless it has a kind and a name */
function checkFullName(name: string): string {
  if (/^[^ ]+ [^ ]+$/.test(name)) return name
  throw new StageError([
    `"${name}" does not name an object: write its kind and its name with one space, such as "deployment web".`,
  ])
}

/** `deployment` of `deployment web`, in lower case and without its group. */
export function kindOf(fullName: string): string {
  return fullName.split(/[ .]/)[0]?.toLowerCase() ?? ''
}

/** What tasks write: it comes from the cluster, and may hold templates of its own. */
const results: ReadonlySet<string> = new Set(
  [
    'notification.type artifacts resolvedExpectedArtifacts messages stableManifests failedManifests warnings events planHasChanges drift jobStatus',
    'completionDetails propertyFileContents preconfiguredJobParameters expressionEvaluationSummary restartDetails previousAttempts',
  ].flatMap((line) => line.split(' ')),
)
const resultPrefixes = ['outputs.', 'manifest.', 'manifests.', 'job.']

function isResult(key: string): boolean {
  return results.has(key) || resultPrefixes.some((prefix) => key.startsWith(prefix))
}

/** The context without what the engine and tasks have noted. */
export function withoutResults(context: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(withoutNotes(context)).filter(([key]) => !isResult(key)))
}

/** Contents of artifacts are evaluated once, where they are read; what the cluster returns, never. */
function unevaluatedKeys({ context }: Stage): string[] {
  const isGiven = textOf(context['source']) !== 'artifact' && !isTrue(context['skipExpressionEvaluation'])
  return [...Object.keys(context).filter(isResult), ...['kato.tasks', 'optionalArtifacts'], ...(isGiven ? [] : documentKeys)]
}

/** What all stages of manifests have in common. */
export function manifestStage(type: StageType): StageType {
  return {
    ...type,
    provider: kubernetes,
    unevaluatedKeys: (stage, execution) => [...unevaluatedKeys(stage), ...(type.unevaluatedKeys?.(stage, execution) ?? [])],
    prepareRestart(stage) {
      type.prepareRestart?.(stage)
      const { restartDetails, previousAttempts, 'manifests.required': requiredArtifacts } = stage.context
      stage.context = { ...withoutResults(stage.context), ...definedOf({ restartDetails, previousAttempts, requiredArtifacts }) }
      stage.outputs = {}
    },
  }
}

/** The description of an operation: services take what they know. */
export function operationFields({ stage }: StagePlace): JsonObject {
  const account = requireAccount(stage.context)
  return { ...withoutResults(stage.context), account, credentials: account, cloudProvider: kubernetes }
}

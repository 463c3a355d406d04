/** Fields that stages of manifests share: the object they work on, by its name or as the newest, oldest … of a cluster, and the notes they keep. */
import { or, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, isTrue, type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { toMoniker } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import { documentKeys, type Stage, type StagePlace } from '../../model.ts'
import { kubernetes, requireAccount } from '../infrastructure/cloud-context.ts'
import { attempt, cancelOperation } from '../infrastructure/cloud-task.ts'
import { withoutNotes } from '../infrastructure/notes.ts'
import type { StageType, Step, TaskContext, TaskResult } from '../stage-type.ts'

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

const text = or(textOf, '')

/** What stages look at in an object of a cluster. */
export const readManifestHead = shape({
  kind: text,
  metadata: shape({
    name: text,
    namespace: text,
    creationTimestamp: textOf,
    annotations: objectOf,
  }),
})

/** Application and cluster that its annotations name. */
export const readOwner = shape({
  metadata: shape({
    annotations: shape({
      app: [textOf, 'moniker.spinnaker.io/application'],
      cluster: [textOf, 'moniker.spinnaker.io/cluster'],
    }),
  }),
})

const readTarget = shape({
  location: [or(textOf, noLocation), 'location', 'namespace'],
  manifestName: textOf,
  labelSelectors: (value: unknown) => value,
  mode: or(textOf, 'dynamic'),
  criteria: textOf,
  kind: textOf,
  cluster: textOf,
  app: textOf,
  moniker: toMoniker,
  source: or(textOf, 'text'),
  skipExpressionEvaluation: isTrue,
})

/** @param location A namespace, or an empty text */
export function toPathLocation(location: string): string {
  return location === '' ? noLocation : location
}

/** The application whose objects the stage works on. */
export function appOf({ stage, execution }: StagePlace): string {
  const { app, moniker } = readTarget(stage.context)
  return app ?? moniker.app ?? execution.application
}

/** The object that the stage names. @throws {StageError} when it names none, or no account */
export function requireManifest({ context }: Pick<Stage, 'context'>): ManifestTarget {
  const account = requireAccount(context)
  const { manifestName: name, location, labelSelectors } = readTarget(context)
  if (name === undefined && labelSelectors !== undefined)
    throw new StageError([
      'The stage works on one object and cannot select by labels: set "manifestName" or "criteria".',
    ])
  if (name === undefined)
    throw new StageError([
      'The stage names no object: set "manifestName", such as "deployment web".',
    ])
  if (/^[^ ]+ [^ ]+$/.test(name)) return { account, location, name }
  throw new StageError([
    `"${name}" does not name an object: write its kind and its name with one space, such as "deployment web".`,
  ])
}

const lookups = { key: 'manifests.lookups', tries: 10, pauseMs: 200 }

/** Without criteria, the stage names its target itself. */
export const resolveTargetStep: Step = {
  name: 'resolveTargetManifest',
  timeoutMs: 60_000,
  readsOnly: true,
  execute: async (context) => {
    const { criteria, mode } = readTarget(context.stage.context)
    const isDynamic = criteria !== undefined && mode === 'dynamic'
    return isDynamic
      ? attempt(context, lookups, () => findTarget(context))
      : { status: 'SUCCEEDED' }
  },
}

async function findTarget(context: TaskContext): Promise<TaskResult> {
  const { stage, infrastructure } = context
  const account = requireAccount(stage.context)
  const { location, kind = '', cluster = '', criteria: criterion = '' } = readTarget(stage.context)
  for (const [key, value] of Object.entries({ kind, cluster })) {
    if (value === '')
      throw new StageError([
        `The target has no "${key}": set "kind", "cluster" and "criteria", or "manifestName".`,
      ])
  }
  const application = appOf(context)
  const manifestName = await infrastructure.manifestByCriterion({
    account,
    location,
    kind,
    application,
    cluster,
    criterion,
  })
  if (manifestName === undefined) {
    throw new StageError([
      `There is no ${kind} for "${criterion}" of the cluster "${cluster}" of ${application} in ${account}/${location}. Check kind, cluster and application.`,
    ])
  }
  return { status: 'SUCCEEDED', context: { manifestName }, outputs: { manifestName } }
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

/** Whether its documents are read from an artifact. */
export function isFromArtifact({ context }: Stage): boolean {
  return readTarget(context).source.toLowerCase() === 'artifact'
}

/** Contents of artifacts are evaluated once, where they are read; what the cluster returns, never. */
function unevaluatedKeys({ context }: Stage): string[] {
  const { source, skipExpressionEvaluation } = readTarget(context)
  const isGiven = source !== 'artifact' && !skipExpressionEvaluation
  return [
    ...Object.keys(context).filter(isResult),
    'kato.tasks',
    'optionalArtifacts',
    ...(isGiven ? [] : documentKeys),
  ]
}

/** What all stages of manifests have in common. */
export function manifestStage(type: StageType): StageType {
  return {
    ...type,
    provider: kubernetes,
    unevaluatedKeys: (stage, execution) => [
      ...unevaluatedKeys(stage),
      ...(type.unevaluatedKeys?.(stage, execution) ?? []),
    ],
    async onCancel(context) {
      await cancelOperation(context)
      await type.onCancel?.(context)
    },
    prepareRestart(stage) {
      type.prepareRestart?.(stage)
      const {
        restartDetails,
        previousAttempts,
        'manifests.required': requiredArtifacts,
      } = stage.context
      stage.context = {
        ...withoutResults(stage.context),
        ...definedOf({ restartDetails, previousAttempts, requiredArtifacts }),
      }
      stage.outputs = {}
    },
  }
}

/** The description of an operation: services take what they know. */
export function operationFields({ stage }: Pick<StagePlace, 'stage'>): JsonObject {
  return { ...withoutResults(stage.context), ...accountContextOf(stage) }
}

export function accountContextOf({ context }: Pick<Stage, 'context'>): JsonObject {
  const account = requireAccount(context)
  return { account, credentials: account, cloudProvider: kubernetes }
}

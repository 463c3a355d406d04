/** Stages of one operation on one object: delete, patch, scale, undo, pause, resume, restart, enable, disable. */
import { or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, objectOf, textOf } from '@fairlead/base/json/values.ts'
import {
  onlyWithEarlierRevision,
  patchOptions,
  replicas,
  waitUntilStable,
} from '@fairlead/model/stage-types/manifests.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import { StageError } from '../../machine/failure.ts'
import type { Stage } from '../../model.ts'
import { kubernetes } from '../infrastructure/cloud-context.ts'
import { monitorStep, submitStep } from '../infrastructure/cloud-task.ts'
import { deployedNote } from '../infrastructure/notes.ts'
import type { StageType, Step, TaskContext } from '../stage-type.ts'
import type { ManifestGuard } from './guards.ts'
import {
  kindOf,
  type ManifestTarget,
  manifestStage,
  noLocation,
  operationFields,
  requireManifest,
  resolveTargetStep,
} from './manifest-context.ts'
import { previewedOnceResolved, resolveStep } from './manifest-source.ts'
import { withBinding } from './produced-artifacts.ts'
import { promoteStep } from './promote-outputs.ts'
import { loadManifest, stabilizeStep } from './stabilize.ts'

interface OperationOptions {
  /** How the step that follows the operation is called. */
  readonly monitor: string
  readonly stabilizes?: true
  /** Refuses the operation. */
  readonly check?: (context: TaskContext, target: ManifestTarget) => Promise<void>
  /** Whether there is something to do; there is by default. */
  readonly isNeeded?: (context: TaskContext, target: ManifestTarget) => Promise<boolean>
}

interface ManifestParts {
  /** How long an object may be missing while a stage waits for it. */
  readonly absenceMs: number
  readonly guard: ManifestGuard
}

export function operationStages({ absenceMs, guard }: ManifestParts): StageType[] {
  const stabilize = stabilizeStep(absenceMs)
  const on = (type: string, options: OperationOptions): StageType => {
    const steps = [resolveTargetStep, submitOn(type, options), monitorStep(options.monitor)]
    if (!options.stabilizes) return manifestStage({ type, steps })
    const all = [...steps, stabilize]
    return manifestStage({
      type,
      steps: all,
      chooseSteps: ({ context }) =>
        readFields([waitUntilStable], context).waitUntilStable ? all : steps,
    })
  }
  return [
    deleteStage(guard),
    patchStage(stabilize),
    on('scaleManifest', {
      monitor: 'monitorScale',
      stabilizes: true,
      check: async (context, target) => {
        if (requireReplicas(context.stage) === 0) await guard(context, target, 'scaling to 0')
      },
    }),
    on('undoRolloutManifest', {
      monitor: 'monitorUndoRollout',
      stabilizes: true,
      isNeeded: hasEarlierRevision,
    }),
    on('pauseRolloutManifest', { monitor: 'monitorPauseRollout' }),
    on('resumeRolloutManifest', { monitor: 'monitorResumeRollout', stabilizes: true }),
    on('rollingRestartManifest', { monitor: 'monitorRollingRestart' }),
    on('enableManifest', { monitor: 'monitorEnable', stabilizes: true }),
    on('disableManifest', {
      monitor: 'monitorDisable',
      stabilizes: true,
      check: (context, target) => guard(context, target, 'disabling'),
    }),
  ]
}

function submitOn(operation: string, { check, isNeeded }: OperationOptions): Step {
  return submitStep(operation, async (context) => {
    const target = requireManifest(context.stage)
    await check?.(context, target)
    // Without a note of the target, no later step waits for it.
    if ((await isNeeded?.(context, target)) === false)
      return { operations: [], context: { cloudProvider: kubernetes } }
    return {
      operations: [{ [operation]: descriptionOf(context, target) }],
      context: noteTarget(target),
    }
  })
}

function descriptionOf(context: TaskContext, { name, location }: ManifestTarget): JsonObject {
  return {
    ...operationFields(context),
    manifestName: name,
    location: location === noLocation ? '' : location,
  }
}

/** What clients and later steps read about the target. */
function noteTarget({ account, location, name }: ManifestTarget): JsonObject {
  return {
    cloudProvider: kubernetes,
    'manifest.account.name': account,
    'manifest.name': name,
    'manifest.location': location,
    ...deployedNote.as([{ location, name }]),
  }
}

/** @throws {StageError} unless it is a number of replicas */
function requireReplicas({ context }: Stage): number {
  const { replicas: number } = readFields([replicas], context)
  if (number !== undefined && Number.isInteger(number) && number >= 0) return number
  throw new StageError(['The stage names no number of replicas: set "replicas" to 0 or more.'])
}

const first = or(numberOf, 1)
const readRevisions = shape({
  metadata: shape({
    annotations: shape({
      deployment: [first, 'deployment.kubernetes.io/revision'],
      daemonset: [first, 'deprecated.daemonset.template.generation'],
    }),
  }),
  status: shape({ currentRevision: textOf, updateRevision: textOf }),
})

/** A rollback after a failed deployment leaves alone what runs for the first time. */
async function hasEarlierRevision(context: TaskContext, target: ManifestTarget): Promise<boolean> {
  if (!readFields([onlyWithEarlierRevision], context.stage.context).onlyWithEarlierRevision)
    return true
  const { metadata, status } = readRevisions((await loadManifest(context, target))?.manifest)
  const kind = kindOf(target.name)
  if (kind === 'deployment' || kind === 'daemonset') return metadata.annotations[kind] > 1
  return status.currentRevision !== undefined && status.currentRevision !== status.updateRevision
}

/** One object, or all of some kinds that labels select. */
function deleteStage(guard: ManifestGuard): StageType {
  const submit = submitStep('deleteManifest', async (context) => {
    const { mode, manifestName, kinds, labelSelectors } = context.stage.context
    const isSelecting = kinds !== undefined || labelSelectors !== undefined
    if (mode === 'label' || (isSelecting && !manifestName)) {
      const { manifestName: _name, ...fields } = operationFields(context)
      return { operations: [{ deleteManifest: fields }], context: { cloudProvider: kubernetes } }
    }
    const target = requireManifest(context.stage)
    await guard(context, target, 'deleting')
    return {
      operations: [{ deleteManifest: descriptionOf(context, target) }],
      context: noteTarget(target),
    }
  })
  return manifestStage({
    type: 'deleteManifest',
    steps: [resolveTargetStep, submit, monitorStep('monitorDelete'), promoteStep],
  })
}

function patchStage(stabilize: Step): StageType {
  const resolve = resolveStep('resolvePatchSourceManifest', {
    key: 'patchBody',
    toContext: (documents, { context }) => ({
      patchBody: checkPatch(documents, mergeStrategyOf(context)),
    }),
  })
  const submit = submitStep('patchManifest', async (context) => {
    const target = requireManifest(context.stage)
    return {
      operations: [{ patchManifest: patchOf(context, target) }],
      context: noteTarget(target),
    }
  })
  const steps = [
    resolveTargetStep,
    resolve,
    previewedOnceResolved(submit),
    monitorStep('monitorPatch'),
    promoteStep,
    stabilize,
  ]
  return withBinding(manifestStage({ type: 'patchManifest', steps }))
}

function mergeStrategyOf(context: JsonObject): string {
  return readFields([patchOptions], context).options.mergeStrategy
}

/** @throws {StageError} when the strategy cannot take these documents */
function checkPatch(
  documents: readonly JsonObject[],
  mergeStrategy: string,
): readonly JsonObject[] {
  if (documents.length === 0) throw new StageError(['The patch is empty: set "patchBody".'])
  if (mergeStrategy === 'json' || documents.length === 1) return documents
  throw new StageError([
    `The patch has ${documents.length} objects; the merge strategy ${mergeStrategy} takes one. Use one object, or the strategy json.`,
  ])
}

const toOptions = shape({ options: objectOf })

function patchOf(context: TaskContext, target: ManifestTarget): JsonObject {
  const fields = descriptionOf(context, target)
  const { patchBody, requiredArtifacts = [], optionalArtifacts = [] } = fields
  const mergeStrategy = mergeStrategyOf(context.stage.context)
  const documents = [patchBody].flat()
  return {
    ...fields,
    source: 'text',
    options: { record: true, ...toOptions(fields).options, mergeStrategy },
    patchBody: mergeStrategy === 'json' ? documents : documents[0],
    allArtifacts: [requiredArtifacts, optionalArtifacts].flat(),
  }
}

/** Stages of one operation on one object: delete, patch, scale, undo, pause, resume, restart, enable, disable. */
import { fieldAt, isTrue, type JsonObject, numberOf, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { StageError } from '../../machine/failure.ts'
import { isFalse, type Stage } from '../../model.ts'
import { kubernetes } from '../infrastructure/cloud-context.ts'
import { monitorStep, submitStep } from '../infrastructure/cloud-task.ts'
import type { StageType, Step, TaskContext } from '../stage-type.ts'
import type { ManifestGuard } from './guards.ts'
import { kindOf, type ManifestTarget, manifestStage, noLocation, operationFields, requireManifest } from './manifest-context.ts'
import { previewedOnceResolved, resolveStep } from './manifest-source.ts'
import { withBinding } from './produced-artifacts.ts'
import { promoteStep } from './promote-outputs.ts'
import { loadManifest, stabilizeStep } from './stabilize.ts'
import { resolveTargetStep } from './target.ts'

interface OperationOptions {
  /** How the step that follows the operation is called. */
  readonly monitor: string
  readonly stabilizes: boolean
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
      chooseSteps: ({ context }) => (isFalse(context['waitUntilStable']) ? steps : all),
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
    on('undoRolloutManifest', { monitor: 'monitorUndoRollout', stabilizes: true, isNeeded: hasEarlierRevision }),
    on('pauseRolloutManifest', { monitor: 'monitorPauseRollout', stabilizes: false }),
    on('resumeRolloutManifest', { monitor: 'monitorResumeRollout', stabilizes: true }),
    on('rollingRestartManifest', { monitor: 'monitorRollingRestart', stabilizes: false }),
    on('enableManifest', { monitor: 'monitorEnable', stabilizes: true }),
    on('disableManifest', {
      monitor: 'monitorDisable',
      stabilizes: true,
      check: (context, target) => guard(context, target, 'disabling'),
    }),
  ]
}

function submitOn(operation: string, { check = async () => undefined, isNeeded = async () => true }: OperationOptions): Step {
  return submitStep(operation, operation.toLowerCase(), async (context) => {
    const target = requireManifest(context.stage)
    await check(context, target)
    // Without a note of the target, no later step waits for it.
    if (!(await isNeeded(context, target))) return { operations: [], context: { cloudProvider: kubernetes } }
    return { operations: [{ [operation]: descriptionOf(context, target) }], context: noteTarget(target) }
  })
}

function descriptionOf(context: TaskContext, { name, location }: ManifestTarget): JsonObject {
  return { ...operationFields(context), manifestName: name, location: location === noLocation ? '' : location }
}

/** What clients and later steps read about the target. */
function noteTarget({ account, location, name }: ManifestTarget): JsonObject {
  return {
    cloudProvider: kubernetes,
    'manifest.account.name': account,
    'manifest.name': name,
    'manifest.location': location,
    'outputs.manifestNamesByNamespace': { [location]: [name] },
  }
}

/** @throws {StageError} unless it is a number of replicas */
function requireReplicas({ context }: Stage): number {
  const replicas = numberOf(context['replicas'])
  if (replicas !== undefined && Number.isInteger(replicas) && replicas >= 0) return replicas
  throw new StageError(['The stage names no number of replicas: set "replicas" to 0 or more.'])
}

/** A rollback after a failed deployment leaves alone what runs for the first time. */
async function hasEarlierRevision(context: TaskContext, target: ManifestTarget): Promise<boolean> {
  if (!isTrue(context.stage.context['onlyWithEarlierRevision'])) return true
  const manifest = objectOf((await loadManifest(context, target))?.['manifest'])
  const annotation = (key: string) => numberOf(fieldAt(manifest, 'metadata', 'annotations', key)) ?? 1
  switch (kindOf(target.name)) {
    case 'deployment':
      return annotation('deployment.kubernetes.io/revision') > 1
    case 'daemonset':
      return annotation('deprecated.daemonset.template.generation') > 1
    default: {
      const { currentRevision, updateRevision } = objectOf(manifest['status'])
      return currentRevision !== undefined && currentRevision !== updateRevision
    }
  }
}

/** One object, or all of some kinds that labels select. */
function deleteStage(guard: ManifestGuard): StageType {
  const submit = submitStep('deleteManifest', 'deletemanifest', async (context) => {
    const { context: settings } = context.stage
    if (isByLabels(settings)) {
      const { manifestName: _name, ...fields } = operationFields(context)
      return { operations: [{ deleteManifest: fields }], context: { cloudProvider: kubernetes } }
    }
    const target = requireManifest(context.stage)
    await guard(context, target, 'deleting')
    return { operations: [{ deleteManifest: descriptionOf(context, target) }], context: noteTarget(target) }
  })
  return manifestStage({
    type: 'deleteManifest',
    steps: [resolveTargetStep, submit, monitorStep('monitorDelete'), promoteStep],
  })
}

function isByLabels(settings: JsonObject): boolean {
  const isSelecting = settings['kinds'] !== undefined || settings['labelSelectors'] !== undefined
  return textOf(settings['mode']) === 'label' || (isSelecting && textOf(settings['manifestName']) === undefined)
}

function patchStage(stabilize: Step): StageType {
  const resolve = resolveStep('resolvePatchSourceManifest', {
    key: 'patchBody',
    toContext: (documents, { context }) => ({ patchBody: checkPatch(documents, mergeStrategyOf(context)) }),
  })
  const submit = submitStep('patchManifest', 'patchmanifest', async (context) => {
    const target = requireManifest(context.stage)
    return { operations: [{ patchManifest: patchOf(context, target) }], context: noteTarget(target) }
  })
  const steps = [resolveTargetStep, resolve, previewedOnceResolved(submit), monitorStep('monitorPatch'), promoteStep, stabilize]
  return withBinding(manifestStage({ type: 'patchManifest', steps }))
}

function mergeStrategyOf(context: JsonObject): string {
  return textOf(objectOf(context['options'])['mergeStrategy']) ?? 'strategic'
}

/** @throws {StageError} when the strategy cannot take these documents */
function checkPatch(documents: readonly JsonObject[], mergeStrategy: string): readonly JsonObject[] {
  if (documents.length === 0) throw new StageError(['The patch is empty: set "patchBody".'])
  if (mergeStrategy === 'json' || documents.length === 1) return documents
  throw new StageError([
    `The patch has ${documents.length} objects; the merge strategy ${mergeStrategy} takes one. Use one object, or the strategy json.`,
  ])
}

function patchOf(context: TaskContext, target: ManifestTarget): JsonObject {
  const fields = descriptionOf(context, target)
  const { options, patchBody, requiredArtifacts = [], optionalArtifacts = [] } = fields
  const mergeStrategy = mergeStrategyOf(context.stage.context)
  const documents = Array.isArray(patchBody) ? patchBody : [patchBody]
  return {
    ...fields,
    source: 'text',
    options: { record: true, ...objectOf(options), mergeStrategy },
    patchBody: mergeStrategy === 'json' ? documents : documents[0],
    allArtifacts: [requiredArtifacts, optionalArtifacts].flat(),
  }
}

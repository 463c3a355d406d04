/** `findArtifactsFromResource`: an object of a cluster, and the artifacts that it uses, for later stages. */
import { StageError } from '../../machine/failure.ts'
import { attempt } from '../infrastructure/cloud-task.ts'
import type { StageType, TaskContext, TaskResult } from '../stage-type.ts'
import { manifestStage, requireManifest, resolveTargetStep } from './manifest-context.ts'
import { withBinding } from './produced-artifacts.ts'
import { toOutput } from './promote-outputs.ts'
import { loadManifest } from './stabilize.ts'

const reads = { key: 'manifests.reads', tries: 5, pauseMs: 1000 }

export const findArtifactsStage: StageType = withBinding(
  manifestStage({
    type: 'findArtifactsFromResource',
    steps: [
      resolveTargetStep,
      {
        name: 'findArtifactsFromResource',
        timeoutMs: 60_000,
        readsOnly: true,
        execute: (context) => attempt(context, reads, () => findArtifacts(context)),
      },
    ],
    // The object comes from the cluster, with templates of its own.
    unevaluatedKeys: () => ['manifest'],
    forgets: ['manifest'],
  }),
)

async function findArtifacts(context: TaskContext): Promise<TaskResult> {
  const target = requireManifest(context.stage)
  const found = await loadManifest(context, target)
  if (found === undefined)
    throw new StageError([
      `${target.name} was not found in ${target.account}/${target.location}. Check its kind, name and location.`,
    ])
  const { manifest, artifacts } = found
  const outputs = {
    manifest: manifest['kind'] === 'Secret' ? toOutput(manifest) : manifest,
    artifacts,
  }
  return { status: 'SUCCEEDED', context: outputs, outputs }
}

/** Every described stage type, by its name. */
import { artifactStages } from './artifacts.ts'
import { buildStages } from './builds.ts'
import { canaryStages } from './canaries.ts'
import { controlStages } from './control.ts'
import { definitionStages } from './definitions.ts'
import type { StageDescription } from './description.ts'
import { infrastructureStages } from './infrastructure.ts'
import { manifestStages } from './manifests.ts'
import { verificationStages } from './verification.ts'

export const stageDescriptions: ReadonlyMap<string, StageDescription> = new Map(
  [
    ...[
      ...controlStages,
      ...artifactStages,
      ...buildStages,
      ...infrastructureStages,
      ...manifestStages,
      ...definitionStages,
    ],
    ...verificationStages,
    ...canaryStages,
  ].map((each) => [each.type, each]),
)

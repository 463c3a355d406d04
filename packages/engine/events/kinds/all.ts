/** All kinds of triggers that events fire, and the allowed trigger types. */
import { buildKind } from './build.ts'
import { gitKind } from './git.ts'
import type { TriggerKind } from './kind.ts'
import { messageKinds } from './message.ts'
import { registryKinds } from './registry.ts'
import { cdeventsKind, webhookKind } from './webhook.ts'

export const triggerKinds: readonly TriggerKind[] = [
  webhookKind,
  gitKind,
  buildKind,
  cdeventsKind,
  ...registryKinds,
  ...messageKinds,
]

/** Types of triggers that can start a pipeline: by events, the clock, the end of another pipeline, or hand. */
export const eventTriggerTypes: readonly string[] = [
  'cron',
  'manual',
  'pipeline',
  ...triggerKinds.flatMap((kind) => kind.triggerTypes),
]

/** All embedded back ends. */
import type { Backend } from './backend.ts'
import { bakeryBackend } from './bakery/bakery.ts'
import { buildsBackend } from './builds/builds.ts'
import { canariesBackend } from './canaries/canaries.ts'
import { definitionsBackend } from './definitions/definitions.ts'
import { eventsBackend } from './events/events.ts'
import { infrastructureBackend } from './infrastructure/infrastructure.ts'
import { orchestrationBackend } from './orchestration/orchestration.ts'
import { permissionsBackend } from './permissions/permissions.ts'

/** In the order in which they open: the store first, because others ask it. */
export const embeddedBackends: readonly Backend[] = [
  definitionsBackend,
  permissionsBackend,
  infrastructureBackend,
  buildsBackend,
  bakeryBackend,
  canariesBackend,
  orchestrationBackend,
  eventsBackend,
]

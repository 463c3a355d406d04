/** All embedded back ends. */

import { buildsBackend } from '@fairlead/builds/builds.ts'
import { canariesBackend } from '@fairlead/engine/canaries/canaries.ts'
import { definitionsBackend } from '@fairlead/engine/definitions/definitions.ts'
import { eventsBackend } from '@fairlead/engine/events/events.ts'
import { orchestrationBackend } from '@fairlead/engine/orchestration-backend.ts'
import { permissionsBackend } from '@fairlead/engine/permissions/permissions.ts'
import type { Backend } from '@fairlead/ports/backend.ts'
import { bakeryBackend } from '@fairlead/providers/bakery/bakery.ts'
import { infrastructureBackend } from '@fairlead/providers/infrastructure/infrastructure.ts'

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

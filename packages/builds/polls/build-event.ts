/** The event of a finished build. docs/contracts/builds.md#builds-as-triggers. */

import { digestUuid } from '@fairlead/base/stores/digest-uuid.ts'
import type { ReportedEvent } from '@fairlead/ports/events.ts'
import { type BuildServer, toProvider } from '../build-server.ts'
import type { ListedBuild } from '../listed-build.ts'
import { markOf } from './position.ts'

/** The same end of a build has the same id, so that a repetition can be recognized. */
export function toBuildEvent({ name, type }: BuildServer, job: string, build: ListedBuild): ReportedEvent {
  const { number, timestamp = '' } = build
  return {
    eventId: digestUuid(JSON.stringify([name, job, number, timestamp, markOf(build)])),
    details: { type: 'build', source: 'igor' },
    content: {
      master: name,
      project: { name: job, lastBuild: build },
      ...(type !== 'jenkins' && { type: toProvider(type) }),
    },
  }
}

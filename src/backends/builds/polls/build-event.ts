/** The event of a finished build. docs/contracts/builds.md#builds-as-triggers. */
import { createHash } from 'node:crypto'
import type { JsonObject } from '../../../json/values.ts'
import { type BuildServer, toProvider } from '../build-server.ts'
import { markOf } from './position.ts'

/** The same end of a build has the same id, so that a repetition can be recognized. */
export function toBuildEvent({ name, type }: BuildServer, job: string, build: JsonObject): JsonObject {
  const { number, timestamp } = build
  return {
    eventId: toUuid(JSON.stringify([name, job, number, String(timestamp ?? ''), markOf(build)])),
    details: { type: 'build', source: 'igor' },
    content: {
      master: name,
      project: { name: job, lastBuild: build },
      ...(type !== 'jenkins' && { type: toProvider(type) }),
    },
  }
}

/** A UUID of version 8, which is free for digests. */
function toUuid(text: string): string {
  const digest = createHash('sha256').update(text).digest('hex')
  const variant = ((Number.parseInt(digest.slice(16, 17), 16) & 0x3) | 0x8).toString(16)
  return [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `${variant}${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ].join('-')
}

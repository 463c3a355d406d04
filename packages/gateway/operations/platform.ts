/** Long-lived parts that the composition root hands to operations. */

import type { Health } from '@fairlead/base/telemetry/health.ts'
import type { Metrics } from '@fairlead/base/telemetry/metrics.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Banners } from '../banners/banners.ts'
import type { AuditedAnswers } from '../http/audited-answers.ts'
import type { Site } from '../http/page.ts'
import type { Integrations } from '../integrations/integrations.ts'
import type { EventStreams } from '../live/event-streams.ts'
import type { Login } from '../login/open-login.ts'
import type { Permissions } from '../permissions/fiat-permissions.ts'
import type { SharedReads } from '../upstreams/shared-reads.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import type { AccountCache } from './account-cache.ts'
import type { ApplicationCache } from './application-cache.ts'
import type { DeckPlugins } from './deck-plugins.ts'
import type { DeliveryReader } from './delivery.ts'
import type { ExaminationModel } from './examination.ts'
import type { OperationSettings } from './settings.ts'

export interface Platform {
  readonly upstreams: Upstreams
  readonly log: FastifyBaseLogger
  readonly sharedReads: SharedReads | undefined
  readonly applications: ApplicationCache
  readonly accounts: AccountCache
  readonly delivery: DeliveryReader
  readonly banners: Banners
  readonly deckPlugins: DeckPlugins
  readonly integrations: Integrations
  readonly permissions: Permissions
  readonly login: Login
  readonly site: Site
  readonly settings: OperationSettings
  readonly version: string
  readonly health: Health
  readonly metrics: Metrics
  readonly examine: () => Promise<ExaminationModel>
  readonly streams: EventStreams
  readonly audit: AuditLog | undefined
  readonly audited: AuditedAnswers | undefined
  readonly operationIds: ReadonlySet<string>
  readonly apiDocument: PrintedDocument
}

export interface PrintedDocument {
  print(format: 'json' | 'yaml', serverUrl: string): Promise<Buffer>
}

/** The embedded definition store outside of a server: for writing under the lock, or as a copy. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { objectList, shape } from '@fairlead/base/json/shape.ts'
import type { EmbeddableService } from '@fairlead/base/services/services.ts'
import { openDatabase } from '@fairlead/base/storage/database.ts'
import { createStoredDefinitions } from '@fairlead/engine/definitions/as-port.ts'
import { createDefinitions, type Definitions } from '@fairlead/engine/definitions/collections.ts'
import { definitionsBackend } from '@fairlead/engine/definitions/definitions.ts'
import { eventTriggerTypes } from '@fairlead/engine/events/kinds/all.ts'
import { describeUndeliveredTypes } from '@fairlead/engine/notifications/warnings.ts'
import { createClouddriver } from '@fairlead/external/clouddriver.ts'
import { openEcho } from '@fairlead/external/echo.ts'
import { openIgor } from '@fairlead/external/igor.ts'
import { openOrca } from '@fairlead/external/orca.ts'
import { toAccount } from '@fairlead/model/environments/accounts.ts'
import { toPermissionRecord } from '@fairlead/model/rights/permissions.ts'
import type { Backend } from '@fairlead/ports/backend.ts'
import type { Ports } from '@fairlead/ports/ports.ts'
import type { CallService } from '@fairlead/ports/service-call.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/config.ts'
import { lockDataDir } from '../hosting/lock.ts'
import { createBackendServer } from '../hosting/server.ts'

export interface OpenDefinitions {
  readonly definitions: Definitions
  /** What the store takes for the time of the next writes. */
  setTime(ms: number): void
  close(): void
}

/** @throws {DirectoryInUse} while a Fairlead runs with the directory */
export function openForWriting(config: Config, log: FastifyBaseLogger): OpenDefinitions {
  const { dataDir } = config.backends
  const lock = lockDataDir(dataDir)
  try {
    const db = openDatabase(join(dataDir, 'backends.db'))
    const close = () => {
      db.close()
      lock.close()
    }
    return open(db, config, { log, close })
  } catch (error) {
    lock.close()
    throw error
  }
}

/** A copy of the definitions alone, also while Fairlead runs: what is written to it is gone when it is closed. */
export function openCopy(
  config: Config,
  log: FastifyBaseLogger,
  { withHistory = true } = {},
): OpenDefinitions {
  // Without a name, SQLite keeps it in memory, and beyond that in a file that no one else sees.
  const db = new DatabaseSync('')
  const opened = open(db, config, { log, close: () => db.close() })
  const file = join(config.backends.dataDir, 'backends.db')
  if (existsSync(file)) {
    db.prepare('ATTACH ? AS live').run(file)
    for (const table of ['definitions_documents', ...(withHistory ? ['definitions_history'] : [])])
      db.exec(`INSERT INTO main.${table} SELECT * FROM live.${table}`)
    db.exec('DETACH live')
    opened.definitions.pipelines.markAll()
    opened.definitions.templates.markAll()
  }
  return opened
}

function open(
  db: DatabaseSync,
  config: Config,
  { log, close }: { log: FastifyBaseLogger; close: () => void },
): OpenDefinitions {
  let timeMs = Date.now()
  let definitions: Definitions | undefined
  const store: Backend = {
    ...definitionsBackend,
    open(context) {
      definitions = createDefinitions(context)
      return { routes: () => {}, ports: { definitions: createStoredDefinitions(definitions) } }
    },
  }
  const call = () => Promise.reject(new Error('No service runs.'))
  // Findings depend on what the other services take and have; none of them runs.
  const backends = [store, ...servicesAlone(config, call)]
  createBackendServer({ backends, db, call, settings: config.backends, log, now: () => timeMs })
  if (definitions === undefined) throw new Error('The definition store did not open.')
  return { definitions, close, setTime: (ms) => (timeMs = ms) }
}

const toProvider = shape({ accounts: objectList(toAccount) })

/** What the configuration says of the embedded services, for findings. */
function servicesAlone({ backends, upstreams }: Config, call: CallService): Backend[] {
  const { orca, echo, igor, clouddriver } = upstreams.services
  const providers = Object.values(backends.infrastructure?.providers ?? {})
  const accounts = providers.flatMap((provider) => toProvider(provider).accounts)
  const servers = Object.entries(backends.buildServers).flatMap(([id, settings]) =>
    (Array.isArray(settings) ? settings : [{ name: id }]).map(toPermissionRecord),
  )
  const describeUndelivered = (types: readonly string[]) =>
    describeUndeliveredTypes(types, backends.notifications.types)
  const ports = {
    orca: { executions: { ...openOrca(call), runsOtherStages: false } },
    echo: { events: { ...openEcho(call), triggerTypes: eventTriggerTypes, describeUndelivered } },
    igor: { builds: { ...openIgor(call), services: async () => servers } },
    clouddriver: {
      infrastructure: {
        ...createClouddriver(call, () => performance.now()),
        accountsAtHand: () => accounts,
      },
    },
  }
  const places = { orca, echo, igor, clouddriver }
  return (['orca', 'echo', 'igor', 'clouddriver'] as const)
    .filter((service) => places[service].kind === 'embedded')
    .map((service) => portAlone(service, ports[service]))
}

function portAlone(service: EmbeddableService, ports: Partial<Ports>): Backend {
  return { service, migrations: [], open: () => ({ routes: () => {}, ports }) }
}

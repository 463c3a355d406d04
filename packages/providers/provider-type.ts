/**
 * Types of cloud providers: their settings, their tables, and how one is opened.
 *
 * To add a provider, export a `ProviderDeclaration` and a `ProviderType` from a folder of its own (`local/` is the model) and list them in
 * `declarations.ts` and `all.ts`. Its `open` returns a `CloudProvider`; all reads, operations, searches, and the rights that they need, come
 * from there.
 */

import type { Check, Timeouts } from '@fairlead/base/findings/finding.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import type { Backend, BackendContext } from '@fairlead/ports/backend.ts'
import type { ProviderHandle } from '@fairlead/ports/machine.ts'
import type { z } from 'zod'
import type { CloudProvider } from './infrastructure/provider.ts'

/**
 * What the configuration and the gateway need of a provider. It imports nothing of what opens one: the gateway's thread would load it.
 *
 * @typeParam Settings Plain data, which is handed to the thread of the back ends
 */
export interface ProviderDeclaration<Keys extends z.ZodObject = z.ZodObject, Settings = unknown> {
  readonly id: string
  readonly keys: Keys
  /** Undefined where it is switched off. */
  toSettings(
    keys: z.output<Keys>,
    report: SettingsReport,
    surroundings: ProviderSurroundings,
  ): Settings | undefined
  /** Its settings count without a restart: what it opens has `reload`. */
  readonly reloads?: true
  readonly bakery?: BakeryDeclaration
  uploadLimits?(settings: Settings): UploadLimits
  /** Types of artifacts that its operations make. Pickers offer them under its id; they are no files, and cannot be fetched. */
  readonly artifactTypes?: readonly string[]
  readonly description: ProviderDescription
  /** A plug-in that teaches Deck the provider; undefined where Deck knows it. */
  readonly deckPlugin?: DeckPluginSource
}

export interface ProviderType<Keys extends z.ZodObject = z.ZodObject, Settings = unknown>
  extends ProviderDeclaration<Keys, Settings> {
  /** SQL scripts, oldest first; never edit one that was released. Names of tables begin with `infrastructure_`. */
  readonly migrations: readonly string[]
  /** Its tables, and those of its bakes, are older than the registry: their scripts are counted with those of the services. */
  readonly sharesMigrations?: true
  open(context: BackendContext, settings: Settings): CloudProvider
  readonly bakery?: BakeryType
  /** For `fairlead doctor` and `fairlead check`: whether its accounts can be reached and used. */
  checks?(settings: Settings, timeouts: Timeouts): readonly Check[]
}

export interface ProviderSurroundings {
  /** Ports that Fairlead listens on, also while it is stopped. */
  readonly ownPorts: readonly number[]
}

export interface BakeryDeclaration<Keys extends z.ZodObject = z.ZodObject, Settings = unknown> {
  /** Each name begins with `bakery.`, the id and a dot. */
  readonly keys: Keys
  toSettings(
    keys: z.output<Keys>,
    report: Pick<SettingsReport, 'problem'>,
    surroundings: BakerySurroundings,
  ): Settings
}

export interface BakeryType<Keys extends z.ZodObject = z.ZodObject, Settings = unknown>
  extends BakeryDeclaration<Keys, Settings> {
  readonly migrations: readonly string[]
  open(context: BackendContext, provider: ProviderHandle, settings: Settings): Baker
}

export interface BakerySurroundings {
  /** Whether only users of this machine can reach a standalone instance. */
  readonly isPrivate: boolean
  /** Absolute path. */
  readonly dataDir: string
}

/** Clients ask for these facts instead of the id. */
interface ProviderDescription {
  readonly label: string
  /** Resources that the usual forms can edit. */
  readonly forms: readonly ('loadBalancer' | 'securityGroup')[]
  /** Operations that do not fit its resources, with the reason. */
  readonly refused: Readonly<Record<string, string>>
  /** It deploys manifests, whose stages and pages are shown. */
  readonly hasManifests?: true
  readonly help: Readonly<Record<string, string>>
  readonly metrics?: readonly string[]
  /** Where all images are listed, and uploaded below it; undefined where they are only searched. */
  readonly imagesPath?: string
}

export interface UploadLimits {
  readonly maxBytes: number
  readonly maxEntries: number
  /** Names of the two settings. */
  readonly bytesKey: string
  readonly entriesKey: string
}

interface DeckPluginSource {
  readonly id: string
  readonly name: string
  readonly folder: string
}

export interface Baker {
  readonly baseImages: readonly JsonObject[]
  /**
   * Starts a bake, or finds the one that does the same.
   *
   * @throws {PortError} 400 also with the log of a builder that failed at once; 403
   * @see docs/contracts/bakery.md#bakes
   */
  request(query: BakeQuery): Promise<BakeView>
  get(id: string): BakeView | undefined
  /** @throws {PortError} 400 unless it runs */
  cancel(id: string): Promise<void>
  /** Secrets are masked. Undefined while nothing is logged. */
  log(id: string): Promise<string | undefined>
  start(): void
  close(): Promise<void>
}

export interface BakeQuery {
  readonly region: string
  readonly body: unknown
  readonly user: string
  readonly execution: string | undefined
  /** The application of the execution, whose secrets may be used. */
  readonly application?: string
  readonly isRebake: boolean
}

export interface BakeView {
  readonly id: string
  readonly state: 'RUNNING' | 'COMPLETED' | 'CANCELED'
  readonly account: string
  readonly request: JsonObject
  /** `NAME:VERSION` of the finished image. */
  readonly image: string | undefined
  readonly imageName: string | undefined
}

/** @param own Scripts of the back end, which come first */
export function migrationsOf(
  types: readonly ProviderType[],
  own: readonly string[],
  scriptsOf: (type: ProviderType) => readonly string[],
): Pick<Backend, 'migrations' | 'partMigrations'> {
  const [shared, separate] = [true, false].map((is) =>
    types.filter((type) => (type.sharesMigrations === true) === is),
  )
  return {
    migrations: [...own, ...(shared ?? []).flatMap(scriptsOf)],
    partMigrations: Object.fromEntries((separate ?? []).map((type) => [type.id, scriptsOf(type)])),
  }
}

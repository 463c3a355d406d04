/**
 * Types of cloud providers: their settings, their tables, and how one is opened.
 *
 * To add a provider, export a `ProviderType` from a folder of its own (`local/` is the model) and list it in `all.ts`. Its `open` returns
 * a `CloudProvider`; all reads, operations, searches, and the rights that they need, come from there.
 */

import type { Check, Timeouts } from '@fairlead/base/findings/finding.ts'
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { ProviderHandle } from '@fairlead/ports/machine.ts'
import type { z } from 'zod'
import type { Baker } from './infrastructure/baker.ts'
import type { CloudProvider } from './infrastructure/provider.ts'

/** @typeParam Settings Plain data, which is handed to the thread of the back ends */
export interface ProviderType<Keys extends z.ZodObject = z.ZodObject, Settings = unknown> {
  /** The value of `cloudProvider`. */
  readonly id: string
  /** Its settings; each name begins with the id and a dot. */
  readonly keys: Keys
  /** Undefined where it is switched off. */
  toSettings(keys: z.output<Keys>, report: SettingsReport, surroundings: ProviderSurroundings): Settings | undefined
  /** SQL scripts, oldest first; never edit one that was released. Names of tables begin with `infrastructure_`. */
  readonly migrations: readonly string[]
  /** Its tables, and those of its bakes, are older than the registry: their scripts are counted with those of the services. */
  readonly sharesMigrations?: true
  /** Its settings count without a restart: what it opens has `reload`. */
  readonly reloads?: true
  open(context: BackendContext, settings: Settings): CloudProvider
  /** Undefined where it bakes no images. */
  readonly bakery?: BakeryType
  /** Limits of images that users upload; undefined where they cannot. */
  uploadLimits?(settings: Settings): UploadLimits
  /** Types of artifacts that its operations make. Pickers offer them under its id; they are no files, and cannot be fetched. */
  readonly artifactTypes?: readonly string[]
  /** For `fairlead doctor` and `fairlead check`: whether its accounts can be reached and used. */
  checks?(settings: Settings, timeouts: Timeouts): readonly Check[]
  /** For the forms and menus of clients. */
  readonly description: ProviderDescription
  /** A plug-in that teaches Deck the provider; undefined where Deck knows it. */
  readonly deckPlugin?: DeckPluginSource
}

export interface ProviderSurroundings {
  /** Ports that Fairlead listens on, also while it is stopped. */
  readonly ownPorts: readonly number[]
}

/** The part of a provider that the embedded bakery needs. */
export interface BakeryType<Keys extends z.ZodObject = z.ZodObject, Settings = unknown> {
  /** Each name begins with `bakery.`, the id and a dot. */
  readonly keys: Keys
  toSettings(keys: z.output<Keys>, report: Pick<SettingsReport, 'problem'>, surroundings: BakerySurroundings): Settings
  readonly migrations: readonly string[]
  /** @param provider As its type has opened it */
  open(context: BackendContext, provider: ProviderHandle, settings: Settings): Baker
}

export interface BakerySurroundings {
  /** Whether only users of this machine can reach a standalone instance. */
  readonly isPrivate: boolean
  /** Absolute path. */
  readonly dataDir: string
}

/** Clients ask for these facts instead of the id. */
export interface ProviderDescription {
  readonly label: string
  /** Resources that the usual forms can edit. */
  readonly forms: readonly ('loadBalancer' | 'securityGroup')[]
  /** Operations that do not fit its resources, with the reason. */
  readonly refused: Readonly<Record<string, string>>
  /** It deploys manifests, whose stages and pages are shown. */
  readonly hasManifests?: true
  /** Help texts of fields of the forms, by name. */
  readonly help: Readonly<Record<string, string>>
  /** Names of the metrics that `CloudProvider.metrics` has. */
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

export interface DeckPluginSource {
  readonly id: string
  readonly name: string
  /** Its folder in the built console. */
  readonly folder: string
}

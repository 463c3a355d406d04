/**
 * A kind of notification, such as e-mail, and the channel that delivers it.
 *
 * To add a kind, export a `NotificationType` from a file in `types/`, and list it in `types/all.ts`.
 */

import type { CallOutside } from '@fairlead/base/outside/call-outside.ts'
import type { SettingsReport } from '@fairlead/base/settings/setting.ts'
import type { z } from 'zod'

export interface NotificationType {
  /** Name in definitions: `slack`. */
  readonly id: string
  readonly label: string
  /** The setting that switches it on, for advice. */
  readonly enabledBy: string
  readonly keys: z.ZodObject
  /** What `address` is of this kind. */
  readonly address: AddressField
  /** Deck has a form of its own for it. */
  readonly isKnownToDeck: boolean
  /** Plain data, which is handed to a worker thread, with `permissions` where it holds credentials; undefined while it is switched off. */
  toSettings(keys: object, report: SettingsReport, shared: SharedValues): object | undefined
  open(settings: object, tools: ChannelTools): NoticeChannel
}

/** Values of keys that other capabilities declare. */
export interface SharedValues {
  /** Lists channels of Slack. */
  readonly slack?: { readonly token: string | undefined; readonly baseUrl: string }
}

interface AddressField {
  readonly label: string
  readonly description: string
  /** A notification without it is complete. */
  readonly isOptional?: true
}

export interface ChannelTools {
  readonly call: CallOutside
  /** What an application declares by `repoProjectKey` and `repoSlug`. @throws {DeliveryError} */
  declaredRepository(application: string): Promise<DeclaredRepository | undefined>
}

interface DeclaredRepository {
  /** Owner and name. */
  readonly name: string
  /** Its `repoType`, such as `github`. */
  readonly host: string | undefined
}

export interface NoticeChannel {
  /** @throws {DeliveryError} */
  send(notice: Notice): Promise<void>
  close?(): void
}

/** What is sent, as plain data. */
export interface Notice {
  /** The same each time that it is sent: receivers can recognise a repetition. */
  readonly id: string
  /** Such as `pipeline.failed`, `manualJudgment` or `test`. */
  readonly occasion: string
  readonly phase: NoticePhase
  readonly application: string
  readonly execution?: { readonly id: string; readonly name: string }
  readonly stage?: { readonly id: string; readonly name: string }
  readonly subject: string
  readonly text: string
  /** Opens what it is about. */
  readonly link?: string
  readonly address: string
  readonly cc?: string
  /** In place of the address, which its readers are not to see. */
  readonly shownAs?: string
  readonly commit?: TriggerCommit
  /** Milliseconds since the epoch. */
  readonly time: number
}

export type NoticePhase = 'starting' | 'complete' | 'failed' | 'waiting'

/** What the trigger of a run names. */
export interface TriggerCommit {
  /** Owner and name: `shop/web`. */
  readonly repository?: string
  readonly hash?: string
}

export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
  /** A repetition cannot help. */
  readonly isFinal: boolean
  /** Pause that the receiver asks for. */
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    { isFinal = false, retryAfterMs }: { isFinal?: boolean; retryAfterMs?: number } = {},
  ) {
    super(message)
    this.isFinal = isFinal
    this.retryAfterMs = retryAfterMs
  }
}

/** Bakes of images and manifests, as other capabilities use them. */
import { maybe, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import type { Caller } from './caller.ts'
import type { PortRules } from './rules.ts'

export interface BakePlace {
  readonly region: string
  readonly id: string
}

/** Record for clients, with `state`, `result` and `resource_id`. */
export type BakeStatus = JsonObject & { readonly id: string }

export const toBakeDetails = shape({
  ami: textOf,
  imageName: [textOf, 'image_name'],
  baseAmi: [textOf, 'base_ami'],
  artifact: maybe(objectOf),
})
type BakeDetails = ShapeOf<typeof toBakeDetails>

/** All throw a `PortError` for a refusal, and for a bake that does not exist. */
export interface Bakery {
  /** In messages. */
  readonly name: string
  /** Whether it puts values in place of references to secrets by itself, where they are needed. */
  readonly takesReferences: boolean
  /** @throws {PortError} 404 */
  baseImage(
    wanted: { readonly provider: string; readonly id: string },
    as: Caller,
  ): Promise<JsonObject>
  /** Starts a bake, or finds the one that does the same. */
  start(
    request: JsonObject,
    how: { readonly region: string; readonly isRebake: boolean },
    as: Caller,
  ): Promise<BakeStatus>
  /** Undefined: it is not known yet. */
  status(bake: BakePlace, as: Caller): Promise<BakeStatus | undefined>
  details(bake: BakePlace, as: Caller): Promise<BakeDetails>
  log(bake: BakePlace, as: Caller): Promise<string>
  cancel(bake: BakePlace, as: Caller): Promise<void>
  /** @returns the manifest as an artifact */
  bakeManifest(request: JsonObject, renderer: string, as: Caller): Promise<JsonObject>
}

export const bakeryRules: PortRules<Bakery> = {
  service: 'rosco',
  changes: ['start', 'cancel', 'bakeManifest'],
  holdsSecrets: ['start', 'bakeManifest'],
  once: ['start', 'bakeManifest'],
}

/** All types of artifact accounts. */
import { z } from 'zod'
import type { SettingsReport } from '../../../settings/setting.ts'
import type { BackendContext } from '../../backend.ts'
import type { ArtifactAccount, ArtifactAccountType } from './account-type.ts'
import { embeddedArtifacts } from './embedded.ts'
import { gitArtifacts } from './git.ts'
import { httpArtifacts } from './http.ts'

const artifactAccountTypes: readonly ArtifactAccountType[] = [embeddedArtifacts, gitArtifacts, httpArtifacts]

export const ArtifactKeys = z.strictObject(
  Object.assign({}, ...artifactAccountTypes.map(({ keys }) => keys.shape)) as z.core.$ZodShape,
)

/** By the id of the type, of those that are switched on. */
export function toArtifactSettings(keys: object, report: SettingsReport): Readonly<Record<string, unknown>> {
  const all = artifactAccountTypes.map((type) => [type.id, type.toSettings(keys as never, report)] as const)
  return Object.fromEntries(all.filter(([, settings]) => settings !== undefined))
}

export function openArtifactAccounts(context: BackendContext): readonly ArtifactAccount[] {
  const settings = context.settings.infrastructure?.artifacts ?? { [embeddedArtifacts.id]: {} }
  return artifactAccountTypes.flatMap((type) => (type.id in settings ? type.open(settings[type.id], context) : []))
}

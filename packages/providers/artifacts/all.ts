/** All types of artifact accounts. */

import { keysOf, type SettingsReport, settingsById } from '@fairlead/base/settings/setting.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { z } from 'zod'
import type { ArtifactAccount, ArtifactAccountType } from './account-type.ts'
import { buildFileArtifacts } from './build-files.ts'
import { embeddedArtifacts } from './embedded.ts'
import { fileHostArtifacts } from './file-hosts.ts'
import { gitArtifacts } from './git.ts'
import { helmArtifacts } from './helm.ts'
import { httpArtifacts } from './http.ts'
import { mavenArtifacts } from './maven.ts'
import { npmArtifacts } from './npm.ts'
import { ociArtifacts } from './oci.ts'
import { s3Artifacts } from './s3.ts'

export const artifactAccountTypes: readonly ArtifactAccountType[] = [
  embeddedArtifacts,
  buildFileArtifacts,
  gitArtifacts,
  httpArtifacts,
  ...fileHostArtifacts,
  helmArtifacts,
  mavenArtifacts,
  npmArtifacts,
  ociArtifacts,
  s3Artifacts,
]

export const ArtifactKeys = z.strictObject(keysOf(artifactAccountTypes))

export function toArtifactSettings(
  keys: object,
  report: SettingsReport,
): Readonly<Record<string, unknown>> {
  return settingsById(artifactAccountTypes, (type) => type.toSettings(keys as never, report))
}

export function openArtifactAccounts(context: BackendContext): readonly ArtifactAccount[] {
  const settings = context.settings.infrastructure?.artifacts ?? { [embeddedArtifacts.id]: {} }
  return artifactAccountTypes.flatMap((type) =>
    type.id in settings ? type.open(settings[type.id], context) : [],
  )
}

/** Images of this machine as artifacts: listed and waited for, and deployed instead of fetched. */

import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { ArtifactAccount } from '../artifacts/account-type.ts'
import type { ImageStore, StoredImage } from '../images/image-store.ts'
import { imageOwnersOf } from './local-images.ts'
import type { LocalSettings } from './settings.ts'

export function createImageArtifacts(
  context: BackendContext,
  images: ImageStore,
  settings: LocalSettings,
): ArtifactAccount {
  /** Newest first. */
  const readable = async (user: string | undefined): Promise<StoredImage[]> => {
    const all = images.all().toSorted((one, other) => other.createdMs - one.createdMs)
    if (user === undefined) return all
    const access = await requireAccess(context, user)
    return all.filter((image) =>
      imageOwnersOf(image, settings).some((account) => access.mayOnAccount(account, 'READ')),
    )
  }
  return {
    name: 'local',
    types: ['local/image'],
    names: async (user) => [...new Set((await readable(user)).map(({ name }) => name))].toSorted(),
    versions: async (wanted, user) => {
      const named = (await readable(user)).filter(({ name }) => name === wanted)
      return [...new Set(named.map(({ version }) => version))]
    },
    async fetch() {
      throw new PortError(
        400,
        'An image of this machine is deployed, and has no content to fetch. Choose an artifact that is a file.',
      )
    },
  }
}

/** Artifacts that are their own content, in base64. */

import { PortError } from '@fairlead/base/port-error.ts'
import { z } from 'zod'
import type { ArtifactAccount, ArtifactAccountType } from './account-type.ts'

const account: ArtifactAccount = {
  name: 'embedded-artifact',
  types: ['embedded/base64'],
  isImplied: true,
  async fetch({ reference }) {
    if (reference === undefined)
      throw new PortError(
        400,
        'An artifact of type embedded/base64 needs its content as "reference".',
      )
    return Buffer.from(reference, 'base64')
  },
}

export const embeddedArtifacts: ArtifactAccountType = {
  id: 'embedded',
  keys: z.strictObject({}),
  toSettings: () => ({}),
  open: () => [account],
}

/** Archived files of builds of this machine. */

import { PortError } from '@fairlead/base/port-error.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { itself, toCaller } from '@fairlead/ports/caller.ts'
import { z } from 'zod'
import type { ArtifactAccount, ArtifactAccountType } from './account-type.ts'

const types = [`${standalone.provider}/build-file`]

export const buildFileArtifacts: ArtifactAccountType = {
  id: 'build-files',
  keys: z.strictObject({}),
  toSettings: () => ({}),
  open: (_settings, { ports }) => {
    const isOffered = () => ports.builds.offersFiles
    const fetch: ArtifactAccount['fetch'] = async (
      { location: host, name: job, version: number, reference: file },
      user,
    ) => {
      if (host === undefined || job === undefined || number === undefined || file === undefined)
        throw new PortError(
          400,
          'A file of a build needs the build server as "location", the job as "name", the number as "version", and its path as "reference".',
        )
      const as = user === undefined ? itself : toCaller({ 'x-spinnaker-user': user })
      const content = await ports.builds.file({ host, job, number: Number(number) }, file, as)
      if (content !== undefined) return content
      throw new PortError(
        404,
        `The file "${file}" of the build ${number} of "${job}" does not exist.`,
      )
    }
    return [{ name: 'build-files', types, isOffered, isImplied: true, fetch }]
  },
}

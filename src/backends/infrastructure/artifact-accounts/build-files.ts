/** Archived files of builds of this machine. */
import { z } from 'zod'
import { encodeSegments, formatQuery, pathTo } from '../../../http/encode-path.ts'
import { fieldOf, textOf } from '../../../json/values.ts'
import { PortError } from '../../../ports/port-error.ts'
import { standalone } from '../../../settings/standalone.ts'
import type { ArtifactAccountType } from './account-type.ts'
import type { ArtifactAccount } from './artifact-account.ts'

const types = [`${standalone.provider}/build-file`]

export const buildFileArtifacts: ArtifactAccountType = {
  id: 'build-files',
  keys: z.strictObject({}),
  toSettings: () => ({}),
  open: (_settings, { call, isEmbedded }) => {
    if (!isEmbedded('igor')) return []
    const fetch: ArtifactAccount['fetch'] = async ({ location, name, version, reference }, user) => {
      const [host, job, number, file] = [location, name, version, reference].map(textOf)
      if (host === undefined || job === undefined || number === undefined || file === undefined)
        throw new PortError(
          400,
          'A file of a build needs the build server as "location", the job as "name", the number as "version", and its path as "reference".',
        )
      const path = `${pathTo`/builds/file/${number}/${host}`}/${encodeSegments(job)}${formatQuery({ path: file })}`
      const headers = { ...(user !== undefined && { 'x-spinnaker-user': user }) }
      const { status, body } = await call('igor', { method: 'GET', path, headers, wantsBytes: true })
      if (status === 200 && Buffer.isBuffer(body)) return body
      throw new PortError(status, textOf(fieldOf(body, 'message')) ?? `The build service answered ${status}.`)
    }
    return [{ name: 'build-files', types, isImplied: true, fetch }]
  },
}

/** Files in repositories of Bitbucket, Cloud and Data Center: `bitbucket/file`. */
import { authorizationHeader } from './credentials.ts'
import { createFileHostType } from './file-host.ts'

export const bitbucketArtifacts = createFileHostType({
  id: 'bitbucket',
  title: 'Bitbucket',
  artifactType: 'bitbucket/file',
  hosts: ['api.bitbucket.org'],
  form: 'https://api.bitbucket.org/2.0/repositories/shop/deploy/src/main/app.yml',
  isFile: ({ pathname }) => /\/repositories\/[^/]+\/[^/]+\/src\/[^/]+\/.|\/repos\/[^/]+\/raw\/./.test(pathname),
  // The addresses of Cloud hold the version.
  versionQuery: ({ pathname }, version) =>
    version !== undefined && /\/repos\/[^/]+\/raw\//.test(pathname) ? { at: version } : ({} as Record<string, string>),
  toHeaders: (login) => authorizationHeader(login),
})

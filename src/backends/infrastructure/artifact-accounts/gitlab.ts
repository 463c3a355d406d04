/** Files in repositories of GitLab: `gitlab/file`. */
import { authorizationHeader } from './credentials.ts'
import { createFileHostType } from './file-host.ts'

export const gitlabArtifacts = createFileHostType({
  id: 'gitlab',
  title: 'GitLab',
  artifactType: 'gitlab/file',
  hosts: ['gitlab.com'],
  form: 'https://gitlab.com/api/v4/projects/shop%2Fdeploy/repository/files/app.yml/raw',
  isFile: ({ pathname }) => pathname.endsWith('/raw') && /\/projects\/[^/]+\/repository\/files\/[^/]/.test(pathname),
  versionQuery: (_url, version = 'HEAD') => ({ ref: version }),
  toHeaders: (login) => (login.token === undefined ? authorizationHeader(login) : { 'private-token': login.token }),
})

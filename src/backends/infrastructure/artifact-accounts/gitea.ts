/** Files in repositories of Gitea and Forgejo: `gitea/file`. */
import { definedOf } from '../../../json/values.ts'
import { authorizationHeader } from './credentials.ts'
import { createFileHostType } from './file-host.ts'

export const giteaArtifacts = createFileHostType({
  id: 'gitea',
  title: 'Gitea',
  artifactType: 'gitea/file',
  hosts: [],
  form: 'https://git.example.com/api/v1/repos/shop/deploy/raw/app.yml',
  isFile: ({ pathname }) => /\/repos\/[^/]+\/[^/]+\/(?:raw|media)\/./.test(pathname),
  versionQuery: (_url, version) => definedOf({ ref: version }) as Record<string, string>,
  toHeaders: (login) => authorizationHeader(login, 'token'),
})

/** Files in repositories of GitHub: `github/file`. */
import { z } from 'zod'
import { definedOf } from '../../../json/values.ts'
import { BackendError } from '../../backend.ts'
import { authorizationHeader } from './credentials.ts'
import { createFileHostType } from './file-host.ts'

export const githubArtifacts = createFileHostType({
  id: 'github',
  title: 'GitHub',
  artifactType: 'github/file',
  hosts: ['api.github.com'],
  form: 'https://api.github.com/repos/shop/deploy/contents/app.yml',
  keys: {
    useContentAPI: z.boolean().optional().describe('Without effect: files always come from the API of contents.'),
    githubAPIVersion: z.string().optional().describe('Without effect: the current version is used.'),
  },
  headers: { accept: 'application/vnd.github.raw+json', 'x-github-api-version': '2022-11-28' },
  isFile: ({ pathname }) => /\/repos\/[^/]+\/[^/]+\/contents\/./.test(pathname),
  versionQuery: (_url, version) => definedOf({ ref: version }) as Record<string, string>,
  toHeaders: (login) => authorizationHeader(login),
  // The content of a file has a type of its own.
  checkFile({ headers }, reference) {
    if (/^application\/json\b/.test(String(headers['content-type'])))
      throw new BackendError(400, `${reference} is no file: it is a folder, or a link to another repository.`)
  },
})

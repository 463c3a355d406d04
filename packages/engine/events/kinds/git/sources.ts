/** Code hosts whose webhooks are understood, by the last part of the webhook's path. */
import { readBitbucket, readStash } from './bitbucket.ts'
import type { ReadChange } from './change.ts'
import { readGitea, readPlain } from './gitea.ts'
import { readGithub, readGitlab } from './github.ts'

export const gitSources: ReadonlyMap<string, ReadChange> = new Map<string, ReadChange>([
  ['github', readGithub],
  ['gitlab', readGitlab],
  ['stash', readStash],
  ['bitbucket', readBitbucket],
  ['gitea', readGitea],
  ['forgejo', readGitea],
  ['gogs', readGitea],
  ['git', readPlain],
])

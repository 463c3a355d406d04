/** Status of a commit at GitHub, with the keys of Spinnaker's echo. */
import { commitStatusType, mostDescription } from './commit-status.ts'

const states = { starting: 'pending', waiting: 'pending', complete: 'success', failed: 'failure' } as const

export const githubStatusNotifications = commitStatusType({
  id: 'githubStatus',
  label: 'GitHub',
  prefix: 'github-status',
  endpoint: 'https://api.github.com',
  headers: (token) => ({
    authorization: `Bearer ${token}`,
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
  }),
  path: (repository, hash) => `/repos/${repository}/statuses/${hash}`,
  body: ({ phase, subject, link }, context) => ({
    state: states[phase],
    context,
    description: subject.slice(0, mostDescription),
    ...(link !== undefined && { target_url: link }),
  }),
})

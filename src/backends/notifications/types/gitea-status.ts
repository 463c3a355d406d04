/** Status of a commit at Gitea or Forgejo. */
import { commitStatusType, mostDescription } from './commit-status.ts'

const states = { starting: 'pending', waiting: 'pending', complete: 'success', failed: 'failure' } as const

export const giteaStatusNotifications = commitStatusType({
  id: 'giteaStatus',
  label: 'Gitea',
  prefix: 'gitea-status',
  endpoint: undefined,
  headers: (token) => ({ authorization: `token ${token}` }),
  path: (repository, hash) => `/api/v1/repos/${repository}/statuses/${hash}`,
  body: ({ phase, subject, link }, context) => ({
    state: states[phase],
    context,
    description: subject.slice(0, mostDescription),
    ...(link !== undefined && { target_url: link }),
  }),
})

/** Status of a commit at GitLab. */
import { encodeSegment } from '../../../http/encode-path.ts'
import { commitStatusType, mostDescription } from './commit-status.ts'

const states = { starting: 'running', waiting: 'running', complete: 'success', failed: 'failed' } as const

export const gitlabStatusNotifications = commitStatusType({
  id: 'gitlabStatus',
  label: 'GitLab',
  prefix: 'gitlab-status',
  endpoint: 'https://gitlab.com',
  headers: (token) => ({ 'private-token': token }),
  path: (repository, hash) => `/api/v4/projects/${encodeSegment(repository)}/statuses/${hash}`,
  body: ({ phase, subject, link }, context) => ({
    state: states[phase],
    name: context,
    description: subject.slice(0, mostDescription),
    ...(link !== undefined && { target_url: link }),
  }),
})

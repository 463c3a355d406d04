/** Statuses of commits at GitHub (with the keys of Spinnaker's echo), GitLab, and Gitea or Forgejo. */
import { encodeSegment } from '@fairlead/base/net/encode-path.ts'
import { operatorAddress } from '@fairlead/base/outside/call-outside.ts'
import { type OutsideAccount, usePermissions } from '@fairlead/base/outside/outside-account.ts'
import {
  httpAddress,
  off,
  optionalText,
  setting,
  settings,
} from '@fairlead/base/settings/setting.ts'
import { postJson } from '../http-delivery.ts'
import {
  type ChannelTools,
  DeliveryError,
  type Notice,
  type NoticePhase,
  type NotificationType,
} from '../notification-type.ts'

interface StatusHost {
  readonly id: string
  readonly label: string
  /** Prefix of its keys: `github-status`. */
  readonly prefix: string
  readonly endpoint?: string
  readonly headers: (token: string) => Readonly<Record<string, string>>
  /** @param repository Owner and name */
  readonly path: (repository: string, hash: string) => string
  readonly states: Readonly<Record<NoticePhase, string>>
  /** Field with the name of the check. */
  readonly nameField: string
}

const states = {
  starting: 'pending',
  waiting: 'pending',
  complete: 'success',
  failed: 'failure',
} as const

const hosts: readonly StatusHost[] = [
  {
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
    states,
    nameField: 'context',
  },
  {
    id: 'gitlabStatus',
    label: 'GitLab',
    prefix: 'gitlab-status',
    endpoint: 'https://gitlab.com',
    headers: (token) => ({ 'private-token': token }),
    path: (repository, hash) => `/api/v4/projects/${encodeSegment(repository)}/statuses/${hash}`,
    states: { starting: 'running', waiting: 'running', complete: 'success', failed: 'failed' },
    nameField: 'name',
  },
  {
    id: 'giteaStatus',
    label: 'Gitea',
    prefix: 'gitea-status',
    headers: (token) => ({ authorization: `token ${token}` }),
    path: (repository, hash) => `/api/v1/repos/${repository}/statuses/${hash}`,
    states,
    nameField: 'context',
  },
]

export const commitStatusNotifications: readonly NotificationType[] = hosts.map(commitStatusType)

interface StatusSettings extends Pick<OutsideAccount, 'permissions'> {
  readonly token: string
  readonly endpoint: string
}

/** What each of them shows of a description. */
const mostDescription = 140

function commitStatusType(host: StatusHost): NotificationType {
  const { prefix, label } = host
  const keys = settings({
    enabled: setting(`${prefix}.enabled`, off).describe(`Set the status of commits at ${label}.`),
    permissions: setting(`${prefix}.permissions`, usePermissions),
    token: setting(`${prefix}.token`, optionalText).describe(
      'Token that may set the status of commits.',
    ),
    endpoint: setting(
      `${prefix}.endpoint`,
      host.endpoint === undefined ? httpAddress.optional() : httpAddress.prefault(host.endpoint),
    ).describe(`Address of the API of ${label}.`),
  })
  return {
    id: host.id,
    label: `Commit status at ${label}`,
    enabledBy: `${prefix}.enabled`,
    keys: keys.keys,
    address: {
      label: 'Repository',
      description: 'Owner and name. Default: the repository of the trigger.',
      isOptional: true,
    },
    isKnownToDeck: host.id === 'githubStatus',
    toSettings(bound, report): StatusSettings | undefined {
      const { enabled, permissions, token, endpoint } = keys.read(bound)
      if (!enabled) return undefined
      if (token === undefined) report.problem(`${prefix}.token`, `is needed with ${prefix}.enabled`)
      if (endpoint === undefined)
        report.problem(`${prefix}.endpoint`, `is needed with ${prefix}.enabled`)
      return { ...(permissions && { permissions }), token: token ?? '', endpoint: endpoint ?? '' }
    },
    open: (opened, tools) => openStatus(host, opened as StatusSettings, tools),
  }
}

function openStatus(host: StatusHost, { token, endpoint }: StatusSettings, tools: ChannelTools) {
  return {
    async send(notice: Notice): Promise<void> {
      const { repository, hash } = commitOf(notice)
      await checkDeclared(repository, notice, { label: host.label, tools })
      const { phase, subject, link } = notice
      const body = {
        state: host.states[phase],
        [host.nameField]: checkNameOf(notice),
        description: subject.slice(0, mostDescription),
        ...(link !== undefined && { target_url: link }),
      }
      const url = operatorAddress(endpoint, host.path(repository, hash))
      await postJson(tools.call, { url, headers: host.headers(token), body })
    },
  }
}

/** The token is the operator's, and may reach repositories of others. @throws {DeliveryError} */
async function checkDeclared(
  repository: string,
  { application }: Notice,
  { label, tools }: { readonly label: string; readonly tools: ChannelTools },
): Promise<void> {
  const { name, host } = (await tools.declaredRepository(application)) ?? {}
  const isHere = host === undefined || host === '' || host.toLowerCase() === label.toLowerCase()
  if (isHere && name?.toLowerCase() === repository.toLowerCase()) return
  const text = `The application ${application} does not declare the repository ${repository} at ${label}.`
  const advice = `Set its attributes repoProjectKey and repoSlug${isHere ? '' : `; its repoType is ${host}`}.`
  throw new DeliveryError(`${text} ${advice}`, { isFinal: true })
}

/** @throws {DeliveryError} */
function commitOf({ address, commit }: Notice): { repository: string; hash: string } {
  const repository = address.trim() === '' ? commit?.repository : address.trim()
  const hash = commit?.hash
  if (hash === undefined || !/^[0-9a-f]{7,64}$/i.test(hash)) {
    const text =
      'The run has no commit: its trigger is neither a git trigger nor a build with a commit.'
    throw new DeliveryError(text, { isFinal: true })
  }
  if (
    repository === undefined ||
    !/^[\w.-]+(?:\/[\w.-]+)+$/.test(repository) ||
    repository.split('/').some((part) => /^\.+$/.test(part))
  ) {
    throw new DeliveryError('The repository is unknown. Give it as address, such as shop/web.', {
      isFinal: true,
    })
  }
  return { repository, hash }
}

/** Name among the checks of the commit; the same for all statuses of a pipeline or stage, and apart from those of others. */
function checkNameOf({ execution, stage, application }: Notice): string {
  const pipeline = execution?.name ?? application
  const what = stage === undefined ? `pipeline/${pipeline}` : `stage/${pipeline}/${stage.name}`
  return `fairlead/${application}/${what}`
}

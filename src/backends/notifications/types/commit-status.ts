/** Statuses of commits, as far as GitHub, GitLab and Gitea have them alike. */
import { httpAddress, off, optionalText, setting, settings } from '../../../settings/setting.ts'
import { postJson } from '../http-delivery.ts'
import { type ChannelTools, DeliveryError, type Notice, type NotificationType } from '../notification-type.ts'

interface StatusHost {
  readonly id: string
  readonly label: string
  /** Prefix of its keys: `github-status`. */
  readonly prefix: string
  readonly endpoint: string | undefined
  readonly headers: (token: string) => Readonly<Record<string, string>>
  /** @param repository Owner and name */
  readonly path: (repository: string, hash: string) => string
  readonly body: (notice: Notice, context: string) => object
}

interface StatusSettings {
  readonly token: string
  readonly endpoint: string
}

/** What each of them shows of a description. */
export const mostDescription = 140

export function commitStatusType(host: StatusHost): NotificationType {
  const { prefix, label } = host
  const keys = settings({
    enabled: setting(`${prefix}.enabled`, off).describe(`Set the status of commits at ${label}.`),
    token: setting(`${prefix}.token`, optionalText).describe('Token that may set the status of commits.'),
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
      const { enabled, token, endpoint } = keys.read(bound)
      if (!enabled) return undefined
      if (token === undefined) report.problem(`${prefix}.token`, `is needed with ${prefix}.enabled`)
      if (endpoint === undefined) report.problem(`${prefix}.endpoint`, `is needed with ${prefix}.enabled`)
      return { token: token ?? '', endpoint: endpoint ?? '' }
    },
    open: (opened, tools) => openStatus(host, opened as StatusSettings, tools),
  }
}

function openStatus(host: StatusHost, { token, endpoint }: StatusSettings, tools: ChannelTools) {
  const call = tools.callsTo(endpoint)
  return {
    async send(notice: Notice): Promise<void> {
      const { repository, hash } = commitOf(notice)
      const body = host.body(notice, contextOf(notice))
      await postJson(call, { url: endpoint + host.path(repository, hash), headers: host.headers(token), body })
    },
  }
}

/** @throws {DeliveryError} */
function commitOf({ address, commit }: Notice): { repository: string; hash: string } {
  const repository = address.trim() === '' ? commit?.repository : address.trim()
  const hash = commit?.hash
  if (hash === undefined || !/^[0-9a-f]{7,64}$/i.test(hash)) {
    const text = 'The run has no commit: its trigger is neither a git trigger nor a build with a commit.'
    throw new DeliveryError(text, { isFinal: true })
  }
  if (
    repository === undefined ||
    !/^[\w.-]+(?:\/[\w.-]+)+$/.test(repository) ||
    repository.split('/').some((part) => /^\.+$/.test(part))
  ) {
    throw new DeliveryError('The repository is unknown. Give it as address, such as shop/web.', { isFinal: true })
  }
  return { repository, hash }
}

/** Names the check among those of the commit; the same for all statuses of a pipeline or stage. */
function contextOf({ execution, stage, application }: Notice): string {
  const pipeline = execution?.name ?? application
  return stage === undefined ? `pipeline/${pipeline}` : `stage/${pipeline}/${stage.name}`
}

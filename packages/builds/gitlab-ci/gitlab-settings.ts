/** Settings of GitLab servers, with the keys of Spinnaker's igor. */

import {
  httpAddress,
  off,
  on,
  type SettingsReport,
  setting,
  settings,
  texts,
  withoutEffect,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import type { BuildServerDeclaration } from '../build-server.ts'
import { type HostSettings, hostKeys, toHosts } from '../remote/host-settings.ts'

const retries = withoutEffect('Reads are repeated where that helps.')

const Master = z.strictObject({
  ...hostKeys,
  address: httpAddress.describe('Address of GitLab, such as `https://gitlab.com`.'),
  privateToken: z
    .string()
    .min(1)
    .optional()
    .describe('Access token with the scope `api`; without it, only public projects.'),
  projects: texts.describe(
    'Paths of the projects whose pipelines are builds, such as `shop/web`. Default: all that the limits leave.',
  ),
  limitByMembership: off.describe(
    'Without `projects`: those that the user of the token is a member of.',
  ),
  limitByOwnership: on.describe('Without `projects`: those that the user of the token owns.'),
  triggerToken: withoutEffect('Pipelines are started with the private token.'),
  defaultHttpPageLength: withoutEffect('Pages have a fixed length.'),
  httpRetryMaxAttempts: retries,
  httpRetryWaitSeconds: retries,
  httpRetryExponentialBackoff: retries,
})

const mastersKey = 'gitlab-ci.masters'
const group = settings({
  enabled: setting('gitlab-ci.enabled', off).describe('Use the servers of `gitlab-ci.masters`.'),
  masters: setting(mastersKey, z.array(Master).default([])).describe(
    'Servers of GitLab whose pipelines are builds.',
  ),
})

/** Plain data, for the worker thread. */
export interface GitlabHost extends HostSettings {
  readonly address: string
  readonly privateToken: string | undefined
  /** Paths; empty: all that the limits leave. */
  readonly projects: readonly string[]
  readonly limitByMembership: boolean
  readonly limitByOwnership: boolean
}

export const gitlabDeclaration: BuildServerDeclaration<readonly GitlabHost[]> = {
  id: 'gitlab_ci',
  keys: group.keys,
  toSettings: toGitlabSettings,
}

/** Undefined while GitLab is switched off. */
function toGitlabSettings(keys: object, report: SettingsReport): readonly GitlabHost[] | undefined {
  const { enabled, masters } = group.read(keys)
  const listed = { hosts: masters, key: mastersKey, enabled, enabledBy: 'gitlab-ci.enabled' }
  return toHosts(listed, report, (master, host) => ({ ...host, ...ownSettings(master, report) }))
}

function ownSettings(
  master: z.output<typeof Master>,
  report: SettingsReport,
): Omit<GitlabHost, keyof HostSettings> {
  const { address, privateToken, projects, limitByMembership, limitByOwnership, name } = master
  const isAnonymous = privateToken === undefined
  if (isAnonymous)
    report.notice(
      `${mastersKey}: "${name}" has no privateToken: it reads public projects only, and starts no builds.`,
    )
  if (projects.length === 0 && (isAnonymous || !(limitByMembership || limitByOwnership)))
    report.problem(
      mastersKey,
      `"${name}" would read all projects of the server: list "projects", or set limitByMembership`,
    )
  return { address, privateToken, projects, limitByMembership, limitByOwnership }
}

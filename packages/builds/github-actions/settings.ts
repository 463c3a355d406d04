/** Settings of GitHub, Gitea and Forgejo as build servers. */
import { createPrivateKey } from 'node:crypto'
import { shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import {
  httpAddress,
  optionalText,
  type SettingsReport,
  setting,
  settings,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import type { BuildServerDeclaration } from '../build-server.ts'
import { hostKeys, toHosts } from '../remote/host-settings.ts'
import {
  type ActionsHost,
  type ActionsKind,
  type GithubApp,
  giteaActions,
  githubActions,
} from './actions-kind.ts'

const appKeys = {
  appId: optionalText.describe(
    'GitHub App whose installation is used in place of a token: its ID or client ID.',
  ),
  appInstallationId: optionalText.describe('ID of the installation of the app.'),
  appPrivateKey: optionalText.describe(
    'Private key of the app, as text: `-----BEGIN RSA PRIVATE KEY-----…`.',
  ),
}

/** Hosts of Gitea have none. */
const toAppKeys = shape({ appId: textOf, appInstallationId: textOf, appPrivateKey: textOf })

function createDeclaration(kind: ActionsKind): BuildServerDeclaration<readonly ActionsHost[]> {
  const hostsKey = `${kind.prefix}.hosts`
  const group = settings({
    hosts: setting(hostsKey, z.array(hostSchema(kind)).default([])).describe(
      `Hosts of ${kind.title} whose workflows are jobs of builds.`,
    ),
  })
  return {
    id: kind.id,
    keys: group.keys,
    toSettings(keys: object, report: SettingsReport): readonly ActionsHost[] | undefined {
      const { hosts } = group.read(keys)
      return toHosts({ hosts, key: hostsKey }, report, (keys, host) => {
        const { address, repositories, token } = keys
        return { ...host, address, repositories, token, app: toApp(keys, report, hostsKey) }
      })
    },
  }
}

function hostSchema({ defaultAddress, advice, hasApps }: ActionsKind) {
  const address =
    defaultAddress === undefined
      ? httpAddress.describe('Address of the server.')
      : httpAddress
          .prefault(defaultAddress)
          .describe('Address of the API; `https://github.example/api/v3` of an own server.')
  return z.strictObject({
    ...hostKeys,
    address,
    token: optionalText.describe(`Access token. ${advice}`),
    repositories: z
      .array(z.string().regex(/^[\w.-]+\/[\w.-]+$/, 'must be owner/name'))
      .min(1)
      .describe('Repositories whose workflows are jobs, as `owner/name`.'),
    ...(hasApps && appKeys),
  })
}

type HostKeys = z.output<ReturnType<typeof hostSchema>>

function toApp(keys: HostKeys, report: SettingsReport, key: string): GithubApp | undefined {
  const { name, token } = keys
  const {
    appId: id,
    appInstallationId: installationId,
    appPrivateKey: privateKey,
  } = toAppKeys(keys)
  if ([id, installationId, privateKey].every((part) => part === undefined)) {
    if (token === undefined)
      report.notice(
        `${key}: "${name}" has no token: it reads public repositories only, and starts no builds.`,
      )
    return undefined
  }
  if (id === undefined || installationId === undefined || privateKey === undefined) {
    report.problem(key, `"${name}": appId, appInstallationId and appPrivateKey belong together`)
    return undefined
  }
  if (token !== undefined)
    report.problem(key, `"${name}" has both a token and an app: leave one of them out`)
  try {
    createPrivateKey(privateKey)
  } catch {
    report.problem(key, `"${name}": appPrivateKey is no private key in PEM format`)
  }
  return { id, installationId, privateKey }
}

export const githubActionsDeclaration = createDeclaration(githubActions)
export const giteaActionsDeclaration = createDeclaration(giteaActions)

/** All kinds of build servers, as the configuration knows them. */

import { keysOf, type SettingsReport, settingsById } from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import type { BuildServerDeclaration } from './build-server.ts'
import { giteaActionsDeclaration, githubActionsDeclaration } from './github-actions/settings.ts'
import { gitlabDeclaration } from './gitlab-ci/gitlab-settings.ts'
import { jenkinsDeclaration } from './jenkins/settings.ts'
import { localBuildDeclaration } from './local/settings.ts'

export const buildServerDeclarations: readonly BuildServerDeclaration[] = [
  localBuildDeclaration,
  jenkinsDeclaration,
  gitlabDeclaration,
  githubActionsDeclaration,
  giteaActionsDeclaration,
]

export const BuildServerKeys = z.strictObject(keysOf(buildServerDeclarations))

/** Settings of the kinds that the configuration connects, by their ids. */
export function toBuildServerSettings(
  keys: object,
  report: SettingsReport,
): Readonly<Record<string, object>> {
  return settingsById(buildServerDeclarations, (type) => type.toSettings(keys, report))
}

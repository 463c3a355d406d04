/** Looks at files that settings name before anything starts, by the functions that open them later. */
import { checkRoleSource } from '../backends/permissions/check-role-source.ts'
import type { PermissionServiceSettings } from '../backends/permissions/settings.ts'
import type { LoginSettings } from '../login/settings.ts'
import type { SettingsReport } from '../setting.ts'

interface FileSettings {
  readonly backends: { readonly permissions?: PermissionServiceSettings | undefined }
  readonly login: LoginSettings
}

/**
 * What takes code that most installations never load; certificates, keys of OAuth and the like are read with their settings.
 * Every mistake is a problem of the configuration, so that checks and starts find the same.
 */
export async function checkFiles({ backends, login }: FileSettings, report: SettingsReport): Promise<void> {
  await checkRoleSource(backends.permissions?.roleSource, report)
  if (login.saml !== undefined) {
    const { checkSamlFiles } = await import('../login/saml/open-saml-login.ts')
    await checkSamlFiles(login.saml, report)
  }
}

/** Settings of the embedded permission service, under the keys of Fiat. */
import { resolve } from 'node:path'
import {
  type DirectorySettings,
  type DirectoryValues,
  directoryKeys,
  toDirectorySettings,
} from '@fairlead/base/directory/settings.ts'
import {
  defaultsOf,
  milliseconds,
  off,
  on,
  optionalFlag,
  optionalText,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  texts,
  whole,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import { type ApplicationRules, toApplicationRule } from './application-rules.ts'
import { authorizations, toPermissions } from './authorizations.ts'
import { toRoleNames } from './roles.ts'

const ldap = 'auth.group-membership.ldap'
const prefixes = 'auth.permissions.source.application.prefix'
const bulkKeys = [
  'groupUserAttributes',
  'userIdAttribute',
  'enableDnBasedMultiLoad',
  'thresholdToUseGroupMembership',
  'thresholdToUseGroupFilter',
  'loadUserDNsBatchSize',
]

const Rule = z.strictObject({
  prefix: z.string().min(1).describe('Name of an application, or a prefix and a star: `web-*`.'),
  permissions: z
    .strictObject({
      READ: texts.describe('Roles that may read.'),
      WRITE: texts.describe('Roles that may change.'),
      EXECUTE: texts.describe('Roles that may start pipelines.'),
      CREATE: texts.describe('Roles that may create it, with `fiat.restrictApplicationCreation`.'),
    })
    .prefault({})
    .describe('Roles by authorization.'),
})

export const permissionServiceKeys = settings(
  {
    roleSource: {
      service: setting(
        'auth.group-membership.service',
        oneOf('external', 'file', 'ldap', 'google', 'github').default('external'),
      ).describe(
        'Source of roles besides the login: none (`external`), a file, or a directory. `google` and `github` need an external fiat.',
      ),
      path: setting('auth.group-membership.file.path', optionalText).describe(
        'YAML file with the roles of users: `users: [{username: alice, roles: [ops]}]`. Reloaded when it changes.',
      ),
    },
    service: {
      syncDelayMs: setting(
        'fiat.write-mode.sync-delay-ms',
        milliseconds.min(1).default(600_000),
      ).describe(
        'Milliseconds between two refreshes of the roles from a file or a directory for logged-in users.',
      ),
      accountManagerRoles: setting(
        'fiat.account.manager.roles',
        texts.transform(toRoleNames),
      ).describe('Roles whose members may edit account definitions.'),
      allowAccessToUnknownApplications: setting(
        'fiat.allowAccessToUnknownApplications',
        on,
      ).describe(
        'Whether all users may do everything with an application that is not defined. Fiat has `false` here.',
      ),
      defaultToUnrestrictedUser: setting('fiat.defaultToUnrestrictedUser', off).describe(
        'Give unknown users the rights of a user without roles, instead of none.',
      ),
      restrictApplicationCreation: setting('fiat.restrictApplicationCreation', off).describe(
        `Only users with CREATE by \`${prefixes}.prefixes\` may create applications, where a rule names roles for CREATE.`,
      ),
      executeFallback: setting(
        'fiat.executeFallback',
        oneOf(...authorizations).default('READ'),
      ).describe(
        'Authorization for executing the pipelines of a restricted application that names no role for EXECUTE.',
      ),
      maxExpandedServiceAccounts: setting(
        'fiat.maxExpandedServiceAccounts',
        whole(0).default(25),
      ).describe('Above this number, service accounts are listed without their rights.'),
      anyRoleOfServiceAccount: setting('fiat.role.orMode', off).describe(
        'Let users with one role of a service account use it, instead of users with all.',
      ),
      builtInRoles: setting('permissions.built-in-roles', optionalFlag).describe(
        'Whether users of the login form have the rights of their built-in roles on applications and accounts that name no roles: `deployers` ' +
          'change them, `readers` and users without a role read them, and accounts of this machine without `user` are for administrators. ' +
          'Default: in a data directory that this version or a later one has created, while no other rules of this section apply.',
      ),
      applicationsOwn: setting('auth.permissions.source.application.front50.enabled', on).describe(
        'Whether the permissions of the applications themselves apply.',
      ),
    },
    rules: {
      enabled: setting('auth.permissions.source.application.prefix.enabled', off).describe(
        'Whether the rules below apply.',
      ),
      listed: setting(
        'auth.permissions.source.application.prefix.prefixes',
        z.array(Rule).default([]),
      ).describe('Permissions for applications by name prefix, in addition to their own.'),
      strategy: setting(
        'auth.permissions.source.application.prefix.resolutionStrategy',
        oneOf('AGGREGATE', 'MOST_SPECIFIC').default('AGGREGATE'),
      ).describe('Of several rules that match a name, whether all apply or only the longest.'),
    },
    directory: directoryKeys(ldap),
  },
  {
    'auth.permissions.source.application.chaos-monkey': 'Rights of a service that is not offered.',
    'auth.permissions.source.account': 'The permissions of accounts always count.',
    'auth.permissions.source.build-service': 'The permissions of build services always count.',
    'auth.permissions.provider': 'All sources of permissions are added up.',
    'auth.group-membership.google': 'Settings of an external fiat.',
    'auth.group-membership.github': 'Settings of an external fiat.',
    'auth.group-membership.file.roleProviderType': 'Written by installers.',
    'fiat.write-mode': 'Other switches of the synchronisation of an external fiat.',
    'fiat.getAllEnabled': 'A rule of an external fiat.',
    [`${ldap}.roleProviderType`]: 'Written by installers.',
    ...Object.fromEntries(
      bulkKeys.map((name) => [`${ldap}.${name}`, 'The groups of each user are asked for.']),
    ),
    [`${ldap}.enablePagingForGroupMembershipQueries`]:
      'Answers of a directory are always read page by page.',
    [`${ldap}.pageSizeForGroupMembershipQueries`]:
      'Answers of a directory are always read page by page.',
  },
)
type ServiceValues = SettingsOf<typeof permissionServiceKeys>

export type RoleSourceSettings =
  | { kind: 'file'; path: string }
  | { kind: 'ldap'; directory: DirectorySettings }

export type PermissionServiceSettings = ReturnType<typeof toPermissionServiceSettings>

/** @param cwd The directory that a relative path starts from */
export function toPermissionServiceSettings(
  values: ServiceValues,
  report: SettingsReport,
  cwd: string,
) {
  return {
    ...values.service,
    roleSource: toRoleSource(values, report, cwd),
    applicationRules: toApplicationRules(values, report),
    /** All users log in with the form, and Fairlead keeps them. */
    keepsUsers: false,
  }
}

/** Whether an operator has said otherwise who may do what. */
function hasOtherRules({
  applicationRules,
  roleSource,
  ...settings
}: PermissionServiceSettings): boolean {
  const { restrictApplicationCreation, allowAccessToUnknownApplications, applicationsOwn } =
    settings
  return (
    applicationRules.rules.length > 0 ||
    roleSource !== undefined ||
    restrictApplicationCreation ||
    !allowAccessToUnknownApplications ||
    !applicationsOwn
  )
}

/** Whether built-in roles decide about what names no roles. @param isNew See `isNewData` */
export function areRolesBuiltIn(settings: PermissionServiceSettings, isNew: boolean): boolean {
  return settings.keepsUsers && (settings.builtInRoles ?? (isNew && !hasOtherRules(settings)))
}

/** Whether data from before keeps everything open only because its operator has not chosen. */
export function isUndecided(settings: PermissionServiceSettings, isNew: boolean): boolean {
  return (
    settings.keepsUsers && settings.builtInRoles === undefined && !isNew && !hasOtherRules(settings)
  )
}

export const builtInAdvice =
  'to make users readers unless they are deployers, run `fairlead user roles NAME --role deployers` for those who change something, then set ' +
  'permissions.built-in-roles: true; false keeps it'

export const defaultPermissionService: PermissionServiceSettings = toPermissionServiceSettings(
  defaultsOf(permissionServiceKeys),
  { problem: () => {}, notice: () => {}, isSet: () => false },
  '/',
)

function toRoleSource(
  { roleSource: { service, path }, directory }: ServiceValues,
  report: SettingsReport,
  cwd: string,
): RoleSourceSettings | undefined {
  switch (service) {
    case 'external':
      return undefined
    case 'file':
      if (path === undefined)
        report.problem(
          'auth.group-membership.file.path',
          'names no file; write the path of the file with the roles',
        )
      return path === undefined ? undefined : { kind: 'file', path: resolve(cwd, path) }
    case 'ldap':
      return toDirectory(directory, report)
    default:
      report.problem(
        'auth.group-membership.service',
        `${service} needs an external fiat: set services.fiat.baseUrl to its address; or take the roles from the login, a file or a directory: ` +
          'external, file, ldap',
      )
      return undefined
  }
}

/** Like Fiat, searches users with the filter if there is one, and finds them by a pattern otherwise. */
function toDirectory(values: DirectoryValues, report: SettingsReport): RoleSourceSettings {
  const userDnPattern =
    values.userSearchFilter === undefined ? (values.userDnPattern ?? 'uid={0},ou=users') : undefined
  const directory = toDirectorySettings(ldap, { ...values, userDnPattern }, report)
  if (directory.groupSearch === undefined && directory.memberOfAttribute === undefined) {
    report.problem(
      `${ldap}.groupSearchBase`,
      "is missing; set the place of groups below the root, or '' for the root",
    )
  }
  return { kind: 'ldap', directory }
}

function toApplicationRules(
  { rules: prefixRules, service }: ServiceValues,
  report: SettingsReport,
): ApplicationRules {
  const { listed, enabled, strategy } = prefixRules
  const rules = enabled
    ? listed.map(({ prefix, permissions }) => toApplicationRule(prefix, toPermissions(permissions)))
    : []
  if (listed.length > 0 && !enabled)
    report.notice(`${prefixes}.prefixes has no effect without ${prefixes}.enabled: true.`)
  for (const { permissions, name, isPrefix } of rules) {
    if (permissions.CREATE === undefined || permissions.READ !== undefined) continue
    report.notice(
      `Warning: the rule for "${name}${isPrefix ? '*' : ''}" restricts applications to the roles that it names, and names none for READ: ` +
        'only administrators see those that do not say themselves who may.',
    )
  }
  if (
    service.restrictApplicationCreation &&
    !rules.some(({ permissions }) => permissions.CREATE !== undefined)
  ) {
    report.notice(
      `Warning: fiat.restrictApplicationCreation restricts nothing as long as no rule of ${prefixes}.prefixes names roles for CREATE.`,
    )
  }
  return { rules, strategy }
}

/** One of some words, in any case, with `-` or `_`. */
function oneOf<const W extends readonly [string, ...string[]]>(...words: W) {
  const uniform = (text: string) => text.trim().replaceAll('-', '_').toLowerCase()
  return z
    .string()
    .transform((text) => words.find((word) => uniform(word) === uniform(text)) ?? text)
    .pipe(z.enum(words))
    .meta({ type: words.join(', ') })
}

/** Settings of what an account gives to its programs for their way out: authorities, a proxy, registries, variables. */

import { off, type SettingsReport } from '@fairlead/base/settings/setting.ts'
import { readAuthorities } from '@fairlead/base/tls/read-authorities.ts'
import { isReference } from '@fairlead/model/secrets/secret-references.ts'
import { ImageEnvironment } from '@fairlead/ports/image-file.ts'
import { z } from 'zod'

const text = z.string().min(1)
const addressOf = (start: RegExp, form: string) =>
  text.refine(
    (address) => start.test(address) && URL.canParse(address),
    `must be an address such as ${form}`,
  )

const Registry = z
  .strictObject({
    type: z
      .enum(['npm', 'pip', 'go', 'git'])
      .describe(
        '`npm`, `pip` (a simple index, for uv as well), `go` (a module proxy), or `git` (repositories, and private modules of Go).',
      ),
    url: addressOf(/^https?:\/\/[^\s/]/, 'https://npm.example.com/')
      .refine(
        (address) => !/:\/\/[^/]*@/.test(address),
        'must be without a login: set username and password, or token',
      )
      .describe('Its address.'),
    scope: z
      .string()
      .regex(/^@[\w.~-]+$/, 'must be a scope such as @acme')
      .optional()
      .describe('Of `npm`: packages that come from it. Default: all that no other registry has.'),
    username: text.optional().describe('Name of the login.'),
    password: text
      .optional()
      .describe('Its password; a reference such as `secret:NAME` means the secret of the account.'),
    token: text.optional().describe('Token in place of name and password; also a reference.'),
  })
  .refine(
    ({ type, scope }) => type === 'npm' || scope === undefined,
    'has a scope, which only npm knows',
  )
  .refine(
    ({ username, password, token }) =>
      (username === undefined) === (password === undefined) && !(username && token),
    'must have username and password, or token, or no login',
  )
export type Registry = z.output<typeof Registry>

export const outgoingKeys = {
  'ca-file': text
    .optional()
    .describe(
      'PEM file with certificate authorities that programs, bakes and builds trust besides those of the system.',
    ),
  proxy: text
    .refine(
      (address) =>
        isReference(address) ||
        addressOf(/^(?:https?|socks5h?):\/\/[^\s/]/, '').safeParse(address).success,
      'must be an address such as http://proxy.example.com:3128',
    )
    .optional()
    .describe(
      'HTTP proxy of programs, bakes and builds; with a login as `http://NAME:PASSWORD@HOST:PORT`, or as a reference.',
    ),
  'no-proxy': z
    .array(text)
    .default([])
    .describe(
      'Hosts, domains such as `.example.com` and networks that are reached without the proxy, besides this machine.',
    ),
  registries: z
    .array(Registry)
    .default([])
    .describe(
      'Registries of packages for programs, bakes and builds, with their logins. The first of a type replaces the public one.',
    ),
  variables: ImageEnvironment.default({}).describe(
    'Environment variables of programs, bakes and builds; what these set themselves takes precedence. Also references to secrets.',
  ),
  'logins-for-all-branches': off.describe(
    'Whether builds of other branches than that of the configuration get logins, tokens and secrets of these keys, too.',
  ),
}

const OutgoingKeys = z.strictObject(outgoingKeys)

/** JSON data: references in it are replaced as a whole. */
export interface Outgoing {
  readonly authorities: string | undefined
  readonly proxy: string | undefined
  readonly noProxy: readonly string[]
  readonly registries: readonly Registry[]
  readonly variables: Readonly<Record<string, string>>
  readonly isForAllBranches: boolean
}

export function toOutgoing(
  keys: z.output<typeof OutgoingKeys>,
  account: string,
  report: SettingsReport,
): Outgoing {
  const { proxy, registries, variables } = keys
  const problem = (_key: string, message: string) =>
    report.problem('local.accounts', `the account "${account}": ${message}`)
  const plain = registries.filter(({ type, scope }) => type === 'npm' && scope === undefined)
  if (plain.length > 1)
    problem('', 'registries has several of npm without a scope; give all but one a scope')
  return {
    authorities: readAuthorities(keys['ca-file'], '', { ...report, problem }),
    proxy,
    noProxy: keys['no-proxy'],
    registries,
    variables,
    isForAllBranches: keys['logins-for-all-branches'],
  }
}

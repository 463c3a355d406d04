/** Settings of the provider `local`. */

import {
  byteCount,
  inSeconds,
  on,
  type SettingsReport,
  setting,
  settings,
} from '@fairlead/base/settings/setting.ts'
import { lookUpUser } from '@fairlead/base/storage/directory-trees.ts'
import { loadCertificate } from '@fairlead/base/tls/listener-certificate.ts'
import { z } from 'zod'
import type { ProviderSurroundings } from '../provider-type.ts'
import { acmeKeys, toAcmeSettings } from './certificates/settings.ts'
import { AccountFront, frontKeys, reportFronts, toFrontPlace } from './front/settings.ts'
import { parsePortRange } from './machine.ts'
import { outgoingKeys, toOutgoing } from './outgoing/settings.ts'

const names = z.array(z.string())
const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must have letters, digits, ".", "_" and "-" only')

const portRange = z
  .string()
  .transform((text, context) => {
    const range = parsePortRange(text)
    if (range === undefined) context.addIssue('must be a range of ports such as 20000-20999')
    return range ?? z.NEVER
  })
  .meta({ type: 'range of ports' })

const Region = z
  .strictObject({
    name: name.describe('Name of the region.'),
    zones: z
      .array(name)
      .min(1)
      .optional()
      .describe('Its zones; instances are spread over them. Default: one, named `<region>-a`.'),
  })
  .transform((region) => ({ name: region.name, zones: region.zones ?? [`${region.name}-a`] }))

export const StartLimits = z.strictObject({
  seconds: z
    .number()
    .min(1)
    .max(86_400)
    .describe('Seconds within which the instances have to be up.'),
  failures: z
    .int()
    .min(1)
    .max(1000)
    .describe(
      'Failed starts of an instance in a row: its program cannot start, or ends within a minute.',
    ),
})
export type StartLimits = z.infer<typeof StartLimits>

const usualStartLimits: StartLimits = { seconds: 600, failures: 5 }

const AccountKeys = z.strictObject({
  name: name.describe('Name of the account; users choose it by that name.'),
  environment: z
    .string()
    .optional()
    .describe('Such as `test` or `prod`. Default: the name of the account.'),
  accountType: z
    .string()
    .optional()
    .describe('A name that related accounts share. Default: the name of the account.'),
  permissions: z
    .strictObject({
      READ: names.optional().describe('Roles that may see what runs there.'),
      WRITE: names.optional().describe('Roles that may change it.'),
      EXECUTE: names.optional().describe('Restricts the account; use needs READ or WRITE.'),
      CREATE: names.optional().describe('As `EXECUTE`.'),
    })
    .prefault({})
    .transform(toPermissions)
    .describe('Roles by authorization; without any, the account is open to all users.'),
  regions: z
    .array(Region)
    .default([])
    .transform((regions) =>
      regions.length === 0 ? [{ name: 'local', zones: ['local-a'] }] : regions,
    )
    .describe('Parts of the account, for users to tell apart. Default: one, named `local`.'),
  ports: portRange
    .prefault('20000-29999')
    .describe(
      'Ports that instances listen on. Accounts must not share any; two accounts need this setting.',
    ),
  'load-balancer-ports': portRange
    .prefault('1-65535')
    .describe(
      'Ports that load balancers may listen on, apart from those of the instances of any account.',
    ),
  address: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe(
      'Address that load balancers listen on unless they are internal; `0.0.0.0` for all of this machine.',
    ),
  front: AccountFront.prefault({}).describe(
    'Shared listeners of the load balancers that have hosts; they open with the first of these.',
  ),
  user: z
    .string()
    .optional()
    .describe(
      'User of this machine that the processes run as; Fairlead must run as root for this.',
    ),
  'container-runtime': z
    .string()
    .min(1)
    .optional()
    .describe(
      '`podman`, `docker` or a path: what runs containers. Default: Podman where it is installed, else Docker.',
    ),
  'instance-types': names
    .optional()
    .describe('Names of the instance types that users may choose. Default: all.'),
  ...outgoingKeys,
  'start-limits': z
    .strictObject({
      seconds: StartLimits.shape.seconds.default(usualStartLimits.seconds),
      failures: StartLimits.shape.failures.default(usualStartLimits.failures),
    })
    .prefault({})
    .describe(
      'When a stage fails that waits for instances to be up; `startLimits` of a server group takes precedence.',
    ),
})

const LocalAccount = AccountKeys.transform(
  ({
    name,
    environment,
    accountType,
    permissions,
    regions,
    ports,
    address,
    front,
    user,
    ...account
  }) => ({
    name,
    front: toFrontPlace(front, address),
    permissions,
    regions,
    ports,
    address,
    user,
    environment: environment ?? name,
    accountType: accountType ?? name,
    loadBalancerPorts: account['load-balancer-ports'],
    instanceTypes: account['instance-types'],
    startLimits: account['start-limits'],
    containerRuntime: account['container-runtime'],
    outgoing: account,
  }),
)

function toPermissions(
  roles: Readonly<Record<string, readonly string[] | undefined>>,
): Readonly<Record<string, readonly string[]>> {
  const named = Object.entries(roles).flatMap(([verb, listed = []]) =>
    listed.length > 0 ? [[verb, listed] as const] : [],
  )
  return Object.fromEntries(
    named.map(([verb, listed]) => [verb, listed.map((role) => role.trim().toLowerCase())]),
  )
}

const InstanceType = z
  .strictObject({
    name: name.describe('Name of the instance type.'),
    memory: byteCount.optional().describe('Memory of an instance.'),
    processes: z.int().min(1).optional().describe('Number of processes and threads.'),
    'open-files': z.int().min(16).optional().describe('Number of open files of each process.'),
    disk: byteCount
      .optional()
      .describe('Size of the working directory; each entry counts for 4 KiB at least.'),
    console: byteCount.optional().describe('Console output that is kept. Default: 10MB.'),
  })
  .transform(({ memory, processes, 'open-files': openFiles, disk, console, ...type }) => ({
    ...type,
    memoryBytes: memory,
    processes,
    openFiles,
    diskBytes: disk,
    consoleBytes: console ?? 10 * 1024 ** 2,
  }))
export type LocalInstanceType = z.output<typeof InstanceType>

const Certificate = z
  .strictObject({
    name: name.describe(
      'Name by which a listener of a load balancer refers to it (`sslCertificateId`).',
    ),
    'certificate-file': z.string().min(1).describe('PEM file with the certificate and its chain.'),
    'key-file': z.string().min(1).describe('PEM file with the private key.'),
    accounts: names.optional().describe('Accounts whose load balancers may use it. Default: all.'),
  })
  .transform(({ 'certificate-file': certificateFile, 'key-file': keyFile, ...named }) => ({
    ...named,
    certificateFile,
    keyFile,
  }))

export const localKeys = settings({
  enabled: setting('local.enabled', on).describe(
    'Whether the embedded infrastructure deploys to this machine.',
  ),
  accounts: setting('local.accounts', z.array(LocalAccount).default([])).describe(
    'Accounts of the provider `local`. Default: one, named `local`, open to all users.',
  ),
  instanceTypes: setting('local.instance-types', z.array(InstanceType).default([])).describe(
    'Named limits of instances. Default: `small` (256 MB), `medium` (1 GB), `large` (4 GB) and `unlimited`.',
  ),
  defaultInstanceType: setting('local.default-instance-type', z.string().optional()).describe(
    'Instance type where a deployment names none. Default: `unlimited` where it exists, else the first.',
  ),
  certificates: setting('local.certificates', z.array(Certificate).default([])).describe(
    'Certificates that listeners of load balancers can use.',
  ),
  images: {
    maxBytes: setting('local.images.max-size', byteCount.prefault('2GB')).describe(
      'Maximum size of an image, unpacked.',
    ),
    maxEntries: setting('local.images.max-files', z.int().min(1).default(100_000)).describe(
      'Maximum number of files of an image.',
    ),
  },
  readable: setting('local.readable', z.array(z.string().startsWith('/')).default([])).describe(
    'Files and folders that bakes, and commands of stages, may read besides the programs of this machine, such as a kubeconfig.',
  ),
  volumeBackups: setting('local.volumes.backups', z.int().min(0).max(1000).default(3)).describe(
    'Copies of the volumes of a cluster that are kept, each from before its version changed; 0: none are made.',
  ),
  front: frontKeys,
  startsAgent: setting('local.start-agent', on).describe(
    'Whether Fairlead starts the agent, which runs deployed programs; `false` where a service manager runs `fairlead agent`.',
  ),
  acme: acmeKeys,
  drainMs: setting(
    'local.drain-seconds',
    inSeconds(z.number().min(0).max(3600).default(30)),
  ).describe(
    'Seconds that an instance has for its last requests after load balancers stop sending new ones, before it is stopped.',
  ),
})

export type LocalSettings = NonNullable<ReturnType<typeof toLocalSettings>>
export type LocalAccountSettings = LocalSettings['accounts'][number]

export function certificatesOf(
  { certificates }: Pick<LocalSettings, 'certificates'>,
  account: string,
) {
  return certificates.filter(({ accounts }) => accounts?.includes(account) !== false)
}

const usualInstanceTypes: readonly LocalInstanceType[] = [
  { name: 'small', memory: '256MB' },
  { name: 'medium', memory: '1GB' },
  { name: 'large', memory: '4GB' },
  { name: 'unlimited' },
].map((type) => InstanceType.parse(type))

const usualAccount = LocalAccount.parse({ name: 'local' })

/** Undefined where it is switched off; what is wrong is reported nevertheless. */
export function toLocalSettings(
  keys: object,
  report: SettingsReport,
  { ownPorts }: ProviderSurroundings,
) {
  const {
    enabled,
    accounts: listed,
    instanceTypes: listedTypes,
    ...settings
  } = localKeys.read(keys)
  const { defaultInstanceType, certificates } = settings
  const instanceTypes = listedTypes.length === 0 ? usualInstanceTypes : listedTypes
  const allTypes = instanceTypes.map((type) => type.name)
  const accounts = (listed.length === 0 ? [usualAccount] : listed).map((account) => ({
    ...account,
    instanceTypes: account.instanceTypes ?? allTypes,
    outgoing: toOutgoing(account.outgoing, account.name, report),
  }))
  reportClashes(accounts, allTypes, report)
  if (defaultInstanceType !== undefined && !allTypes.includes(defaultInstanceType)) {
    report.problem(
      'local.default-instance-type',
      `there is no instance type "${defaultInstanceType}"`,
    )
  }
  const acme = toAcmeSettings(settings.acme, report)
  reportFronts(accounts, enabled ? settings.front.certificates : [], report)
  if (!enabled) return undefined
  reportUnknownUsers(accounts, report)
  for (const certificate of certificates) checkCertificate(certificate, accounts, report)
  /** No load balancer and no instance gets Fairlead's own ports, also while it is stopped. */
  const front = {
    ...settings.front,
    hosts: [...reservedHosts(settings.front), ...settings.front.hosts],
  }
  return { ...settings, front, acme, accounts, instanceTypes, ownPorts }
}

/** No application gets the host of Fairlead itself. */
function reservedHosts({ instanceHost: pattern }: { readonly instanceHost?: string }) {
  return pattern === undefined ? [] : [{ pattern }]
}

/** Loads the files, so that an error is known before a load balancer needs them. */
function checkCertificate(
  certificate: z.output<typeof Certificate>,
  accounts: readonly LocalAccountSettings[],
  report: SettingsReport,
): void {
  const unknown = certificate.accounts?.find((name) =>
    accounts.every((account) => account.name !== name),
  )
  if (unknown !== undefined)
    report.problem(
      'local.certificates',
      `the certificate "${certificate.name}": there is no account "${unknown}"`,
    )
  try {
    loadCertificate(certificate)
  } catch (error) {
    report.problem(
      'local.certificates',
      `the certificate "${certificate.name}": ${(error as Error).message}`,
    )
  }
}

function reportUnknownUsers(
  accounts: readonly LocalAccountSettings[],
  report: SettingsReport,
): void {
  for (const { name, user } of accounts) {
    if (user === undefined) continue
    try {
      lookUpUser(user)
    } catch (error) {
      report.problem(
        'local.accounts',
        `the account "${name}": ${(error as Error).message}; create it, or correct user`,
      )
    }
  }
}

function reportClashes(
  accounts: readonly LocalAccountSettings[],
  types: readonly string[],
  report: SettingsReport,
): void {
  const key = 'local.accounts'
  accounts.forEach((account, index) => {
    for (const other of accounts.slice(0, index)) {
      if (other.name.toLowerCase() === account.name.toLowerCase()) {
        report.problem(key, `the account "${account.name}" is listed twice`)
      } else if (
        other.ports.first <= account.ports.last &&
        account.ports.first <= other.ports.last
      ) {
        report.problem(
          key,
          `the accounts "${other.name}" and "${account.name}" share ports; give each a range of its own (ports)`,
        )
      }
    }
    for (const type of account.instanceTypes) {
      if (!types.includes(type)) {
        report.problem(
          key,
          `the account "${account.name}" names the instance type "${type}", which does not exist`,
        )
      }
    }
    if (new Set(account.regions.map(({ name }) => name)).size < account.regions.length) {
      report.problem(key, `the account "${account.name}" lists a region twice`)
    }
  })
}

/** Settings of the provider `local`. */
import { z } from 'zod'
import { loadCertificate } from '../../../../agent/balancer/certificate.ts'
import { byteCount, type SettingsReport } from '../../../../settings/setting.ts'
import { lookUpUser } from '../../../../storage/directory-trees.ts'
import type { ProviderSurroundings } from '../provider-type.ts'
import { type PortRange, parsePortRange } from './port-range.ts'
import { StartLimits, usualStartLimits } from './start-limits.ts'

const names = z.array(z.string())
const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must have letters, digits, ".", "_" and "-" only')

const portRange = z
  .string()
  .transform((text, context) => {
    const range = parsePortRange(text)
    if (range === undefined) context.addIssue('must be a range of ports such as 20000-20999')
    return range ?? z.NEVER
  })
  .meta({ type: 'range of ports' })

const Region = z.strictObject({
  name: name.describe('Name of the region.'),
  zones: z.array(name).min(1).optional().describe('Its zones; instances are spread over them. Default: one, named `<region>-a`.'),
})

const LocalAccount = z.strictObject({
  name: name.describe('Name of the account; users choose it by that name.'),
  environment: z.string().optional().describe('Such as `test` or `prod`. Default: the name of the account.'),
  accountType: z.string().optional().describe('A name that related accounts share. Default: the name of the account.'),
  permissions: z
    .strictObject({
      READ: names.optional().describe('Roles that may see what runs there.'),
      WRITE: names.optional().describe('Roles that may change it.'),
    })
    .prefault({})
    .describe('Roles by authorization; without any, the account is open to all users.'),
  regions: z.array(Region).default([]).describe('Parts of the account, for users to tell apart. Default: one, named `local`.'),
  ports: portRange
    .prefault('20000-29999')
    .describe('Ports that instances listen on. Accounts must not share any; two accounts need this setting.'),
  'load-balancer-ports': portRange
    .prefault('1-65535')
    .describe('Ports that load balancers may listen on, apart from those of the instances of any account.'),
  address: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Address that load balancers listen on unless they are internal; `0.0.0.0` for all of this machine.'),
  user: z.string().optional().describe('User of this machine that the processes run as; Fairlead must run as root for this.'),
  'instance-types': names.optional().describe('Names of the instance types that users may choose. Default: all.'),
  'start-limits': z
    .strictObject({
      seconds: StartLimits.shape.seconds.default(usualStartLimits.seconds),
      failures: StartLimits.shape.failures.default(usualStartLimits.failures),
    })
    .prefault({})
    .describe('When a stage fails that waits for instances to be up; `startLimits` of a server group takes precedence.'),
})

const InstanceType = z.strictObject({
  name: name.describe('Name of the instance type.'),
  memory: byteCount.optional().describe('Memory of an instance.'),
  processes: z.int().min(1).optional().describe('Number of processes and threads.'),
  'open-files': z.int().min(16).optional().describe('Number of open files of each process.'),
  disk: byteCount.optional().describe('Size of the working directory; each entry counts for 4 KiB at least.'),
  console: byteCount.optional().describe('Console output that is kept. Default: 10MB.'),
})

const Certificate = z.strictObject({
  name: name.describe('Name by which a listener of a load balancer refers to it (`sslCertificateId`).'),
  'certificate-file': z.string().min(1).describe('PEM file with the certificate and its chain.'),
  'key-file': z.string().min(1).describe('PEM file with the private key.'),
})

export const LocalKeys = z.strictObject({
  'local.enabled': z.boolean().default(true).describe('Whether the embedded infrastructure deploys to this machine.'),
  'local.accounts': z
    .array(LocalAccount)
    .default([])
    .describe('Accounts of the provider `local`. Default: one, named `local`, open to all users.'),
  'local.instance-types': z
    .array(InstanceType)
    .default([])
    .describe('Named limits of instances. Default: `small` (256 MB), `medium` (1 GB), `large` (4 GB) and `unlimited`.'),
  'local.default-instance-type': z
    .string()
    .optional()
    .describe('Instance type where a deployment names none. Default: `unlimited` where it exists, else the first.'),
  'local.certificates': z.array(Certificate).default([]).describe('Certificates that listeners of load balancers can use.'),
  'local.images.max-size': byteCount.prefault('2GB').describe('Maximum size of an image, unpacked.'),
  'local.images.max-files': z.int().min(1).default(100_000).describe('Maximum number of files of an image.'),
  'local.drain-seconds': z
    .number()
    .min(0)
    .max(3600)
    .default(30)
    .describe(
      'Seconds that an instance has for its last requests after load balancers stop sending new ones, before it is stopped.',
    ),
})
type LocalKeys = z.infer<typeof LocalKeys>

/** Plain data. */
export interface LocalSettings {
  readonly accounts: readonly LocalAccountSettings[]
  readonly instanceTypes: readonly LocalInstanceType[]
  readonly defaultInstanceType: string | undefined
  readonly certificates: readonly LocalCertificate[]
  readonly images: { readonly maxBytes: number; readonly maxEntries: number }
  readonly drainMs: number
  /** Fairlead's own; also while it is stopped, no load balancer and no instance gets them. */
  readonly ownPorts: readonly number[]
}

export interface LocalAccountSettings {
  readonly name: string
  readonly environment: string
  readonly accountType: string
  readonly permissions: Readonly<Record<string, readonly string[]>>
  readonly regions: readonly { readonly name: string; readonly zones: readonly string[] }[]
  readonly ports: PortRange
  readonly loadBalancerPorts: PortRange
  readonly address: string
  readonly user: string | undefined
  readonly instanceTypes: readonly string[]
  readonly startLimits: StartLimits
}

export interface LocalInstanceType {
  readonly name: string
  readonly memoryBytes: number | undefined
  readonly processes: number | undefined
  readonly openFiles: number | undefined
  readonly diskBytes: number | undefined
  readonly consoleBytes: number
}

export interface LocalCertificate {
  readonly name: string
  readonly certificateFile: string
  readonly keyFile: string
}

const megabyte = 1024 ** 2
const consoleBytes = 10 * megabyte
const noLimits = { memoryBytes: undefined, processes: undefined, openFiles: undefined, diskBytes: undefined, consoleBytes }

const usualInstanceTypes: readonly LocalInstanceType[] = [
  { ...noLimits, name: 'small', memoryBytes: 256 * megabyte },
  { ...noLimits, name: 'medium', memoryBytes: 1024 * megabyte },
  { ...noLimits, name: 'large', memoryBytes: 4096 * megabyte },
  { ...noLimits, name: 'unlimited' },
]

const usualAccount = LocalAccount.parse({ name: 'local' })

/** Undefined where it is switched off; what is wrong is reported nevertheless. */
export function toLocalSettings(
  keys: LocalKeys,
  report: SettingsReport,
  { ownPorts }: ProviderSurroundings,
): LocalSettings | undefined {
  const listedTypes = keys['local.instance-types'].map(toInstanceType)
  const instanceTypes = listedTypes.length === 0 ? usualInstanceTypes : listedTypes
  const listed = keys['local.accounts']
  const accounts = (listed.length === 0 ? [usualAccount] : listed).map((account) => toAccount(account, instanceTypes))
  reportClashes(accounts, instanceTypes, report)
  const defaultInstanceType = keys['local.default-instance-type']
  if (defaultInstanceType !== undefined && !instanceTypes.some(({ name }) => name === defaultInstanceType)) {
    report.problem('local.default-instance-type', `there is no instance type "${defaultInstanceType}"`)
  }
  if (!keys['local.enabled']) return undefined
  reportUnknownUsers(accounts, report)
  return {
    accounts,
    instanceTypes,
    defaultInstanceType,
    certificates: keys['local.certificates'].map((certificate) => toCertificate(certificate, report)),
    images: { maxBytes: keys['local.images.max-size'], maxEntries: keys['local.images.max-files'] },
    drainMs: keys['local.drain-seconds'] * 1000,
    ownPorts,
  }
}

/** Loads the files, so that an error is known before a load balancer needs them. */
function toCertificate(certificate: z.infer<typeof Certificate>, report: SettingsReport): LocalCertificate {
  const { name, 'certificate-file': certificateFile, 'key-file': keyFile } = certificate
  try {
    loadCertificate({ certificateFile, keyFile })
  } catch (error) {
    report.problem('local.certificates', `the certificate "${name}": ${(error as Error).message}`)
  }
  return { name, certificateFile, keyFile }
}

function toInstanceType(type: z.infer<typeof InstanceType>): LocalInstanceType {
  return {
    name: type.name,
    memoryBytes: type.memory,
    processes: type.processes,
    openFiles: type['open-files'],
    diskBytes: type.disk,
    consoleBytes: type.console ?? consoleBytes,
  }
}

function toAccount(account: z.infer<typeof LocalAccount>, types: readonly LocalInstanceType[]): LocalAccountSettings {
  const regions = account.regions.length === 0 ? [{ name: 'local', zones: undefined }] : account.regions
  const permissions = Object.entries(account.permissions).filter(([, roles]) => roles !== undefined && roles.length > 0)
  return {
    name: account.name,
    environment: account.environment ?? account.name,
    accountType: account.accountType ?? account.name,
    permissions: Object.fromEntries(permissions.map(([verb, roles]) => [verb, roles.map((role) => role.trim().toLowerCase())])),
    regions: regions.map((region) => ({ name: region.name, zones: region.zones ?? [`${region.name}-a`] })),
    ports: account.ports,
    loadBalancerPorts: account['load-balancer-ports'],
    address: account.address,
    user: account.user,
    instanceTypes: account['instance-types'] ?? types.map(({ name }) => name),
    startLimits: account['start-limits'],
  }
}

function reportUnknownUsers(accounts: readonly LocalAccountSettings[], report: SettingsReport): void {
  for (const { name, user } of accounts) {
    if (user === undefined) continue
    try {
      lookUpUser(user)
    } catch (error) {
      report.problem('local.accounts', `the account "${name}": ${(error as Error).message}; create it, or correct user`)
    }
  }
}

function reportClashes(
  accounts: readonly LocalAccountSettings[],
  types: readonly LocalInstanceType[],
  report: SettingsReport,
): void {
  const key = 'local.accounts'
  accounts.forEach((account, index) => {
    for (const other of accounts.slice(0, index)) {
      if (other.name.toLowerCase() === account.name.toLowerCase()) {
        report.problem(key, `the account "${account.name}" is listed twice`)
      } else if (other.ports.first <= account.ports.last && account.ports.first <= other.ports.last) {
        report.problem(
          key,
          `the accounts "${other.name}" and "${account.name}" share ports; give each a range of its own (ports)`,
        )
      }
    }
    for (const type of account.instanceTypes) {
      if (!types.some(({ name }) => name === type)) {
        report.problem(key, `the account "${account.name}" names the instance type "${type}", which does not exist`)
      }
    }
    if (new Set(account.regions.map(({ name }) => name)).size < account.regions.length) {
      report.problem(key, `the account "${account.name}" lists a region twice`)
    }
  })
}

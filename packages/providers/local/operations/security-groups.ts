/** upsertSecurityGroup and deleteSecurityGroup. */
import { isIP } from 'node:net'
import { definedOf } from '@fairlead/base/json/values.ts'
import { isNetworkRange } from '@fairlead/base/settings/network-range.ts'
import { z } from 'zod'
import {
  type AddressRule,
  type Desired,
  type GroupRule,
  type LocalFirewall,
  placeKey,
  type ResourceKey,
} from '../desired.ts'
import {
  defineOperation,
  flagField,
  type LocalOperations,
  type LocalSubmission,
  numeric,
  optionalField,
  optionalTextPart,
  placeOf,
  textsField,
} from './parts.ts'

const rulePort = optionalField(numeric(z.number().int().min(-1).max(65_535)))
const range = {
  startPort: rulePort,
  endPort: rulePort,
  type: optionalTextPart,
  ipProtocol: optionalTextPart,
}
const AddressRuleFields = z.looseObject({
  ...range,
  cidr: z.string().trim(),
  description: optionalTextPart,
})
const GroupRuleFields = z.looseObject({
  ...range,
  name: optionalTextPart,
  id: optionalTextPart,
  accountName: optionalTextPart,
})

const fields = {
  name: optionalTextPart,
  securityGroupName: optionalTextPart,
  region: optionalTextPart,
  regions: textsField,
}
const FirewallFields = z.object({
  ...fields,
  description: optionalTextPart,
  vpcId: optionalTextPart,
  securityGroupIngress: optionalField(z.array(GroupRuleFields)).transform((value) => value ?? []),
  ipIngress: optionalField(z.array(AddressRuleFields)).transform((value) => value ?? []),
  ingressAppendOnly: flagField,
})
type FirewallFields = z.output<typeof FirewallFields>
type RuleFields = z.output<typeof AddressRuleFields> | z.output<typeof GroupRuleFields>

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/

const upsertSecurityGroup = defineOperation({
  fields: FirewallFields.shape,
  // A group that a rule names cannot be deleted any more.
  resources: ({ fields: { name, securityGroupName, securityGroupIngress = [] }, desired }) => [
    name,
    securityGroupName,
    ...securityGroupIngress.map((rule) => rule.name ?? withId(rule.id, desired)?.name),
  ],
  accounts: ({ fields: { securityGroupIngress = [] } }) =>
    securityGroupIngress.map(({ accountName }) => accountName),
  check: (submission) => {
    const { fields } = submission
    placesOf(submission)
    return [
      !namePattern.test(nameOf(fields) ?? '') &&
        'name: it is missing, longer than 255 characters, or has more than letters, digits, ".", "_" and "-".',
      fields.description === undefined && 'description: it is missing.',
      fields.ipIngress.map(
        ({ cidr }) =>
          !isNetworkRange(cidr) && `ipIngress: "${cidr}" is no network such as 10.0.0.0/8.`,
      ),
      fields.securityGroupIngress.map(
        ({ name, id }) =>
          (name ?? id) === undefined && 'securityGroupIngress: a rule names no security group.',
      ),
      [...fields.ipIngress, ...fields.securityGroupIngress].map((rule) => {
        const { startPort, endPort } = toPorts(rule)
        return (
          startPort > endPort &&
          `A rule has the ports ${startPort}-${endPort}: the first is greater than the last.`
        )
      }),
    ]
  },
  run: (running) => {
    const { fields, desired, newId, run, change } = running
    const places = placesOf(running)
    change(() => {
      for (const place of places) {
        const before = desired.get('firewalls', placeKey(place))
        const rules = toRules(fields, place, desired)
        const { addressRules = [], groupRules = [] } = before ?? {}
        desired.put('firewalls', {
          ...place,
          id: before?.id ?? `sg-${newId().toLowerCase()}`,
          description: fields.description ?? '',
          vpcId: fields.vpcId ?? before?.vpcId,
          ...rules,
          ...(fields.ingressAppendOnly && {
            addressRules: union(addressRules, rules.addressRules),
            groupRules: union(groupRules, rules.groupRules),
          }),
        })
        run.note(`Storing the security group ${place.name} in ${place.account}/${place.region}.`)
      }
    })
  },
})

const deleteSecurityGroup = defineOperation({
  fields,
  resources: ({ fields: { name, securityGroupName } }) => [name, securityGroupName],
  check: (submission) => {
    placesOf(submission)
    return [nameOf(submission.fields) === undefined && 'securityGroupName: it is missing.']
  },
  run: (running) => {
    const { fields, desired, run, change } = running
    const name = nameOf(fields)
    const found = placesOf(running).flatMap(
      (place) => desired.get('firewalls', placeKey(place)) ?? [],
    )
    const users = found.flatMap((firewall) => usersOf(firewall, desired))
    if (users.length > 0)
      throw new Error(
        `The security group ${name} is in use by ${users.join(', ')}. Change them first.`,
      )
    if (found.length === 0)
      return run.note(`The security group ${name} does not exist: nothing is to be done.`)
    change(() => {
      for (const firewall of found) desired.remove('firewalls', firewall)
      run.note(`Deleting the security group ${name}.`)
    })
  },
})

interface NamedFields {
  readonly name: string | undefined
  readonly securityGroupName: string | undefined
  readonly region: string | undefined
  readonly regions: readonly string[] | undefined
}

function nameOf({ name, securityGroupName }: NamedFields): string | undefined {
  return securityGroupName ?? name
}

/** One per region. @throws {Error} */
function placesOf({ fields, description, settings }: LocalSubmission<NamedFields>): ResourceKey[] {
  const regions = fields.regions?.length ? fields.regions : [fields.region]
  return regions.map((one) => {
    const { account, region } = placeOf({
      description: { ...description, ...definedOf({ region: one }) },
      settings,
    })
    return { account: account.name, region: region.name, name: nameOf(fields) ?? '' }
  })
}

function toRules(
  { ipIngress, securityGroupIngress }: FirewallFields,
  { account, region }: ResourceKey,
  desired: Desired,
): Pick<LocalFirewall, 'addressRules' | 'groupRules'> {
  const addressRules = ipIngress.map(
    (rule): AddressRule => ({
      cidr: withBits(rule.cidr),
      ...toPorts(rule),
      description: rule.description,
    }),
  )
  const groupRules = securityGroupIngress.map((rule): GroupRule => {
    const byId = withId(rule.id, desired)
    const name = rule.name ?? (byId?.region === region ? byId.name : undefined) ?? rule.id ?? ''
    return { name, account: rule.accountName ?? account, ...toPorts(rule) }
  })
  return { addressRules, groupRules }
}

function withId(id: unknown, desired: Desired): LocalFirewall | undefined {
  return [...desired.all('firewalls')].find((firewall) => firewall.id === id)
}

function usersOf({ account, region, name }: LocalFirewall, desired: Desired): string[] {
  const names = { groups: 'the server group', balancers: 'the load balancer' } as const
  const users = (['groups', 'balancers'] as const).flatMap((kind) =>
    [...desired.all(kind)]
      .filter(
        (one) =>
          one.account === account && one.region === region && one.securityGroups.includes(name),
      )
      .map((one) => `${names[kind]} ${one.name}`),
  )
  const referring = [...desired.all('firewalls')].filter(
    (one) =>
      one.region === region &&
      one.name !== name &&
      one.groupRules.some((rule) => rule.name === name && rule.account === account),
  )
  return [...users, ...referring.map((one) => `the security group ${one.name}`)]
}

/** No port, or -1, means all ports. */
function toPorts({
  startPort = -1,
  endPort = -1,
  type,
  ipProtocol = 'tcp',
}: RuleFields): Pick<GroupRule, 'protocol' | 'startPort' | 'endPort'> {
  const first = Math.max(0, startPort)
  return {
    protocol: (type ?? ipProtocol).toLowerCase(),
    startPort: first,
    endPort: endPort >= 0 ? endPort : startPort >= 0 ? first : 65_535,
  }
}

function withBits(cidr: string): string {
  if (cidr.includes('/')) return cidr
  return `${cidr}/${isIP(cidr) === 4 ? 32 : 128}`
}

/** Rules of both, each once; a later one with the same reach replaces an earlier one. */
function union<T extends AddressRule | GroupRule>(before: readonly T[], added: readonly T[]): T[] {
  const keyOf = (rule: T) => {
    const { protocol, startPort, endPort } = rule
    return JSON.stringify([
      'cidr' in rule ? rule.cidr : [rule.account, rule.name],
      protocol,
      startPort,
      endPort,
    ])
  }
  return [...new Map([...before, ...added].map((rule) => [keyOf(rule), rule])).values()]
}

export const localSecurityGroupOperations: LocalOperations = {
  upsertSecurityGroup,
  deleteSecurityGroup,
}

/** upsertSecurityGroup and deleteSecurityGroup. */
import { isIP } from 'node:net'
import { z } from 'zod'
import { type JsonObject, objectsOf, textOf } from '../../../../../json/values.ts'
import { isNetworkRange } from '../../../../../settings/network-range.ts'
import type { OperationTypes } from '../../../operation-type.ts'
import { type AddressRule, type GroupRule, type LocalFirewall, placeKey } from '../desired.ts'
import {
  commitChange,
  defineOperation,
  flagField,
  numeric,
  type OperationParts,
  optionalTextPart,
  placeOf,
  textsField,
} from './parts.ts'

const rulePort = numeric(z.number().int().min(-1).max(65_535)).nullish()
const range = { startPort: rulePort, endPort: rulePort, type: optionalTextPart, ipProtocol: optionalTextPart }

const IngressFields = {
  securityGroupIngress: z
    .array(z.looseObject({ ...range, name: optionalTextPart, id: optionalTextPart, accountName: optionalTextPart }))
    .nullish(),
  ipIngress: z.array(z.looseObject({ ...range, cidr: z.string().trim(), description: optionalTextPart })).nullish(),
}

const FirewallFields = z.looseObject({
  name: optionalTextPart,
  securityGroupName: optionalTextPart,
  description: optionalTextPart,
  region: optionalTextPart,
  regions: textsField,
  vpcId: optionalTextPart,
  ...IngressFields,
  ingressAppendOnly: flagField,
})
type FirewallFields = z.output<typeof FirewallFields>

const DeleteFields = z.looseObject({
  securityGroupName: optionalTextPart,
  name: optionalTextPart,
  region: optionalTextPart,
  regions: textsField,
})

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/

export function localSecurityGroupOperations(parts: OperationParts): OperationTypes {
  const { desired, settings, newId } = parts
  const resources = ({ name, securityGroupName }: JsonObject) => [name, securityGroupName]

  const upsertSecurityGroup = defineOperation({
    fields: FirewallFields,
    // A group that a rule names cannot be deleted any more.
    resources: (description) => [...resources(description), ...sourcesIn(description).map(nameOfSource)],
    accounts: (description) => sourcesIn(description).map(({ accountName }) => accountName),
    check: (fields, description) => {
      const name = nameOf(fields)
      placesOf(fields, description)
      return [
        ...(name !== undefined && namePattern.test(name)
          ? []
          : ['name: it is missing, longer than 255 characters, or has more than letters, digits, ".", "_" and "-".']),
        ...(fields.description === undefined ? ['description: it is missing.'] : []),
        ...(fields.ipIngress ?? []).flatMap(({ cidr }) =>
          isNetworkRange(cidr) ? [] : [`ipIngress: "${cidr}" is no network such as 10.0.0.0/8.`],
        ),
        ...(fields.securityGroupIngress ?? []).flatMap((rule) =>
          (rule.name ?? rule.id) === undefined ? ['securityGroupIngress: a rule names no security group.'] : [],
        ),
        ...[...(fields.ipIngress ?? []), ...(fields.securityGroupIngress ?? [])].flatMap((rule) => {
          const { startPort, endPort } = toPorts(rule)
          return startPort <= endPort ? [] : [`A rule has the ports ${startPort}-${endPort}: the first is greater than the last.`]
        }),
      ]
    },
    run: (fields, run, description) => {
      const places = placesOf(fields, description)
      commitChange(parts, run, () => {
        for (const { account, region } of places) {
          const place = { account: account.name, region: region.name, name: nameOf(fields) ?? '' }
          const before = desired.get('firewalls', placeKey(place))
          const rules = toRules(fields, place.account, place.region)
          desired.put('firewalls', {
            ...place,
            id: before?.id ?? `sg-${newId().toLowerCase()}`,
            description: fields.description ?? '',
            vpcId: fields.vpcId ?? before?.vpcId,
            addressRules: fields.ingressAppendOnly ? union(before?.addressRules ?? [], rules.addressRules) : rules.addressRules,
            groupRules: fields.ingressAppendOnly ? union(before?.groupRules ?? [], rules.groupRules) : rules.groupRules,
          })
          run.note(`Storing the security group ${place.name} in ${place.account}/${place.region}.`)
        }
      })
    },
  })

  const deleteSecurityGroup = defineOperation({
    fields: DeleteFields,
    resources,
    check: (fields, description) => {
      placesOf(fields, description)
      return nameOf(fields) === undefined ? ['securityGroupName: it is missing.'] : []
    },
    run: (fields, run, description) => {
      const name = nameOf(fields) ?? ''
      const found = placesOf(fields, description).flatMap(
        ({ account, region }) => desired.get('firewalls', placeKey({ account: account.name, region: region.name, name })) ?? [],
      )
      const users = found.flatMap(usersOf)
      if (users.length > 0) throw new Error(`The security group ${name} is in use by ${users.join(', ')}. Change them first.`)
      if (found.length === 0) return run.note(`The security group ${name} does not exist: nothing is to be done.`)
      commitChange(parts, run, () => {
        for (const firewall of found) desired.remove('firewalls', firewall)
        run.note(`Deleting the security group ${name}.`)
      })
    },
  })

  /** One per region. @throws {Error} */
  function placesOf({ region, regions }: z.output<typeof DeleteFields>, description: JsonObject) {
    const listed = regions ?? (region === undefined ? [] : [region])
    if (listed.length === 0) return [placeOf(description, settings)]
    return listed.map((one) => placeOf({ ...description, region: one }, settings))
  }

  function toRules(fields: FirewallFields, account: string, region: string): Pick<LocalFirewall, 'addressRules' | 'groupRules'> {
    const addressRules = (fields.ipIngress ?? []).map(
      (rule): AddressRule => ({ cidr: withBits(rule.cidr), ...toPorts(rule), description: rule.description }),
    )
    const groupRules = (fields.securityGroupIngress ?? []).map((rule): GroupRule => {
      const owner = rule.accountName ?? account
      const byId = withId(rule.id)
      const name = rule.name ?? (byId?.region === region ? byId.name : undefined) ?? rule.id ?? ''
      return { name, account: owner, ...toPorts(rule) }
    })
    return { addressRules, groupRules }
  }

  function nameOfSource({ name, id }: JsonObject): unknown {
    return textOf(name) ?? withId(id)?.name
  }

  function withId(id: unknown): LocalFirewall | undefined {
    return [...desired.all('firewalls')].find((firewall) => firewall.id === id)
  }

  function usersOf({ account, region, name }: LocalFirewall): string[] {
    const names = { groups: 'the server group', balancers: 'the load balancer' } as const
    const users = (['groups', 'balancers'] as const).flatMap((kind) =>
      [...desired.all(kind)]
        .filter((one) => one.account === account && one.region === region && one.securityGroups.includes(name))
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

  return { upsertSecurityGroup, deleteSecurityGroup }
}

function nameOf({
  name,
  securityGroupName,
}: {
  name?: string | undefined
  securityGroupName?: string | undefined
}): string | undefined {
  return securityGroupName ?? name
}

function sourcesIn({ securityGroupIngress }: JsonObject): JsonObject[] {
  return objectsOf(securityGroupIngress)
}

type RuleFields = {
  startPort?: number | null | undefined
  endPort?: number | null | undefined
  type?: string | undefined
  ipProtocol?: string | undefined
}

/** No port, or -1, stands for all. */
function toPorts({ startPort, endPort, type, ipProtocol }: RuleFields): { protocol: string; startPort: number; endPort: number } {
  const isAll = (value: number | null | undefined) => value === undefined || value === null || value < 0
  return {
    protocol: (type ?? ipProtocol ?? 'tcp').toLowerCase(),
    startPort: isAll(startPort) ? 0 : Number(startPort),
    endPort: isAll(endPort) ? (isAll(startPort) ? 65_535 : Number(startPort)) : Number(endPort),
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
    return JSON.stringify(['cidr' in rule ? rule.cidr : [rule.account, rule.name], protocol, startPort, endPort])
  }
  return [...new Map([...before, ...added].map((rule) => [keyOf(rule), rule])).values()]
}

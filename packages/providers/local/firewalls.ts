/** Security groups: sources that a listener accepts, and rules that this machine cannot enforce. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import type { SecurityGroup } from '../infrastructure/model.ts'
import type { BalancerListener, Desired, LocalBalancer, LocalFirewall } from './desired.ts'
import { placeKey } from './desired.ts'
import { ownNetworks } from './machine.ts'

const anyProtocol = new Set(['tcp', '-1', 'all', ''])

/**
 * Networks that may connect to a listener: those that the rules of its load balancer's security groups let in.
 *
 * @returns undefined when the load balancer names no security group
 */
export function allowedSources(
  desired: Desired,
  balancer: LocalBalancer,
  listener: Pick<BalancerListener, 'port'>,
): string[] | undefined {
  if (balancer.securityGroups.length === 0) return undefined
  const { account, region } = balancer
  const admits = ({
    protocol,
    startPort,
    endPort,
  }: {
    protocol: string
    startPort: number
    endPort: number
  }) =>
    anyProtocol.has(protocol.toLowerCase()) &&
    startPort <= listener.port &&
    listener.port <= endPort
  const sources = balancer.securityGroups.flatMap((name) => {
    const firewall = desired.get('firewalls', placeKey({ account, region, name }))
    if (firewall === undefined) return []
    return [
      ...firewall.addressRules.filter(admits).map(({ cidr }) => cidr),
      ...(firewall.groupRules.some(admits) ? ownNetworks() : []),
    ]
  })
  return [...new Set(sources)]
}

export function toSecurityGroup(firewall: LocalFirewall, desired: Desired): SecurityGroup {
  const { account, region, name, id, description, vpcId, addressRules, groupRules } = firewall
  return {
    provider: 'local',
    account,
    region,
    name,
    moniker: parseMoniker(name),
    id,
    description,
    vpcId,
    inboundRules: [
      ...addressRules.map((rule) => ({
        protocol: rule.protocol,
        portRanges: [{ startPort: rule.startPort, endPort: rule.endPort }],
        range: splitCidr(rule.cidr),
        ...(rule.description !== undefined && { description: rule.description }),
      })),
      ...groupRules.map((rule) => ({
        protocol: rule.protocol,
        portRanges: [{ startPort: rule.startPort, endPort: rule.endPort }],
        securityGroup: referenceTo(rule, firewall, desired),
      })),
    ],
    outboundRules: [],
    details: { warnings: warningsOf(firewall) },
  }
}

function splitCidr(cidr: string): JsonObject {
  const [ip = '', bits = ''] = cidr.split('/')
  return { ip, cidr: `/${bits}` }
}

function referenceTo(
  { name, account }: { name: string; account: string },
  { region }: LocalFirewall,
  desired: Desired,
): JsonObject {
  const found = desired.get('firewalls', placeKey({ account, region, name }))
  return { id: found?.id ?? name, name, accountName: account, region, vpcId: found?.vpcId }
}

/** What users might expect of a security group, and this machine does not do. */
function warningsOf({ addressRules, groupRules }: LocalFirewall): string[] {
  const others = [...addressRules, ...groupRules].filter(
    ({ protocol }) => !anyProtocol.has(protocol.toLowerCase()),
  )
  return [
    'Listeners of load balancers enforce these rules. Instances listen on the loopback address, so other machines cannot reach them ' +
      'unless a program ignores HOST; blocking that, and limiting outbound connections, needs the firewall of the machine.',
    ...(groupRules.length > 0
      ? [
          'Rules that name a security group let in every process of this machine: they cannot be told apart by their address.',
        ]
      : []),
    ...(others.length > 0
      ? [
          `Rules for ${[...new Set(others.map(({ protocol }) => protocol))].join(', ')} have no effect: listeners speak TCP only.`,
        ]
      : []),
  ]
}

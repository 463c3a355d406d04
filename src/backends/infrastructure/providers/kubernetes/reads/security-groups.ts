/** Security groups: network policies. */
import type { SecurityGroup } from '../../../model.ts'
import type { KeptFirewall } from './kept-object.ts'
import { fullNameOf, ownFields } from './views.ts'

export function toSecurityGroup(account: string, firewall: KeptFirewall): SecurityGroup {
  const { namespace: region, moniker, labels, createdMs: createdTime } = firewall
  const name = fullNameOf(firewall)
  return {
    provider: 'kubernetes',
    account,
    region,
    id: name,
    name,
    moniker,
    vpcId: undefined,
    description: '',
    inboundRules: firewall.inbound,
    outboundRules: firewall.outbound,
    details: { ...ownFields(firewall), account, labels, createdTime },
  }
}

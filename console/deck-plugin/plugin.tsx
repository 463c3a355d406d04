/** Plug-in of Deck for the provider `local`: programs on the machine of Fairlead. */
import { type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { core, provider } from './deck.ts'
import {
  LoadBalancerDetails,
  LoadBalancerModal,
  LoadBalancerTransformer,
  SecurityGroupDetails,
  SecurityGroupModal,
  SecurityGroupReader,
  SecurityGroupTransformer,
} from './network.tsx'
import {
  CloneServerGroupModal,
  detailsOfServerGroup,
  InstanceDetails,
  ServerGroupActions,
  ServerGroupCommandBuilder,
  ServerGroupTransformer,
  serverGroupSections,
} from './server-groups.tsx'
import { createStageTypes } from './stages.tsx'

class ImageReader {
  findImages({ q = '' }: { q?: string }): PromiseLike<readonly JsonObject[]> {
    return core.REST('/images/find').query({ provider, q }).get()
  }

  getImage(name: string, region: string, account: string): PromiseLike<JsonObject | undefined> {
    const read = core.REST('/images').path(account, region, name).query({ provider })
    return read.get().then((found) => objectsOf(found)[0])
  }
}

function Logo({ height, width }: { readonly height: string; readonly width: string }) {
  return (
    <svg
      viewBox="0 0 24 24"
      style={{ height, width }}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      aria-hidden="true"
    >
      <rect x="3" y="4" width="18" height="6" rx="1.5" />
      <rect x="3" y="14" width="18" height="6" rx="1.5" />
      <path d="M7 7h.01M7 17h.01M11 7h6M11 17h6" strokeLinecap="round" />
    </svg>
  )
}

function registerProvider(): void {
  const { providers } = core.SETTINGS
  // Deck ignores providers that its settings do not name.
  providers[provider] ??= { defaults: {} }
  core.CloudProviderRegistry.registerProvider(provider, {
    name: 'This machine',
    cloudProviderLogo: Logo,
    serverGroup: {
      transformer: ServerGroupTransformer,
      commandBuilder: ServerGroupCommandBuilder,
      CloneServerGroupModal,
      detailsGetter: detailsOfServerGroup,
      detailsSections: serverGroupSections,
      detailsActions: ServerGroupActions,
      // A cluster names its image itself, or takes the one of the stages before.
      skipUpstreamStageCheck: true,
    },
    instance: { details: InstanceDetails },
    loadBalancer: {
      transformer: LoadBalancerTransformer,
      details: LoadBalancerDetails,
      CreateLoadBalancerModal: LoadBalancerModal,
    },
    securityGroup: {
      reader: SecurityGroupReader,
      transformer: SecurityGroupTransformer,
      details: SecurityGroupDetails,
      CreateSecurityGroupModal: SecurityGroupModal,
    },
    image: { reader: ImageReader },
    unsupportedStageTypes: ['upsertLoadBalancers'],
  })
  core.DeploymentStrategyRegistry.registerProvider(provider, [
    'custom',
    'redblack',
    'rollingredblack',
  ])
}

/** What Deck looks for in the module. */
export const plugin = {
  initialize(): void {
    registerProvider()
    for (const type of createStageTypes()) core.Registry.pipeline.registerStage(type)
  },
}

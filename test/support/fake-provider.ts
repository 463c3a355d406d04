/** A small cloud provider with one account and resources whose names say nothing of their owner. */
import { z } from 'zod'
import { textOf } from '../../packages/base/json/values.ts'
import { noMoniker } from '../../packages/base/names/moniker.ts'
import type {
  Job,
  LoadBalancer,
  Owned,
  SecurityGroup,
  ServerGroup,
} from '../../packages/providers/infrastructure/model.ts'
import type { OperationTypes } from '../../packages/providers/infrastructure/operation-type.ts'
import type { CloudProvider } from '../../packages/providers/infrastructure/provider.ts'
import type { ProviderType } from '../../packages/providers/provider-type.ts'

const account = 'lab'
const place = { provider: 'fake', account, region: 'hall' }

function ownedBy(app: string): Owned {
  return { account, moniker: { ...noMoniker, app, cluster: `cluster of ${app}` } }
}

/** The application `shop` owns everything; the names parse to `web service`, `deployment a` and the like. */
function resourcesOf(app: string) {
  const instance = {
    ...ownedBy(app),
    id: 'pod a-b',
    humanName: 'pod a-b',
    region: 'hall',
    zone: 'hall',
    launchMs: null,
    serverGroup: 'deployment a-b',
    health: [],
    loadBalancers: [],
    details: {},
  }
  const serverGroup: ServerGroup = {
    ...place,
    ...ownedBy(app),
    name: 'deployment a-b',
    zones: [],
    createdMs: 1,
    isDisabled: false,
    capacity: { min: null, max: null, desired: 1 },
    instances: [instance],
    loadBalancers: ['service web'],
    securityGroups: [],
    instanceType: undefined,
    vpcId: undefined,
    buildInfo: undefined,
    image: undefined,
    launchConfig: {},
    tags: {},
    labels: {},
    managers: [{ account, location: 'hall', name: 'a' }],
    summary: { kind: 'deployment' },
    details: {},
  }
  const balancer: LoadBalancer = {
    ...place,
    ...ownedBy(app),
    name: 'service web',
    vpcId: undefined,
    loadBalancerType: 'service',
    securityGroups: [],
    // It selects pods of another application, too.
    serverGroups: [app, 'vault'].map((owner) => ({
      name: `deployment of ${owner}`,
      owned: ownedBy(owner),
      isDisabled: false,
      detachedInstances: [],
      instances: [
        {
          id: `pod of ${owner}`,
          name: owner,
          zone: 'hall',
          health: { type: 'fake', state: 'InService' },
        },
      ],
    })),
    details: {},
  }
  const firewall: SecurityGroup = {
    ...place,
    ...ownedBy(app),
    id: 'networkPolicy a-b',
    name: 'networkPolicy a-b',
    vpcId: undefined,
    description: '',
    inboundRules: [],
    outboundRules: [],
    details: {},
  }
  const job: Job = {
    ...ownedBy(app),
    provider: 'fake',
    id: 'job a-b',
    name: 'job a-b',
    location: 'hall',
    state: 'Running',
    createdMs: 1,
    completedMs: undefined,
    completionDetails: {},
    details: {},
  }
  return { instance, serverGroup, balancer, firewall, job }
}

export function openFakeProvider(operations: OperationTypes, app = 'shop'): CloudProvider {
  const { instance, serverGroup, balancer, firewall, job } = resourcesOf(app)
  const jobs = [job]
  const own = { ...ownedBy(app), view: { name: 'configMap a-b' } }
  const isAt = (one: string, region: string) => one === account && region === 'hall'
  return {
    id: 'fake',
    accounts: [
      {
        name: account,
        provider: 'fake',
        accountId: null,
        environment: account,
        accountType: account,
        permissions: {},
        details: {},
      },
    ],
    operations,
    serverGroups: (application) =>
      application === undefined || application === app ? [serverGroup] : [],
    serverGroup: (one, region, name) =>
      isAt(one, region) && name === serverGroup.name ? serverGroup : undefined,
    loadBalancers: () => [balancer],
    securityGroups: () => [firewall],
    instance: (one, region, id) => (isAt(one, region) && id === instance.id ? instance : undefined),
    applicationOf: (name) => (name === serverGroup.name ? app : undefined),
    detachedInstances: () => [],
    console: async () => ({ output: [{ name: 'main', output: 'hello' }] }),
    jobs: () => jobs,
    jobFile: async () => undefined,
    async removeJob() {
      jobs.length = 0
    },
    manifests: {
      find: async ({ name }) => (name === 'configMap a-b' ? own : undefined),
      ofCluster: async () => [{ view: own.view, replicas: -1 }],
      drift: async () => [],
      plan: async () => [],
    },
    serverGroupManagers: (application) => (application === app ? [own] : []),
    rawResources: (application) => (application === app ? [own] : []),
    hits: { configMaps: () => [{ ...own, keys: ['configMap a-b'] }] },
    scalingActivities: () => undefined,
    start() {},
    close() {},
  }
}

const FakeKeys = z.strictObject({
  'fake.application': z.string().default('shop').describe('Application that owns everything.'),
  'fake.enabled': z.boolean().default(true).describe('Whether it is there.'),
})

/** An operation `touch` on the resource that `name` names, which belongs to the application that `owner` names. */
export const touchOperation: OperationTypes = {
  touch: {
    check: () => [],
    applications: ({ owner }) => [textOf(owner) ?? 'shop'],
    run: async (_description, run) => run.note('touched'),
  },
}

export function createFakeProvider(
  operations: OperationTypes = touchOperation,
  own: Partial<ProviderType> = {},
): ProviderType {
  const type: ProviderType<typeof FakeKeys, { readonly application: string }> = {
    id: 'fake',
    keys: FakeKeys,
    toSettings: (keys) =>
      keys['fake.enabled'] ? { application: keys['fake.application'] } : undefined,
    migrations: [],
    description: {
      label: 'Fake',
      forms: [],
      refused: { cloneServerGroup: 'There is one of each.' },
      help: {},
    },
    open: (_context, { application }) => openFakeProvider(operations, application),
  }
  return { ...type, ...own }
}

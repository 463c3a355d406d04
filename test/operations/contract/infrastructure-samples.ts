/** One request per operation that is answered from the infrastructure, the builds or the bakery. */
import type { Sample } from './contract.ts'

const cluster = '/applications/shop/clusters/dev/shop-main'
const clusterCall = 'clouddriver GET /applications/shop/clusters/dev/shop-main'
const groups = [
  { name: 'shop-main-v001', region: 'east' },
  { name: 'shop-main-v002', region: 'east' },
  { name: 'shop-main-v001', region: 'west' },
]
const clusters = [
  { name: 'shop-main', type: 'aws', serverGroups: groups },
  { name: 'shop-main', type: 'gce' },
]
const account = { name: 'dev', cloudProvider: 'aws', accountId: '12' }
const accountCall = { call: 'clouddriver GET /credentials/dev', gives: account, parsed: true }

export const infrastructureSamples: readonly Sample[] = [
  {
    id: 'instanceTypesUsingGET',
    ask: '/instanceTypes',
    calls: [{ call: 'clouddriver GET /instanceTypes', gives: [{ name: 'm1' }] }],
    answer: [{ name: 'm1' }],
  },
  {
    id: 'subnetsUsingGET',
    ask: '/subnets',
    calls: [{ call: 'clouddriver GET /subnets/aws', gives: [{ id: 's1' }] }],
    answer: [{ id: 's1' }],
  },
  {
    id: 'vpcsUsingGET',
    ask: '/vpcs',
    calls: [{ call: 'clouddriver GET /networks/aws', gives: [{ id: 'v1' }] }],
    answer: [{ id: 'v1' }],
  },
  {
    id: 'allByCloudProviderUsingGET1',
    ask: '/subnets/gce',
    calls: [{ call: 'clouddriver GET /subnets/gce', gives: [] }],
    answer: [],
  },
  {
    id: 'allUsingGET',
    ask: '/networks',
    calls: [{ call: 'clouddriver GET /networks', gives: { aws: [{ id: 'v1' }] } }],
    answer: { aws: [{ id: 'v1' }] },
  },
  {
    id: 'allByCloudProviderUsingGET',
    ask: '/networks/aws',
    calls: [{ call: 'clouddriver GET /networks/aws', gives: [{ id: 'v1' }] }],
    answer: [{ id: 'v1' }],
  },
  {
    id: 'getClustersUsingGET2',
    ask: '/applications/shop/clusters',
    calls: [
      {
        call: 'clouddriver GET /applications/shop/clusters',
        gives: { dev: ['shop-main'] },
        application: 'shop',
      },
    ],
    answer: { dev: ['shop-main'] },
  },
  {
    id: 'getClustersUsingGET1',
    ask: '/applications/shop/clusters/dev',
    calls: [
      { call: 'clouddriver GET /applications/shop/clusters/dev', gives: [{ name: 'shop-main' }] },
    ],
    answer: [{ name: 'shop-main' }],
  },
  {
    id: 'getClustersUsingGET',
    ask: cluster,
    calls: [
      { call: clusterCall, gives: clusters, parsed: true, on404: { status: 200, answer: {} } },
    ],
    answer: clusters[0],
  },
  {
    id: 'getClusterLoadBalancersUsingGET',
    ask: `${cluster}/aws/loadBalancers`,
    calls: [
      { call: `${clusterCall}/aws/loadBalancers`, gives: [{ name: 'front' }], application: 'shop' },
    ],
    answer: [{ name: 'front' }],
  },
  {
    id: 'getServerGroupsUsingGET1',
    ask: `${cluster}/serverGroups`,
    calls: [
      { call: clusterCall, gives: clusters, parsed: true, on404: { status: 200, answer: [] } },
    ],
    answer: groups,
  },
  {
    id: 'getServerGroupsUsingGET',
    ask: `${cluster}/serverGroups/shop-main-v001`,
    calls: [
      { call: clusterCall, gives: clusters, parsed: true, on404: { status: 200, answer: [] } },
    ],
    answer: [groups[0], groups[2]],
  },
  {
    id: 'getScalingActivitiesUsingGET',
    ask: `${cluster}/serverGroups/shop-main-v001/scalingActivities?region=east`,
    calls: [
      {
        call: `${clusterCall}/aws/serverGroups/shop-main-v001/scalingActivities?region=east`,
        gives: [{ activityId: '1' }],
      },
    ],
    answer: [{ activityId: '1' }],
  },
  {
    id: 'getTargetServerGroupUsingGET',
    ask: `${cluster}/aws/east/serverGroups/target/newest?onlyEnabled=true&validateOldest=no`,
    calls: [
      {
        call: `${clusterCall}/aws/east/serverGroups/target/newest?onlyEnabled=true&validateOldest=false`,
        gives: { name: 'shop-main-v002' },
      },
    ],
    answer: { name: 'shop-main-v002' },
  },
  {
    id: 'getServerGroupsUsingGET2',
    ask: '/applications/shop/serverGroups?clusters=dev:shop-main,dev:shop-test&cloudProvider=aws',
    calls: [
      {
        call: 'clouddriver GET /applications/shop/serverGroups?expand=false&cloudProvider=aws&clusters=dev%3Ashop-main%2Cdev%3Ashop-test',
        gives: groups,
        application: 'shop',
      },
    ],
    answer: groups,
  },
  {
    id: 'getServerGroupDetailsUsingGET',
    ask: '/applications/shop/serverGroups/dev/east/shop-main-v002?includeDetails=false',
    calls: [
      { ...accountCall, on404: { status: 404 } },
      {
        call: 'clouddriver GET /applications/shop/serverGroups/dev/east/shop-main-v002?includeDetails=false',
        gives: groups[1],
        parsed: true,
      },
    ],
    answer: { ...groups[1], insightActions: [] },
  },
  {
    id: 'findImagesUsingGET',
    ask: '/images/find?q=base&count=5&tag%3Astage=a%20b',
    calls: [
      {
        call: 'clouddriver GET /aws/images/find?tag%3Astage=a%20b&q=base&count=5',
        gives: [{ imageName: 'base' }],
      },
    ],
    answer: [{ imageName: 'base' }],
  },
  {
    id: 'findTagsUsingGET',
    ask: '/images/tags?provider=dockerRegistry&account=hub&repository=library%2Fnginx',
    calls: [
      {
        call: 'clouddriver GET /dockerRegistry/images/tags?account=hub&repository=library%2Fnginx',
        gives: ['1', '2'],
      },
    ],
    answer: ['1', '2'],
  },
  {
    id: 'getImageDetailsUsingGET',
    ask: '/images/dev/east/ami-1.2',
    calls: [
      { call: 'clouddriver GET /aws/images/dev/east/ami-1.2', gives: [{ imageId: 'ami-1.2' }] },
    ],
    answer: [{ imageId: 'ami-1.2' }],
  },
  {
    id: 'getInstanceDetailsUsingGET',
    ask: '/instances/dev/east/i-1',
    calls: [
      accountCall,
      { call: 'clouddriver GET /instances/dev/east/i-1', gives: { name: 'i-1' }, parsed: true },
    ],
    answer: { name: 'i-1', insightActions: [] },
  },
  {
    id: 'getConsoleOutputUsingGET',
    ask: '/instances/dev/east/i-1/console',
    calls: [
      {
        call: 'clouddriver GET /instances/dev/east/i-1/console?provider=aws',
        gives: { output: 'up' },
      },
    ],
    answer: { output: 'up' },
  },
  {
    id: 'getJobsUsingGET',
    ask: '/applications/shop/jobs',
    calls: [
      { call: 'clouddriver GET /applications/shop/jobs?expand=false', gives: [{ name: 'j1' }] },
    ],
    answer: [{ name: 'j1' }],
  },
  {
    id: 'getJobUsingGET',
    ask: '/applications/shop/jobs/dev/east/j1?expand=true',
    calls: [
      {
        call: 'clouddriver GET /applications/shop/jobs/dev/east/j1',
        gives: { name: 'j1', jobState: 'Running' },
        parsed: true,
        on404: { status: 200, answer: {} },
      },
    ],
    answer: { name: 'j1', jobState: 'Running', insightActions: [] },
  },
  {
    id: 'getAllUsingGET',
    ask: '/loadBalancers?provider=gce',
    calls: [{ call: 'clouddriver GET /gce/loadBalancers', gives: [{ name: 'front' }] }],
    answer: [{ name: 'front' }],
  },
  {
    id: 'getLoadBalancerUsingGET',
    ask: '/loadBalancers/front',
    calls: [{ call: 'clouddriver GET /aws/loadBalancers/front', gives: { name: 'front' } }],
    answer: { name: 'front' },
  },
  {
    id: 'getLoadBalancerDetailsUsingGET',
    ask: '/loadBalancers/dev/east/front',
    calls: [
      { ...accountCall, on404: { status: 200, answer: [] } },
      {
        call: 'clouddriver GET /aws/loadBalancers/dev/east/front',
        gives: [{ name: 'front' }],
        parsed: true,
        on404: { status: 200, answer: [] },
      },
    ],
    answer: [{ name: 'front', insightActions: [] }],
  },
  {
    id: 'getApplicationLoadBalancersUsingGET',
    ask: '/applications/shop/loadBalancers',
    calls: [
      {
        call: 'clouddriver GET /applications/shop/loadBalancers',
        gives: [{ name: 'front' }],
        application: 'shop',
      },
    ],
    answer: [{ name: 'front' }],
  },
  {
    id: 'searchUsingGET',
    ask: '/search?q=shop&type=serverGroups&type=clusters&stack=main',
    calls: [
      {
        call: 'clouddriver GET /search?stack=main&q=shop&type=serverGroups&type=clusters&pageSize=10000&page=1',
        gives: [{ totalMatches: 0, results: [] }],
      },
    ],
    answer: [{ totalMatches: 0, results: [] }],
  },
  {
    id: 'allUsingGET1',
    ask: '/securityGroups',
    calls: [{ call: 'clouddriver GET /securityGroups', gives: { dev: { aws: { east: [] } } } }],
    answer: { dev: { aws: { east: [] } } },
  },
  {
    id: 'allByAccountUsingGET',
    ask: '/securityGroups/dev?region=east',
    calls: [
      { call: 'clouddriver GET /securityGroups/dev/aws?region=east', gives: [{ id: 'sg-1' }] },
    ],
    answer: [{ id: 'sg-1' }],
  },
  {
    id: 'getSecurityGroupUsingGET',
    ask: '/securityGroups/dev/east/web?vpcId=v1',
    calls: [
      { call: 'clouddriver GET /securityGroups/dev/aws/east/web?vpcId=v1', gives: { id: 'sg-1' } },
    ],
    answer: { id: 'sg-1' },
  },
  {
    id: 'getTaskDetailsUsingGET',
    ask: '/applications/shop/tasks/01T/details/c1',
    calls: [{ call: 'clouddriver GET /task/c1', gives: { id: 'c1' }, application: 'shop' }],
    answer: { id: 'c1' },
  },
  {
    id: 'getTaskDetailsUsingGET1',
    ask: '/tasks/01T/details/c1',
    calls: [{ call: 'clouddriver GET /task/c1', gives: { id: 'c1' }, application: 'none' }],
    answer: { id: 'c1' },
  },
  {
    id: 'bakeOptionsUsingGET1',
    ask: '/bakery/options',
    calls: [{ call: 'rosco GET /bakeOptions', gives: [{ cloudProvider: 'aws', baseImages: [] }] }],
    answer: [{ cloudProvider: 'aws', baseImages: [] }],
    whenOff: { status: 200, answer: [{ cloudProvider: 'docker', baseImages: [] }] },
  },
  {
    id: 'bakeOptionsUsingGET',
    ask: '/bakery/options/aws',
    calls: [
      { call: 'rosco GET /bakeOptions/aws', gives: { cloudProvider: 'aws', baseImages: [] } },
    ],
    answer: { cloudProvider: 'aws', baseImages: [] },
    whenOff: { status: 400 },
  },
  {
    id: 'lookupLogsUsingGET',
    ask: '/bakery/logs/east/b1',
    calls: [
      { call: 'rosco GET /api/v1/east/logs/b1', gives: { logsContent: 'a < b' }, parsed: true },
    ],
    answer: '<pre>a < b</pre>',
    whenOff: { status: 400 },
  },
  {
    id: 'getBuildMastersUsingGET',
    ask: '/v2/builds?type=jenkins',
    calls: [{ call: 'igor GET /masters?type=jenkins', gives: ['ci'] }],
    answer: ['ci'],
    whenOff: { status: 200, answer: [] },
  },
  {
    id: 'getJobsForBuildMasterUsingGET',
    ask: '/v2/builds/ci/jobs',
    calls: [{ call: 'igor GET /jobs/ci', gives: ['team/job/svc'] }],
    answer: ['team/job/svc'],
    whenOff: { status: 200, answer: [] },
  },
  {
    id: 'getJobConfigUsingGET',
    ask: '/v2/builds/ci/jobs/team/job/my%20svc',
    calls: [{ call: 'igor GET /jobs/ci/team/job/my%20svc', gives: { name: 'svc' } }],
    answer: { name: 'svc' },
    whenOff: { status: 200, answer: {} },
  },
  {
    id: 'getBuildsUsingGET',
    ask: '/v2/builds/ci/builds/team/job/svc',
    calls: [{ call: 'igor GET /builds/all/ci/team/job/svc', gives: [{ number: 7 }] }],
    answer: [{ number: 7 }],
    whenOff: { status: 200, answer: [] },
  },
  {
    id: 'getBuildUsingGET',
    ask: '/v2/builds/ci/build/7/team/job/svc',
    calls: [{ call: 'igor GET /builds/status/7/ci/team/job/svc', gives: { number: 7 } }],
    answer: { number: 7 },
    whenOff: { status: 200, answer: {} },
  },
]

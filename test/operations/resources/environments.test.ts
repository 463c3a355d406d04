/** Environments of an application, as the services of a Spinnaker report what they are made of. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadBetween } from '../../../packages/gateway/operations/resources/between-versions.ts'
import { Reply } from '../../support/upstream.ts'
import { type Platform, startPlatform } from './platform.ts'

const hourMs = 3_600_000

const view = {
  name: 'ann',
  admin: false,
  accounts: ['staging', 'prod'].map((name) => ({ name, authorizations: ['READ', 'WRITE'] })),
  applications: [{ name: 'shop', authorizations: ['READ', 'WRITE', 'EXECUTE'] }],
  buildServices: [{ name: 'ci', authorizations: ['READ'] }],
  serviceAccounts: [],
  roles: [{ name: 'developers' }],
}

const settings = { header: { enabled: true } }
const asAnn = { 'x-spinnaker-user': 'ann' }

const declared = [
  { name: 'staging', accounts: ['staging'], regions: ['shop', 'moon'] },
  {
    name: 'production',
    accounts: ['prod', 'secret', 'gone'],
    mayPromote: ['release-managers'],
    constraints: [
      { type: 'judgment', roles: ['qa'] },
      { type: 'soakTime', minutes: 90 },
    ],
  },
]

/** A replica set of a deployment, with its pods. */
function replicaSet(
  account: string,
  image: string,
  { ageMs = hourMs, up = 2, name = 'web-1' } = {},
) {
  return {
    name: `replicaSet ${name}`,
    ...{
      account,
      region: 'shop',
      cluster: 'deployment web',
      cloudProvider: 'kubernetes',
      isDisabled: false,
    },
    createdTime: Date.now() - ageMs,
    instanceCounts: { total: 2, up },
    buildInfo: { images: [image] },
  }
}

function deployedBy(id: string, account: string, image: string, number: number, replicas = 2) {
  const container = { name: 'web', image }
  const manifest = {
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', annotations: { of: account } },
    spec: { replicas, template: { spec: { containers: [container] } } },
  }
  return {
    ...{ id, name: 'release', status: 'SUCCEEDED', authentication: { user: 'bob' } },
    trigger: {
      type: 'jenkins',
      master: 'ci',
      job: 'shop',
      buildInfo: { number, scm: [{ sha1: `sha${number}`, branch: 'main' }] },
    },
    stages: [
      {
        ...{
          id: `${id}s`,
          type: 'deployManifest',
          status: 'SUCCEEDED',
          endTime: Date.now() - hourMs,
        },
        context: { account, manifests: [manifest] },
      },
    ],
  }
}

const promoting = {
  ...{ id: 'r9', name: 'promote', status: 'RUNNING', trigger: { type: 'manual' } },
  stages: [
    {
      ...{ id: 's1', type: 'promote', status: 'RUNNING' },
      context: {
        to: 'Production',
        'waiting.for': 'waits for 30 more minutes of soak time in staging',
      },
    },
  ],
}

const pipelines = [
  {
    ...{ id: 'p1', name: 'release', application: 'shop' },
    stages: [
      { refId: '1', type: 'deployManifest', account: 'staging', namespaceOverride: 'shop' },
      { refId: '2', type: 'deployManifest', account: 'prod' },
    ],
  },
  {
    id: 'p2',
    name: 'promote',
    application: 'shop',
    stages: [{ refId: '1', type: 'promote', to: 'production' }],
  },
  { id: 'p3', name: 'clean-up', application: 'shop', stages: [{ refId: '1', type: 'wait' }] },
]

const answers: Readonly<Record<string, unknown>> = {
  '/fiat/authorize/ann': view,
  '/clouddriver/credentials': ['staging', 'prod', 'secret'].map((name) => {
    return {
      name,
      environment: `${name}-env`,
      namespaces: ['shop'],
      permissions: { READ: ['developers'], WRITE: ['developers', 'release-managers'] },
    }
  }),
  '/front50/v2/applications/shop': {
    ...{ name: 'SHOP', email: 'shop@example.org' },
    ...{ environments: declared, repoType: 'github', repoProjectKey: 'acme', repoSlug: 'shop' },
  },
  '/front50/v2/applications/plain': { name: 'PLAIN', email: 'shop@example.org', environments: [] },
  '/front50/v2/applications/broken': {
    name: 'BROKEN',
    email: 'shop@example.org',
    environments: [{ name: 'a', accounts: ['a'], region: 'x' }],
  },
  '/front50/pipelines/shop': pipelines,
  '/clouddriver/applications/shop/serverGroups': [
    replicaSet('staging', 'example.org/shop/web:1.2', { up: 1 }),
    {
      ...replicaSet('staging', 'example.org/shop/web:1.1', { ageMs: 5 * hourMs, name: 'web-0' }),
      instanceCounts: { total: 0, up: 0 },
    },
    replicaSet('prod', 'example.org/shop/web:1.0', { ageMs: 9 * hourMs }),
    replicaSet('secret', 'example.org/shop/web:0.1'),
    { ...replicaSet('prod', 'example.org/shop/job:1'), name: 'job migrate' },
  ],
  '/clouddriver/applications/plain/serverGroups': [
    ...[machines(1, '1.0', false), machines(2, '1.1', true)],
    { ...machines(3, '1.2', false), name: 'plain--canary-v003', cluster: 'plain--canary' },
  ],
  '/clouddriver/applications/shop/drift': [
    {
      ...{
        account: 'prod',
        namespace: 'shop',
        name: 'deployment web',
        manager: 'kubectl-edit',
        since: null,
      },
      fields: ['spec.replicas'],
    },
  ],
  '/orca/pipelines': [
    deployedBy('r2', 'staging', 'example.org/shop/web:1.2', 12, 3),
    deployedBy('r1', 'prod', 'example.org/shop/web:1.0', 10),
    promoting,
  ],
  '/igor/github/acme/shop/compareCommits': [
    { id: 'sha11', message: 'One', authorDisplayName: 'Cem', timestamp: 1 },
    { id: 'sha12', message: 'Two', authorDisplayName: 'Dora', timestamp: 2 },
  ],
  '/igor/builds/changes/ci/shop': [
    { sha1: 'sha12', message: 'Two', committer: 'Emil' },
    { sha1: 'sha11', message: 'One', committer: 'Fay' },
  ],
  '/igor/builds/all/ci/shop': [12, 11, 10].map((number) => ({
    number,
    result: 'SUCCESS',
    url: `https://ci.example.org/${number}`,
  })),
}

/** On machines, where a version is the image that a server group was made of. */
function machines(number: number, version: string, isDisabled: boolean) {
  return {
    ...{
      name: `plain-v00${number}`,
      account: 'prod',
      region: 'eu',
      cluster: 'plain',
      cloudProvider: 'local',
      isDisabled,
    },
    ...{ createdTime: number, instanceCounts: { total: 1, up: 1 } },
    buildInfo: {
      package_name: 'plain',
      version,
      commit: `c${number}`,
      jenkins: { host: 'ci', name: 'plain', number: String(number) },
    },
  }
}

function answerOf(path: string): unknown {
  const [bare = ''] = path.split('?')
  return answers[bare] ?? (bare.startsWith('/front50/v2/applications/') ? new Reply(404) : [])
}

async function read(platform: Platform, application: string) {
  const { status, body, headers } = await platform.ask(
    `GET /applications/${application}/environments`,
    undefined,
    asAnn,
  )
  return { status, headers, body: body as Answer }
}

type Fields = Readonly<Record<string, unknown>>

interface Answer {
  readonly declared: boolean
  readonly problem?: string
  readonly message?: string
  readonly environments: readonly (Fields & {
    readonly name: string
    readonly accounts: readonly string[]
    readonly versions: readonly Fields[]
    readonly clusters: readonly (Fields & { readonly run?: Fields })[]
    readonly drift: readonly Fields[]
    readonly promotion: Fields
  })[]
}

test('environments of an application in front of a Spinnaker', async (t) => {
  let failing = ''
  let absent: string[] = []
  const platform = await startPlatform(t, {
    ...{ off: [], settings },
    answers: ({ path }) =>
      absent.some((each) => path.startsWith(each))
        ? new Reply(404)
        : failing !== '' && path.startsWith(failing)
          ? new Reply(500)
          : answerOf(path),
  })

  await t.test(
    'each says what it runs, of which commit and build, how it is, and what was changed since',
    async () => {
      const { status, body } = await read(platform, 'shop')
      assert.equal(status, 200)
      assert.equal(body.declared, true)
      const [staging, production] = body.environments
      assert.deepEqual(
        body.environments.map(({ name }) => name),
        ['staging', 'production'],
      )
      assert.deepEqual(staging?.versions, [
        {
          ...{
            image: 'example.org/shop/web:1.2',
            label: '1.2',
            commit: { sha: 'sha12', branch: 'main' },
          },
          build: { server: 'ci', job: 'shop', number: 12 },
        },
      ])
      assert.deepEqual(
        [staging?.['health'], staging?.['history']],
        [{ state: 'degraded', up: 1, total: 2 }, ['1.2', '1.1']],
      )
      const [cluster] = production?.clusters ?? []
      assert.deepEqual(
        [cluster?.['cluster'], cluster?.['serverGroups']],
        ['deployment web', ['replicaSet web-1']],
      )
      assert.equal(cluster?.run?.['user'], 'bob')
      assert.equal(
        production?.drift[0]?.['text'],
        'kubectl-edit has changed spec.replicas of deployment web.',
      )
      assert.deepEqual(staging?.drift, [])
      assert.deepEqual(staging?.['warnings'], [
        'The namespace "moon" of the environment "staging" does not exist at present.',
      ])
      assert.deepEqual(production?.['warnings'], [
        'The environment "production" names the account "gone", which does not exist: correct or add it.',
        'Users with the role developers may deploy to the account "prod" past a promotion to production: give its WRITE to the roles of mayPromote only.',
      ])
      // An account that the caller may not read.
      assert.deepEqual([production?.accounts, production?.clusters.length], [['prod'], 1])
      assert.equal('promotion' in (staging ?? {}), false)
    },
  )

  await t.test(
    'between two of them there are commits, authors, builds, images, manifests, pipelines, and what holds it up',
    async () => {
      const { body } = await read(platform, 'shop')
      const { commits, holds, conditions, ...promotion } = body.environments[1]?.promotion ?? {}
      assert.deepEqual(promotion, {
        from: 'staging',
        images: [{ image: 'example.org/shop/web', from: '1.0', to: '1.2' }],
        manifests: [{ name: 'Deployment web', change: 'changed' }],
        authors: ['Dora', 'Cem'],
        builds: [12, 11].map((number) => {
          return {
            server: 'ci',
            job: 'shop',
            number,
            url: `https://ci.example.org/${number}`,
            result: 'SUCCESS',
          }
        }),
        pipelines: [
          { id: 'p1', name: 'release', promotes: false },
          { id: 'p2', name: 'promote', promotes: true },
        ],
        mayPromote: false,
        runs: [
          {
            id: 'r9',
            pipeline: 'promote',
            waitsFor: 'waits for 30 more minutes of soak time in staging',
          },
        ],
      })
      assert.deepEqual(
        (commits as Fields[]).map(({ sha, message }) => [sha, message]),
        [
          ['sha12', 'Two'],
          ['sha11', 'One'],
        ],
      )
      assert.deepEqual(
        (conditions as Fields[]).map(({ type, state }) => [type, state]),
        [
          ['judgment', 'ahead'],
          ['soakTime', 'ahead'],
        ],
      )
      assert.deepEqual(holds, [
        'ann may not promote to production: only users with the role release-managers may.',
        'waits for the judgment of a user with the role qa',
        'waits for 30 more minutes of soak time in staging',
      ])
      assert.ok(
        platform.calls().includes('igor GET /github/acme/shop/compareCommits?to=sha10&from=sha12'),
      )
    },
  )

  await t.test(
    'without a code host the build server lists the commits; else it says what is not known',
    async () => {
      absent = ['/igor/github']
      const between = async () =>
        (await read(platform, 'shop')).body.environments[1]?.promotion ?? {}
      const { commits: listed, note: none } = await between()
      assert.deepEqual(
        [(listed as Fields[]).map(({ author }) => author), none],
        [['Emil', 'Fay'], undefined],
      )
      absent.push('/igor/builds/changes')
      const { commits, note } = await between()
      assert.deepEqual(
        (commits as Fields[]).map(({ sha }) => sha),
        ['sha12'],
      )
      assert.equal(
        note,
        'Other commits may lie between 1.0 and 1.2: neither the build server nor a code host lists them.',
      )
      absent = []
    },
  )

  await t.test(
    'an application that declares none has those of its accounts; a declaration that is of no use is named',
    async () => {
      const { body } = await read(platform, 'plain')
      assert.deepEqual(
        [body.declared, body.environments.map(({ name }) => name)],
        [false, ['prod-env']],
      )
      const [{ versions = [], drift = [] } = {}] = body.environments
      const build = { server: 'ci', job: 'plain', number: 1 }
      assert.deepEqual(versions, [
        { image: 'plain:1.0', label: '1.0', commit: { sha: 'c1' }, build },
      ])
      // A canary runs beside the version of the environment.
      const text = 'plain-v001 serves plain:1.0; plain-v002 with plain:1.1 was deployed last.'
      assert.deepEqual(drift, [
        { account: 'prod', region: 'eu', cluster: 'plain', name: 'plain-v001', text },
      ])
      const broken = (await read(platform, 'broken')).body
      assert.equal(broken.environments.length, 2)
      assert.match(
        broken.problem ?? '',
        /environments\.0\.region: an environment has no such field/,
      )
    },
  )

  await t.test(
    'an unknown application is 404, and a part that cannot be read is missing with a warning',
    async () => {
      assert.equal((await read(platform, 'nothing')).status, 404)
      failing = '/orca/'
      const { status, body, headers } = await read(platform, 'shop')
      assert.deepEqual(
        [status, body.environments[0]?.versions],
        [200, [{ image: 'example.org/shop/web:1.2', label: '1.2' }]],
      )
      assert.match(headers.get('warning') ?? '', /orca does not answer/)
      failing = '/clouddriver/applications/'
      assert.equal((await read(platform, 'shop')).status, 500)
    },
  )
})

test('between two versions lies nothing that was deployed after the later one', async () => {
  const version = (number: number) => ({
    image: `web:1.${number}`,
    label: `1.${number}`,
    commit: { sha: `sha${number}` },
    build: { server: 'ci', job: 'web', number },
  })
  const between = async (...deployed: readonly number[]) => {
    const deployments = deployed.map((number) => {
      const { image, commit, build } = version(number)
      const run = { id: 'r', pipeline: 'p', user: undefined, atMs: 1 }
      return { run, account: 'a', serverGroups: {}, images: [image], manifests: [], commit, build }
    })
    const context = { attributes: {}, view: undefined, deployments, ask: async () => undefined }
    const { commits } = await loadBetween(version(2), version(0), context)
    return commits.map(({ sha }) => sha)
  }
  assert.deepEqual(await between(3, 2, 1, 0), ['sha2', 'sha1'])
  // The later one waits before its first deployment.
  assert.deepEqual(await between(3, 1, 0), ['sha2', 'sha1'])
})

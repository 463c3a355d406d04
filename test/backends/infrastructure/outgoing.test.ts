/** What accounts give to bakes, builds, jobs and programs: authorities, a proxy, registries with logins, and variables. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { adviseOnOutgoing } from '../../../packages/base/outside/outgoing-advice.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { bakeryBackend } from '../../../packages/providers/bakery/bakery.ts'
import { goCache, linkGoCache } from '../../support/go-cache.ts'
import {
  somePorts,
  startInfrastructure,
  type TestInfrastructure,
} from '../../support/infrastructure.ts'
import {
  npmToken,
  type PrivateRegistries,
  packagePassword,
  proxyPassword,
  startPrivateRegistries,
} from '../../support/private-registries.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { waitFor } from '../../support/wait-until.ts'

const secrets = [
  npmToken,
  packagePassword,
  encodeURIComponent(packagePassword),
  proxyPassword,
  encodeURIComponent(proxyPassword),
]

/** Without its name: one that has everything, by reference as far as that can be. */
function outgoingOf({ authority, proxy, url }: PrivateRegistries): JsonObject {
  return {
    'ca-file': authority,
    proxy,
    registries: [
      { type: 'npm', url: `${url}/npm/`, token: 'secret:npm-token' },
      { type: 'pip', url: `${url}/pip/simple`, username: 'ci', password: 'secret:packages' },
      { type: 'go', url: `${url}/go`, username: 'ci', password: packagePassword },
      { type: 'git', url: `${url}/shop.git`, username: 'ci', password: 'secret:packages' },
    ],
    variables: {
      GREETING: 'hello',
      SIGNED: 'secret:npm-token',
      GONOSUMDB: '*',
      GOPRIVATE: 'other.example',
    },
  }
}

interface Rig {
  readonly infra: TestInfrastructure
  readonly registries: PrivateRegistries
  readonly sources: string
  /** @returns its state and its log */
  bake(request: JsonObject): Promise<{ state: unknown; log: string }>
  /** @returns its console */
  job(account: string, shell: string): Promise<string>
}

async function start(t: TestContext): Promise<Rig> {
  const registries = await startPrivateRegistries(t)
  const sources = createFolder('sources')
  t.after(() => removeFolder(sources))
  const [ports, otherPorts] = [await somePorts(t, 50), await somePorts(t, 50)]
  const infra = await startInfrastructure(t, {
    local: {
      readable: goCache,
      accounts: [
        { name: 'dev', ports, ...outgoingOf(registries) },
        { name: 'plain', ports: otherPorts },
      ],
    },
    bakery: {
      'local.enabled': true,
      'local.templates': [{ id: 'shell', steps: [{ shell: 'eval "$BAKE_SHELL"' }] }],
    },
    beside: [definitionsBackend, bakeryBackend],
  })
  for (const [name, value] of [
    ['npm-token', npmToken],
    ['packages', packagePassword],
  ]) {
    const { status } = await infra.backends.ask('front50', 'PUT', `/secrets/account/dev/${name}`, {
      value,
    })
    assert.equal(status, 200)
  }
  const bake: Rig['bake'] = async (request) => {
    const asked = await infra.backends.ask('rosco', 'POST', '/api/v1/global/bake', {
      cloud_provider_type: 'local',
      ...request,
    })
    const id = String((asked.body as JsonObject)['id'])
    if (asked.status !== 200) return { state: 'REFUSED', log: JSON.stringify(asked.body) }
    const { body } = await waitFor(async () => {
      const answer = await infra.backends.ask('rosco', 'GET', `/api/v1/global/status/${id}`)
      return (answer.body as JsonObject)['state'] === 'RUNNING' ? undefined : answer
    }, `the end of the bake ${id}`)
    const log = await infra.backends.ask('rosco', 'GET', `/api/v1/global/logs/${id}`)
    return {
      state: (body as JsonObject)['state'],
      log: String((log.body as JsonObject)['logsContent']),
    }
  }
  const job: Rig['job'] = async (account, shell) => {
    const order = {
      credentials: account,
      region: 'local',
      application: 'shop',
      command: ['sh', '-c', shell],
    }
    const { resultObjects } = await infra.succeed({ runJob: order })
    const [id = ''] = ((resultObjects as JsonObject[])[0] as { deployedNames: string[] })
      .deployedNames
    await infra.until<JsonObject>(
      `/applications/shop/jobs/${account}/local/${id}`,
      ({ jobState }) => jobState === 'Succeeded',
    )
    return String(
      (await infra.read<JsonObject>(`/instances/${account}/local/${id}/console`))['output'],
    )
  }
  return { infra, registries, sources, bake, job }
}

function isInstalled(program: string, ...args: string[]): boolean {
  return spawnSync(program, args).status === 0
}

/** Sources that take the package `left` from the registry. */
const kinds = [
  {
    template: 'node',
    tool: ['npm', '--version'],
    filesOf: ({ locks }: PrivateRegistries) => ({
      'package.json': '{"name": "app", "version": "1.0.0", "dependencies": {"left": "1.0.0"}}',
      'package-lock.json': locks.npm,
    }),
  },
  {
    template: 'python',
    tool: ['python3', '-m', 'pip', '--version'],
    filesOf: () => ({ 'requirements.txt': 'left==1.0\n' }),
  },
  {
    template: 'go',
    tool: ['go', 'version'],
    filesOf: ({ host, locks }: PrivateRegistries) => ({
      'go.mod': `module app\n\ngo 1.21\n\nrequire ${host}/left v1.0.0\n`,
      'go.sum': locks.go,
      'main.go': `package main\n\nimport "${host}/left"\n\nfunc main() { println(left.Word) }\n`,
    }),
  },
]

/** What Fairlead stores, apart from packages that bakes keep. */
function noFileHas(dataDir: string, texts: readonly string[]): void {
  const entriesOf = (folder: string) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = [
    ...readdirSync(dataDir, { withFileTypes: true }),
    ...['accounts', 'images'].flatMap((name) => entriesOf(join(dataDir, name))),
  ].filter((entry) => entry.isFile())
  assert.ok(files.some(({ name }) => name === 'npmrc'))
  for (const { parentPath, name } of files) {
    const content = readFileSync(join(parentPath, name))
    for (const text of texts)
      assert.ok(!content.includes(text), `${parentPath}/${name} has ${text}`)
  }
}

test('bakes take packages from private registries through the proxy', {
  timeout: 600_000,
}, async (t) => {
  const rig = await start(t)
  const { registries, infra } = rig
  linkGoCache(infra.dataDir, 'dev')
  for (const { template, tool, filesOf } of kinds) {
    await t.test(
      template,
      { skip: !isInstalled(tool[0] ?? '', ...tool.slice(1)) && `${tool[0]} is not installed` },
      async () => {
        const directory = join(rig.sources, template)
        mkdirSync(directory)
        for (const [name, text] of Object.entries(filesOf(registries)))
          writeFileSync(join(directory, name), text)
        const before = registries.connects.length
        const request = {
          package: `app-${template}`,
          base_os: template,
          extended_attributes: { directory },
        }
        const { state, log } = await rig.bake({ ...request, account_name: 'dev' })
        assert.equal(state, 'COMPLETED', log)
        assert.ok(
          registries.connects.slice(before).includes(`${registries.host}:443`),
          registries.connects.join(),
        )
      },
    )
  }
  const git = {
    package: 'shop',
    base_os: 'directory',
    extended_attributes: { git: `${registries.url}/shop.git` },
  }
  await t.test('git', async () => {
    const { state, log } = await rig.bake({ ...git, account_name: 'dev' })
    assert.equal(state, 'COMPLETED', log)
  })
  await t.test('a bake without the authority says what to set', async () => {
    const attributes = { git: `${registries.direct}/shop.git` }
    const { log } = await rig.bake({
      ...git,
      extended_attributes: attributes,
      account_name: 'plain',
    })
    assert.match(log, /set \W+ca-file\W+ of the account plain in local\.accounts/)
  })
  assert.deepEqual(registries.refused, [])
  noFileHas(infra.dataDir, secrets)
})

interface Group extends JsonObject {
  instances: (JsonObject & { id: string; process: { pid: number } })[]
  instanceCounts: { up: number }
}

test('jobs and programs find what their account gives, and no output and no answer shows secrets', async (t) => {
  const { infra, registries, job, bake } = await start(t)
  const command = [
    'sh',
    '-c',
    'env; cat "$npm_config_globalconfig"; for name in $(env | cut -d= -f1 | grep -v PLAN); do eval "echo \\$$name"; done',
  ]
  const console = await job('dev', command[2] ?? '')
  assert.match(console, /^GREETING=hello$/m)
  assert.match(console, /^SIGNED=\*{6}$/m)
  assert.match(console, /^HTTPS_PROXY=http:\/\/gate:\*{6}@127\.0\.0\.1:\d+$/m)
  assert.match(console, /^NO_PROXY=localhost,127\.0\.0\.1,::1$/m)
  assert.match(console, /^GOPRIVATE=other\.example$/m)
  const baked = await bake({
    package: 'env',
    base_os: 'shell',
    account_name: 'dev',
    extended_attributes: {
      shell: `${command[2]}; echo 'command: [sh]' > fairlead-image.yml`,
      directory: createSource(t),
    },
  })
  assert.match(baked.log, /^GREETING=hello$/m)
  for (const text of secrets)
    assert.ok(![console, baked.log].some((output) => output.includes(text)), text)

  const others = await job('plain', 'env')
  assert.doesNotMatch(others, /GREETING|proxy|SSL_CERT_FILE|FAIRLEAD_NPM|npm_config/i)

  await infra.putImage('shop', '1.0.0')
  const environment = { GREETING: 'own', NO_PROXY: '*' }
  const place = { credentials: 'dev', region: 'local', cloudProvider: 'local' }
  const capacity = { min: 1, max: 1, desired: 1 }
  await infra.succeed({
    createServerGroup: {
      ...place,
      application: 'shop',
      imageId: 'shop:1.0.0',
      capacity,
      environment,
    },
  })
  const group = await infra.until<Group>(
    '/serverGroups/dev/local/shop-v000',
    ({ instanceCounts: { up } }) => up === 1,
  )
  const pid = group.instances[0]?.process.pid ?? 0
  const environ = readFileSync(`/proc/${pid}/environ`, 'utf8')
  for (const text of [
    'GREETING=own',
    'NO_PROXY=*',
    `SIGNED=${npmToken}`,
    `https_proxy=${registries.proxy}`,
  ])
    assert.ok(environ.includes(`\0${text}\0`), `${text} of ${environ}`)
  const bundle = readFileSync(/SSL_CERT_FILE=([^\0]+)/.exec(environ)?.[1] ?? '', 'utf8')
  assert.ok(bundle.includes(readFileSync(registries.authority, 'utf8').trim()))
  assert.ok(bundle.split('BEGIN CERTIFICATE').length > 50, 'it has the authorities of the system')
  const answers = [
    '/credentials',
    '/credentials/dev',
    '/serverGroups/dev/local/shop-v000',
    `/instances/dev/local/${group.instances[0]?.id}`,
  ]
  const shown = JSON.stringify(await Promise.all(answers.map((path) => infra.read(path))))
  for (const text of [...secrets, 'npm-token']) assert.ok(!shown.includes(text), text)
  noFileHas(infra.dataDir, secrets)
})

function createSource(t: TestContext): string {
  const folder = createFolder('source')
  t.after(() => removeFolder(folder))
  return folder
}

test('advice names the setting that is missing', () => {
  const certificates = '/etc/company.pem'
  const cases: [output: string, own: Record<string, string>, advice: RegExp][] = [
    [
      'npm error code SELF_SIGNED_CERT_IN_CHAIN',
      { NODE_EXTRA_CA_CERTS: certificates },
      /"ca-file" of the account dev .*such as \/etc\/company\.pem/,
    ],
    [
      'x509: certificate signed by unknown authority',
      {},
      /"ca-file" of the account dev in local\.accounts to a PEM file that has it\. /,
    ],
    [
      'npm error code ENOTFOUND',
      { https_proxy: 'http://proxy:3128' },
      /https_proxy, which programs do not get: set "proxy"/,
    ],
    ['npm error code ENOTFOUND', {}, /^$/],
    ['1 test failed', { HTTPS_PROXY: 'http://proxy:3128', SSL_CERT_FILE: certificates }, /^$/],
  ]
  for (const [output, own, advice] of cases)
    assert.match(adviseOnOutgoing(output, 'dev', own), advice)
})

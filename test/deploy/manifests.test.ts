/** Helm chart and kustomize manifests: printed from one source, accepted by a real API server, and Spinnaker's own with Fairlead in it. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { loadConfig } from '../../packages/app/config/config.ts'
import {
  chart,
  layouts,
  type PrintedFile,
  printAlerts,
  printManifests,
} from '../../scripts/print-manifests.ts'
import { Browser } from '../login/browser.ts'
import { blocksOf, readGuide } from '../support/guide.ts'
import { type ControlPlane, startControlPlane } from '../support/kubernetes.ts'
import { needsHelm } from '../support/kubernetes-programs.ts'
import { startRedis } from '../support/redis.ts'
import { createHome, startServe } from '../support/serve.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

const root = resolve(import.meta.dirname, '../..')
const fixture = join(root, 'test/fixtures/spinnaker-kustomize')
const guide = readGuide('kubernetes')
const [values = '', overlay = '', inSpinnaker = ''] = blocksOf(guide, 'yml')

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly data?: Readonly<Record<string, string>>
  readonly spec: Record<string, unknown>
}

interface Gate {
  readonly containers: readonly [
    { readonly image: string; readonly env: readonly { name: string; value: string }[] },
  ]
}

const parseManifests = (text: string) =>
  parseAllDocuments(text).map((document) => document.toJS() as Manifest)
const find = (manifests: readonly Manifest[], kind: string, name: RegExp) =>
  manifests.find((each) => each.kind === kind && name.test(each.metadata.name)) ??
  assert.fail(`${kind} ${name}`)

test('manifests and alerts are what the chart prints, and the chart is of this version', (t) => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string
  }
  const { appVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as {
    appVersion: string
  }
  assert.equal(appVersion, version)
  const check = ({ file, text }: PrintedFile) =>
    assert.ok(
      readFileSync(join(root, file), 'utf8') === text,
      `${file} is older than its source: node scripts/print-manifests.ts`,
    )
  check(printAlerts())
  const helm = needsHelm(t)
  if (helm === undefined) return
  printManifests(helm).forEach(check)
  const linted = spawnSync(helm, ['lint', '--strict', chart, '--set', 'image=fairlead:1'], {
    encoding: 'utf8',
  })
  assert.equal(linted.status, 0, linted.stdout)
  const problemsOf = (value: string) =>
    spawnSync(helm, ['template', 'x', chart, '--set', value], { encoding: 'utf8' }).stderr.split(
      '\n',
    )
  assert.ok(
    problemsOf('image=a,layout=both').some((line) => /'\/layout': value must be one of/.test(line)),
  )
  assert.ok(
    problemsOf('image=a,replica=3').some((line) =>
      /additional properties 'replica' not allowed/.test(line),
    ),
  )
  assert.ok(
    problemsOf('image=a,ingress.host=https://gate.example.com').some((line) =>
      /'\/ingress\/host'/.test(line),
    ),
  )
  assert.ok(
    problemsOf('replicas=3').some((line) => /image: name the image that you have built/.test(line)),
  )
})

test('an API server accepts every layout by Helm and by kustomize, as restricted pods', async (t) => {
  const helm = needsHelm(t)
  const kubernetes = await startControlPlane(t)
  if (helm === undefined || kubernetes === undefined) return
  const folder = createFolder('manifests')
  t.after(() => removeFolder(folder))
  symlinkSync(root, join(folder, 'fairlead'))
  writeFileSync(join(folder, 'values.yaml'), values)
  const render = (release: string, ...sets: string[]) =>
    execFileSync(
      helm,
      [
        'template',
        release,
        chart,
        '--values',
        join(folder, 'values.yaml'),
        ...sets.flatMap((set) => ['--set', set]),
      ],
      {
        encoding: 'utf8',
      },
    )
  const rendered = [
    ...layouts.map((layout) => render(`by-helm-${layout}`, `layout=${layout}`, ...everything)),
    render('copied', 'layout=apart', 'backends.copy=s3://bucket/fairlead?region=eu'),
  ]

  const fromGuide = parseManifests(render('fairlead'))
  const config = find(fromGuide, 'ConfigMap', /^fairlead$/).data?.['fairlead.yml'] ?? ''
  writeFileSync(join(folder, 'fairlead.yml'), config)
  writeFileSync(join(folder, 'gate.yml'), 'spring: { session: { timeout: 2h } }\n')
  writeFileSync(join(folder, 'kustomization.yml'), overlay)
  const { stdout } = await kubernetes.kubectl('kustomize', folder)
  const kustomized = parseManifests(stdout)
  const { data } = find(kustomized, 'ConfigMap', /^fairlead-\w{10}$/)
  assert.deepEqual(data, {
    'fairlead.yml': config,
    'gate.yml': 'spring: { session: { timeout: 2h } }\n',
  })
  const others = await Promise.all(
    ['standalone', 'apart'].map(
      async (layout) =>
        (await kubernetes.kubectl('kustomize', join(root, 'deploy/kustomize', layout))).stdout,
    ),
  )

  const known = ({ kind }: Manifest) => kind !== 'ServiceMonitor' && kind !== 'PrometheusRule'
  const all = [...rendered, stdout, ...others].flatMap(parseManifests)
  assert.equal(all.length - all.filter(known).length, 2 * (layouts.length + 1))
  await apply(t, kubernetes, all.filter(known))
})

test('an upgrade by Helm replaces gateways one after the other, and the engine after its standby', async (t) => {
  const helm = needsHelm(t)
  const kubernetes = await startControlPlane(t)
  if (helm === undefined || kubernetes === undefined) return
  const namespace = await kubernetes.namespace()
  const home = createHome(t)
  const upgrade = (image: string) => {
    const words = [
      'upgrade',
      '--install',
      'fairlead',
      chart,
      '--namespace',
      namespace,
      '--set',
      `layout=apart,image=${image}`,
    ]
    const env = { HOME: home, KUBECONFIG: kubernetes.kubeconfigFile() }
    return execFileSync(helm, words, { env, encoding: 'utf8' })
  }
  assert.match(upgrade('registry.example/fairlead:0.1.0'), /--from-literal=FAIRLEAD_BACKENDS_KEY/)
  const rolledOut = (workload: string) =>
    kubernetes.kubectl('rollout', 'status', workload, '--namespace', namespace)
  await rolledOut('deployment/fairlead')
  await rolledOut('statefulset/fairlead-backends')

  upgrade('registry.example/fairlead:0.2.0')
  const gateways = `/apis/apps/v1/namespaces/${namespace}/deployments/fairlead`
  await waitUntil(async () => {
    const { metadata, status } = await kubernetes.api.get(gateways)
    assert.ok(Number(status['readyReplicas']) >= 2, 'as many gateways as before')
    return (
      status['observedGeneration'] === metadata['generation'] &&
      status['updatedReplicas'] === 2 &&
      status['replicas'] === 2
    )
  }, 'gateways of the next version')
  await rolledOut('statefulset/fairlead-backends')
  const createdMs = async (index: number) => {
    const { metadata } = await kubernetes.api.get(
      `/api/v1/namespaces/${namespace}/pods/fairlead-backends-${index}`,
    )
    return Date.parse(String(metadata['creationTimestamp']))
  }
  assert.ok(
    (await createdMs(0)) - (await createdMs(1)) >= 3000,
    'one of both can serve at any time',
  )
})

/** Values that add something to every layout. */
const everything = [
  'monitoring.enabled=true',
  'storage.className=fast',
  'service.type=LoadBalancer',
  'service.annotations.a=b',
  'ingress.host=gate.example.com',
  'ingress.className=nginx',
  'ingress.tlsSecret=gate-tls',
  'ingress.annotations.a=b',
  'serviceAccountName=deployer',
  'imagePullSecrets[0].name=registry',
  'nodeSelector.disk=ssd',
  'tolerations[0].operator=Exists',
  'networkPolicy.ports[0]=8080',
  'env[0].name=OTEL_SERVICE_NAME',
  'env[0].value=gate',
  'files.gate\\.yml=server: {}',
]

test("Spinnaker's own kustomization runs Fairlead by one line", async (t) => {
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  const folder = createFolder('manifests')
  t.after(() => removeFolder(folder))
  symlinkSync(root, join(folder, 'fairlead'))
  cpSync(fixture, folder, { recursive: true })
  const file = join(folder, 'config/kustomization.yml')
  const build = async () =>
    parseManifests((await kubernetes.kubectl('kustomize', join(folder, 'config'))).stdout)
  const before = await build()
  const added = parse(inSpinnaker) as { components: string[]; images: object[] }
  const known = parse(readFileSync(file, 'utf8')) as { images: object[] }
  writeFileSync(
    file,
    stringify({
      ...known,
      components: added.components.map((each) => `../${each}`),
      images: [...known.images, ...added.images],
    }),
  )
  const after = await build()
  await apply(t, kubernetes, after)

  const podOf = (manifests: readonly Manifest[]) =>
    (find(manifests, 'Deployment', /^gate$/).spec['template'] as { spec: Gate }).spec
  const [was, is] = [podOf(before), podOf(after)]
  assert.equal(is.containers[0].image, 'registry.example/fairlead:0.1.0')
  for (const manifests of [before, after]) {
    const gate = podOf(manifests)
    assert.deepEqual(
      pick(gate.containers[0], 'name', 'ports', 'env', 'command', 'args'),
      pick(was.containers[0], 'name', 'ports', 'env'),
    )
  }
  assert.deepEqual(
    after.filter(({ kind }) => kind !== 'Deployment'),
    before.filter(({ kind }) => kind !== 'Deployment'),
  )
  const { data } = find(after, 'Secret', /^gate-config/)
  const env = Object.fromEntries(is.containers[0].env.map(({ name, value }) => [name, value]))
  await serveWith(t, data ?? {}, env)
})

/** Starts Fairlead with files of a Secret, in the folder that it reads first of those that have them. */
async function serveWith(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  env: Record<string, string>,
): Promise<void> {
  const home = createHome(t)
  mkdirSync(join(home, 'config'))
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(home, 'config', name), Buffer.from(text, 'base64'))
  const { config } = await loadConfig({
    cwd: home,
    env: { ...env, SERVER_ADDRESS: '0.0.0.0' },
    homeDir: home,
    systemDir: home,
  })
  assert.equal(config.http.port, 8084)
  assert.equal(config.sessions.idleMs, 7_200_000)
  const redis = await startRedis(t)
  const clouddriver = await startUpstream(t, { 'GET /networks': '{}' })
  if (redis === undefined) return
  const services = { clouddriver: { baseUrl: clouddriver.url }, redis: { baseUrl: redis.url } }
  const gateway = startServe(
    t,
    { anonymous: { enabled: false }, services },
    { home, embedded: true, env },
  )
  const url = await gateway.listening
  await waitUntil(async () => (await fetch(`${url}/readyz`)).status === 200, 'readiness')
  const browser = new Browser(url)
  assert.equal(
    (await browser.login('operator', 'correct-horse-battery')).status,
    302,
    'gate-local.yml is read',
  )
  assert.equal((await browser.visit('/networks')).status, 200)
}

function pick(value: object, ...names: string[]): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)))
}

/** As the API server would create them, strictly, and without a warning about what pods may do. */
async function apply(
  t: TestContext,
  kubernetes: ControlPlane,
  manifests: readonly Manifest[],
): Promise<void> {
  const folder = createFolder('applied')
  t.after(() => removeFolder(folder))
  const namespace = await kubernetes.namespace()
  await kubernetes.kubectl(
    'label',
    'namespace',
    namespace,
    'pod-security.kubernetes.io/warn=restricted',
  )
  const file = join(folder, 'all.yml')
  const moved = manifests.map((each) => ({ ...each, metadata: { ...each.metadata, namespace } }))
  writeFileSync(file, moved.map((each) => stringify(each)).join('---\n'))
  const { stdout, stderr } = await kubernetes.kubectl(
    'apply',
    '--dry-run=server',
    '--validate=strict',
    '--filename',
    file,
  )
  assert.equal(stderr, '')
  assert.equal(stdout.trim().split('\n').length, manifests.length)
}

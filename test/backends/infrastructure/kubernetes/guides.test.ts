/** The guides about deploying to Kubernetes and about moving accounts, followed word for word on a real API server. */
import assert from 'node:assert/strict'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { fieldAt, type JsonObject, objectsOf } from '../../../../packages/base/json/values.ts'
import { runInBash } from '../../../support/bash.ts'
import { apiFunction, blocksOf, readGuide } from '../../../support/guide.ts'
import { type Instance, startInstance } from '../../../support/instance.ts'
import { type ControlPlane, startControlPlane } from '../../../support/kubernetes.ts'
import { needsKubernetes } from '../../../support/kubernetes-programs.ts'
import { program } from '../../../support/program.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const root = resolve(import.meta.dirname, '../../../..')
const password = 'correct-horse-battery'
const longestMs = 300_000
const definitions = `fairlead() { '${process.execPath}' '${program}' "$@"; }\nPASSWORD=${password}\n${apiFunction()}`

/** A folder that looks like a clone to the commands of a guide. */
interface Reader {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  /** @throws {Error} with what the commands wrote, when they fail */
  run(commands: string): Promise<string>
}

function createReader(t: TestContext, kubernetes: ControlPlane): Reader {
  const folder = createFolder('kubernetes-guide')
  t.after(() => removeFolder(folder))
  symlinkSync(join(root, 'examples'), join(folder, 'examples'))
  const programs = dirname(needsKubernetes(t)?.kubectl ?? '')
  const path = `${programs}:${process.env['PATH']}`
  const env = { ...process.env, PATH: path, HOME: folder, KUBECONFIG: kubernetes.kubeconfigFile() }
  return {
    folder,
    env,
    run: async (commands) => {
      const script = `set -o pipefail\n${definitions}\n${commands}`
      const { code, output, errors } = await runInBash(t, script, {
        cwd: folder,
        env,
        timeout: longestMs,
      })
      assert.equal(code, 0, `${commands}\n${output}\n${errors}`)
      return output
    },
  }
}

function start(t: TestContext, { folder }: Reader, config: string): Promise<Instance> {
  return startInstance(t, {
    command: `exec '${process.execPath}' '${program}' serve --config ${config}`,
    cwd: folder,
    env: { FAIRLEAD_ADMIN_PASSWORD: password },
  })
}

function sectionOf(guide: string, heading: string): string {
  const section = guide.split(/^## /m).find((part) => part.startsWith(heading))
  assert.ok(section, `the guide has a section ${heading}`)
  return section
}

const guide = readGuide('deploy-to-kubernetes')
const commandsOf = (heading: string) => blocksOf(sectionOf(guide, heading), 'bash')

test('the example has the manifests of its pipeline', () => {
  const read = (name: string) => readFileSync(join(root, 'examples/kubernetes', name), 'utf8')
  const pipeline = JSON.parse(read('pipeline.json').replace('${parameters.version}', '2.53')) as {
    stages: JsonObject[]
  }
  const manifests = parseAllDocuments(read('web.yml')).map((document) => document.toJS() as unknown)
  assert.deepEqual(fieldAt(pipeline.stages[0], 'manifests'), manifests)
})

test('the guide from a bare cluster to red/black works', { timeout: longestMs }, async (t) => {
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  for (const name of ['shop', 'fairlead'])
    t.after(() => kubernetes.api.delete(`/api/v1/namespaces/${name}`))
  const reader = createReader(t, kubernetes)

  const [access = ''] = commandsOf('1.')
  await reader.run(access)
  const kubeconfig = readFileSync(join(reader.folder, 'fairlead.kubeconfig'), 'utf8')
  assert.ok(!kubeconfig.includes(kubernetes.token()), 'the token of the administrator is gone')

  const [grant = ''] = commandsOf('2.')
  const examined = await reader.run(grant)
  assert.match(examined, /role.rbac.authorization.k8s.io\/fairlead created/)
  assert.match(examined, /my-cluster/)
  const [account = ''] = blocksOf(sectionOf(guide, '2.'), 'yaml')
  assert.ok(
    uncommented('examples/kubernetes/fairlead.yml').includes(account),
    'the guide shows the example',
  )

  const [serve = '', create = ''] = commandsOf('3.')
  const [, config = ''] =
    /^FAIRLEAD_ADMIN_PASSWORD=\S+ npm start -- --config (\S+)\n$/.exec(serve) ?? []
  const instance = await start(t, reader, config)
  const follow = (commands: string) =>
    reader.run(commands.replaceAll('localhost:8084', `127.0.0.1:${instance.port}`))
  const here = {
    ...reader,
    run: (commands: string) =>
      follow(
        `${apiFunction().replaceAll('localhost:8084', `127.0.0.1:${instance.port}`)}\n${commands}`,
      ),
  }
  await here.run(create)
  await followRest(here, kubernetes)
})

async function followRest({ run }: Reader, kubernetes: ControlPlane): Promise<void> {
  const [ship = ''] = commandsOf('4.')
  const shipped = (await run(ship)).trim().split('\n')
  assert.deepEqual(
    shipped.map((pod) => pod.replace(/-\w+$/, '')),
    ['pod/web-v000', 'pod/web-v000', 'pod/web-v001', 'pod/web-v001'],
  )
  const pods = await kubernetes.api.list('/api/v1/namespaces/shop/pods')
  assert.equal(pods.length, 4, 'the old version keeps its pods')

  const [rollBack = ''] = commandsOf('5.')
  assert.match(await run(rollBack), /pod\/web-v000/)

  const [plan = ''] = commandsOf('6.')
  const planned = JSON.parse(await run(plan)) as JsonObject[]
  assert.equal(planned[0]?.['change'], 'update')
  assert.match(JSON.stringify(planned[0]?.['fields']), /spec\.ports/)

  const [drift = ''] = commandsOf('7.')
  const drifted = await run(`${drift.replace('api /', 'echo; api /')}`)
  assert.match(drifted, /"manager":"kubectl-patch"/)
  assert.match(drifted, /spec\.ports\[name=http\]\.targetPort/)

  const [remove = ''] = commandsOf('Remove it')
  await run(remove)
}

/** Without its comments, which the guide spells out. */
function uncommented(file: string): string {
  return readFileSync(join(root, file), 'utf8').replaceAll(/ +#.*$|^#.*\n/gm, '')
}

/** As clouddriver deploys it: by `kubectl apply`, with its annotations and labels. */
function toDeployment(namespace: string, env: readonly JsonObject[]): JsonObject {
  const labels = {
    app: 'web',
    'app.kubernetes.io/name': 'shop',
    'app.kubernetes.io/managed-by': 'spinnaker',
  }
  const annotations = {
    'artifact.spinnaker.io/location': namespace,
    'artifact.spinnaker.io/name': 'web',
    'artifact.spinnaker.io/type': 'kubernetes/deployment',
    'artifact.spinnaker.io/version': '',
    'moniker.spinnaker.io/application': 'shop',
    'moniker.spinnaker.io/cluster': 'deployment web',
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace, labels, annotations },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels, annotations },
        spec: { containers: [{ name: 'main', image: 'app:1', env }] },
      },
    },
  }
}

const [both, one] = [
  [
    { name: 'A', value: '1' },
    { name: 'B', value: '2' },
  ],
  [{ name: 'A', value: '1' }],
] as const

test('an account moves with its pipelines, and back', { timeout: longestMs }, async (t) => {
  const kubernetes = await startControlPlane(t)
  if (kubernetes === undefined) return
  const move = readGuide('move-kubernetes-accounts')
  const blocks = (heading: string) => blocksOf(sectionOf(move, heading), 'bash')
  const namespace = await kubernetes.namespace('move')
  const reader = createReader(t, kubernetes)
  const account = {
    name: 'prod',
    kubeconfigFile: kubernetes.kubeconfigFile(),
    namespaces: [namespace],
  }
  writeFileSync(
    join(reader.folder, 'account.yml'),
    JSON.stringify({ kubernetes: { enabled: true, accounts: [account] } }),
  )
  // Another one plays the Spinnaker: the paths are the same.
  const spinnaker = await start(t, reader, 'account.yml')
  const fairlead = await start(t, reader, 'account.yml')
  const [old = ''] = blocksOf(move, 'bash')
  const opening = `${apiFunction().replaceAll('localhost:8084', `127.0.0.1:${fairlead.port}`)}
${old.replace('https://gate.example', spinnaker.url).replace('Bearer $SPINNAKER_TOKEN', `Basic ${btoa(`admin:${password}`)}`)}`
  const run = (commands: string) => reader.run(`${opening}\n${commands}`)
  const apply = async (env: readonly JsonObject[]) => {
    writeFileSync(join(reader.folder, 'web.json'), JSON.stringify(toDeployment(namespace, env)))
    await reader.run('kubectl apply --filename web.json')
  }
  const [copy = ''] = blocks('2.')
  const [compare = ''] = blocks('3.')
  const [enable = ''] = blocks('4.')
  const [back = ''] = blocks('5.')
  const shop = copy.split('\n')[0] ?? ''

  await apply(both)
  await run(`api() { old "$@"; }\n${createApplication}`)
  await run(
    `old /pipelines --header 'Content-Type: application/json' --data '${JSON.stringify(pipelineWith(namespace))}'`,
  )
  await run(copy)
  await run(`${shop}\n${compare}`)
  await run(`${shop}\n${enable}`)
  await run(deployOnce)

  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/web`
  const envOf = async () => {
    const { spec } = await kubernetes.api.get(path)
    return objectsOf(fieldAt(spec, 'template', 'spec', 'containers'))[0]?.['env']
  }
  assert.deepEqual(await envOf(), one, 'what the manifest has dropped is removed')
  assert.match(await run('api /applications/shop/pipelineConfigs'), /deploy-of-spinnaker/)

  await run(`${shop}\n${back}`)
  await apply(both)
  assert.deepEqual(await envOf(), both)
  await apply(one)
  assert.deepEqual(await envOf(), one, 'kubectl finds what it has applied')
  await waitUntil(
    async () => (await run('api /applications/shop/drift')).includes('kubectl'),
    'the drift in Fairlead',
  )
})

const createApplication = `api /tasks --header 'Content-Type: application/json' --data '{"application": "shop", "description": "Create",
  "job": [{"type": "createApplication", "application": {"name": "shop", "email": "you@example.com"}}]}'
until api /applications/shop >/dev/null 2>&1; do sleep 0.2; done`

const deployOnce = `execution=$(api /pipelines/shop/deploy --request POST | sed -n 's/.*"ref" *: *"\\([^"]*\\)".*/\\1/p')
until api "/applications/shop/pipelines?statuses=SUCCEEDED,TERMINAL" | grep -q "\${execution##*/}"; do sleep 0.2; done
api "/applications/shop/pipelines?statuses=SUCCEEDED" | grep -q "\${execution##*/}"`

function pipelineWith(namespace: string): JsonObject {
  const stage = {
    refId: '1',
    requisiteStageRefIds: [],
    type: 'deployManifest',
    name: 'Deploy',
    cloudProvider: 'kubernetes',
    account: 'prod',
    source: 'text',
    moniker: { app: 'shop' },
    manifests: [toDeployment(namespace, one)],
  }
  return {
    application: 'shop',
    id: 'deploy-of-spinnaker',
    name: 'deploy',
    stages: [stage],
    triggers: [],
  }
}

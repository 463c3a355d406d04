/** Shapes of published products: deployed side by side as `kubectl apply --server-side` does it, and deleted without a rest. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  fieldAt,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
} from '../../../../packages/base/json/values.ts'
import { parseYamlStream } from '../../../../packages/base/json/yaml.ts'
import { manifestsOf } from '../../../../packages/providers/kubernetes/manifests/input.ts'
import type { ControlPlane } from '../../../support/kubernetes.ts'
import { type Ended, type Platform, startPlatform } from '../../../support/kubernetes-platform.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { waitFor, waitUntil } from '../../../support/wait-until.ts'

const folder = join(import.meta.dirname, 'gallery')
const home = createFolder('gallery')
after(() => removeFolder(home))

interface Product {
  readonly name: string
  readonly manifests: readonly JsonObject[]
}

const products: readonly Product[] = readdirSync(folder)
  .sort()
  .map((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    const manifests = parseYamlStream(text, { version: '1.1', merges: true })
    return { name: file.replace(/\.yml$/, ''), manifests: manifestsOf({ manifests }) }
  })
const all = products.flatMap(({ manifests }) => manifests)

/** Config maps and secrets that get the names of versions, by product; all others keep theirs. */
const renamed: Readonly<Record<string, readonly string[]>> = {
  grafana: ['grafana-admin', 'grafana-ini'],
  'kafka-ui': ['kafka-ui', 'kafka-ui'],
  'kube-prometheus': ['grafana-config', 'grafana-dashboard-nodes', 'grafana-dashboard-pods'],
  loki: ['loki', 'loki-nginx', 'loki-runtime'],
  redis: ['redis', 'redis-config', 'redis-scripts'],
  strimzi: ['strimzi-log'],
}

/** What no controller here can do, by product; the API of one is never served. */
const said: Readonly<Record<string, RegExp>> = {
  flux: /'(?:GitRepository|Kustomization)\S* flux-system' .*No controller acts on it/,
  'ingress-nginx': /No controller assigned an address/,
  istio: /'horizontalpodautoscaler istiod' .*No controller scales its target/,
  'metrics-server': /'apiService v1beta1.metrics.k8s.io' .*Available is False/,
}
const ends: Readonly<Record<string, string>> = { 'metrics-server': 'TERMINAL' }

test('objects-scenario 128 products are deployed as kubectl does it, and go without a rest', async (t) => {
  const platform = await startPlatform(t, {
    accounts: (kubeconfigFile) => [{ name: 'bound', kubeconfigFile }],
    settings: {
      'kubernetes.health': {
        ...{ 'grace-seconds': 20, 'first-status-seconds': 4, 'unattended-seconds': 4 },
      },
    },
  })
  if (platform === undefined) return
  const { plane } = platform
  const wanted = await appliedByKubectl(plane)
  const [deployed] = await Promise.all([
    Promise.all(products.map((product) => deploy(platform, product))),
    countQuotas(plane),
  ])
  const found = await read(plane, deployed)
  await injectCertificates(plane)
  let first = 0
  for (const { name, manifests, execution, versions } of deployed) {
    const [start, end] = [first, first + manifests.length]
    first = end
    await t.test(name, () => {
      assert.deepEqual(versions.map((each) => each['name']).sort(), renamed[name] ?? [])
      assert.deepEqual(found.slice(start, end), wanted.slice(start, end))
      const messages = execution.stages.map(({ context }) => context['messages'])
      assert.match(JSON.stringify(messages), said[name] ?? /./)
    })
  }
  await t.test('nothing drifts', async () => {
    assert.deepEqual(await platform.read('/applications/shop/drift?account=bound'), [])
  })
  await t.test('all of it is deleted', () => removeAll(platform))
})

interface Deployed extends Product, Pick<Ended, 'execution'> {
  readonly versions: readonly JsonObject[]
}

async function deploy(platform: Platform, { name, manifests }: Product): Promise<Deployed> {
  const job = { type: 'deployManifest', account: 'bound', source: 'text', name, manifests }
  const ended = await platform.run({ ...job, moniker: { app: 'shop' } }, ends[name])
  const outputs = objectOf(ended.execution.stages[0]?.outputs ?? ended.variables)
  const created = objectsOf(outputs['outputs.createdArtifacts'])
  return {
    ...{ name, manifests, execution: ended.execution },
    versions: created.filter(({ version }) => version !== ''),
  }
}

/** What kubectl makes of all; it is deleted again. */
async function appliedByKubectl(plane: ControlPlane): Promise<readonly unknown[]> {
  let problem: unknown
  const apply = () =>
    plane.kubectl('apply', '--server-side', '-f', folder).catch((error: unknown) => {
      problem = error
    })
  // Definitions are served a moment after they are created.
  await waitFor(apply, () => `kubectl to apply all products: ${String(problem)}`)
  const found = await read(plane, products)
  await plane.kubectl('delete', '--ignore-not-found', '--grace-period=0', '-f', folder)
  return found
}

/** As the controller of quotas does it, without which no pod is admitted. */
async function countQuotas({ api }: ControlPlane): Promise<void> {
  for (const { kind, metadata, spec } of all) {
    if (kind !== 'ResourceQuota') continue
    const { namespace, name } = objectOf(metadata)
    const path = `/api/v1/namespaces/${String(namespace)}/resourcequotas/${String(name)}`
    await waitUntil(async () => (await api.find(path)) !== undefined, path)
    const { hard } = objectOf(spec)
    await api.patch(`${path}/status`, { status: { hard, used: { pods: '0' } } }, 'merge')
  }
}

/** As cert-manager and the products themselves do it. */
async function injectCertificates({ api, caFile }: ControlPlane): Promise<void> {
  const value = readFileSync(caFile).toString('base64')
  for (const { kind, metadata } of all) {
    if (!String(kind).endsWith('WebhookConfiguration')) continue
    const path = `/apis/admissionregistration.k8s.io/v1/${String(kind).toLowerCase()}s`
    const patch = [{ op: 'add', path: '/webhooks/0/clientConfig/caBundle', value }]
    await api.patch(`${path}/${String(objectOf(metadata)['name'])}`, patch, 'json')
  }
}

/** Also what a job without labels copies from its pods. */
const ours =
  /job-name$|controller-uid$|^(?:artifact|moniker)\.spinnaker\.io\/|^app\.kubernetes\.io\/(?:name|managed-by)$|last-applied-configuration$|^fairlead\/|^deployment\.kubernetes\.io\//

/** Objects as they are, without what servers and Fairlead note, and with the names of the request. */
async function read(
  plane: ControlPlane,
  of: readonly (Product & { readonly versions?: readonly JsonObject[] })[],
): Promise<readonly unknown[]> {
  const items = of.flatMap(({ manifests, versions = [] }) =>
    manifests.map((manifest) => {
      const { apiVersion, kind } = manifest
      const { name, namespace } = objectOf(manifest['metadata'])
      const type = `kubernetes/${String(kind)}`.toLowerCase()
      const version = versions.find(
        (each) => each['name'] === name && String(each['type']).toLowerCase() === type,
      )
      return { apiVersion, kind, metadata: { name: version?.['reference'] ?? name, namespace } }
    }),
  )
  const file = join(home, 'objects.json')
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  const { stdout } = await plane.kubectl('get', '-f', file, '-o', 'json')
  const found = objectsOf(objectOf(JSON.parse(stdout))['items']).map(cleaned)
  const text = of
    .flatMap(({ versions = [] }) => versions)
    .reduce(
      (shown, { reference, name }) =>
        shown.replaceAll(`"${String(reference)}"`, `"${String(name)}"`),
      JSON.stringify(found),
    )
  return JSON.parse(text) as unknown[]
}

const servers = [
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'generation',
  'managedFields',
  'ownerReferences',
  'finalizers',
]

function cleaned(object: JsonObject): JsonObject {
  const { status: _status, ...rest } = object
  const spec = objectOf(rest['spec'])
  const template = objectOf(spec['template'])
  const { clusterIP, clusterIPs, healthCheckNodePort, ports, ...fields } = spec
  return {
    ...rest,
    metadata: withoutNotes(objectOf(rest['metadata'])),
    ...(rest['spec'] !== undefined && {
      spec: {
        ...fields,
        ...(clusterIP === 'None' && { clusterIP, clusterIPs }),
        ...(ports !== undefined && {
          ports: objectsOf(ports).map(({ nodePort, ...port }) => port),
        }),
        ...(spec['selector'] !== undefined && { selector: withoutUid(spec['selector']) }),
        ...(spec['template'] !== undefined && {
          template: { ...template, metadata: withoutNotes(objectOf(template['metadata'])) },
        }),
      },
    }),
  }
}

/** Selectors and labels of jobs have the id of the job. */
function withoutUid(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll(/"[0-9a-f]{8}-[0-9a-f-]{27}"/g, '"uid"'))
}

function withoutNotes(metadata: JsonObject): JsonObject {
  const own = Object.entries(metadata).flatMap(([key, value]) => {
    if (servers.includes(key)) return []
    if (key !== 'annotations' && key !== 'labels') return [[key, value] as const]
    const kept = Object.entries(objectOf(value)).filter(([name]) => !ours.test(name))
    return kept.length === 0 ? [] : [[key, withoutUid(Object.fromEntries(kept))] as const]
  })
  return Object.fromEntries(own)
}

/** By labels, as a stage does it: all that the application has there. */
async function removeAll({ run, plane }: Platform): Promise<void> {
  const namespaceOf = (manifest: JsonObject) =>
    textOf(fieldAt(manifest, 'metadata', 'namespace')) ?? ''
  const kindOf = ({ kind, apiVersion }: JsonObject) => {
    const group = String(apiVersion).replace(/\/?v\d\w*$/, '')
    return group === '' ? String(kind) : `${String(kind)}.${group}`
  }
  const kindsIn = (manifests: readonly JsonObject[]) => [...new Set(manifests.map(kindOf))]
  const selectors = [{ kind: 'EQUALS', key: 'app.kubernetes.io/managed-by', values: ['spinnaker'] }]
  const remove = ([location, manifests]: readonly [string, readonly JsonObject[]]) => {
    const stage = { type: 'deleteManifest', account: 'bound', mode: 'label', location }
    return run({ ...stage, kinds: kindsIn(manifests), labelSelectors: { selectors } })
  }
  const { '': clusterWide = [], ...namespaced } = Object.groupBy(all, namespaceOf)
  await Promise.all(Object.entries(namespaced).map(([name, each = []]) => remove([name, each])))
  await remove(['', clusterWide])
  // The kinds of definitions are gone with them.
  const kinds = kindsIn(all).filter((kind) => /^\w+(?:\.\w+)?$|\.k8s\.io$/.test(kind))
  let left = ''
  await waitUntil(
    async () => {
      const labels = ['-l', 'app.kubernetes.io/managed-by=spinnaker', '-o', 'name']
      left = (await plane.kubectl('get', kinds.join(','), '--all-namespaces', ...labels)).stdout
      return left === ''
    },
    () => `nothing to be left, not ${left}`,
  )
}

/** Shapes of published products: deployed by a stage as `kubectl apply --server-side` does, and deleted without a rest. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  fieldAt,
  type JsonObject,
  objectOf,
  objectsOf,
} from '../../../../packages/base/json/values.ts'
import { parseYamlStream } from '../../../../packages/base/json/yaml.ts'
import { manifestsOf } from '../../../../packages/providers/kubernetes/manifests/input.ts'
import type { ControlPlane } from '../../../support/kubernetes.ts'
import { startPlatform } from '../../../support/kubernetes-platform.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'
import { waitFor, waitUntil } from '../../../support/wait-until.ts'

const folder = join(import.meta.dirname, 'gallery')
const home = createFolder('gallery')
after(() => removeFolder(home))

/** Config maps and secrets that get the names of versions, by product; all others keep theirs. */
const renamed: Readonly<Record<string, readonly string[]>> = {
  'kafka-ui': ['kafka-ui', 'kafka-ui'],
  'kube-prometheus': ['grafana-config', 'grafana-dashboard-nodes', 'grafana-dashboard-pods'],
  redis: ['redis', 'redis-config', 'redis-scripts'],
  strimzi: ['strimzi-log'],
}

test('objects-scenario 128 products are deployed as kubectl does it, and go without a rest', async (t) => {
  const platform = await startPlatform(t, {
    accounts: (kubeconfigFile) => [{ name: 'bound', kubeconfigFile }],
  })
  if (platform === undefined) return
  const { plane } = platform
  for (const file of readdirSync(folder).sort()) {
    const product = file.replace(/\.yml$/, '')
    await t.test(product, async () => {
      const text = readFileSync(join(folder, file), 'utf8')
      const manifests = manifestsOf({
        manifests: parseYamlStream(text, { version: '1.1', merges: true }),
      })
      const wanted = await appliedByKubectl(plane, file, manifests)

      const { execution, variables } = await platform.pipeline([
        {
          type: 'deployManifest',
          name: product,
          account: 'bound',
          cloudProvider: 'kubernetes',
          source: 'text',
          moniker: { app: 'shop' },
          manifests,
        },
      ])

      const outputs = objectOf(execution.stages[0]?.outputs ?? variables)
      const versions = objectsOf(outputs['outputs.createdArtifacts']).filter(
        ({ version }) => version !== '',
      )
      assert.deepEqual(versions.map(({ name }) => name).sort(), renamed[product] ?? [])
      assert.deepEqual(await read(plane, manifests, versions), wanted)
      await removeAll(platform, manifests)
    })
  }
})

type Platform = NonNullable<Awaited<ReturnType<typeof startPlatform>>>

/** What kubectl makes of it; it is deleted again. */
async function appliedByKubectl(
  plane: ControlPlane,
  file: string,
  manifests: readonly JsonObject[],
): Promise<unknown> {
  const path = join(folder, file)
  const apply = () => plane.kubectl('apply', '--server-side', '-f', path).catch(() => undefined)
  // Definitions are served a moment after they are created.
  await waitFor(apply, `kubectl to apply ${file}`)
  const found = await read(plane, manifests, [])
  await plane.kubectl('delete', '--ignore-not-found', '--grace-period=0', '-f', path)
  return found
}

/** Also what a job without labels copies from its pods. */
const ours =
  /job-name$|controller-uid$|^(?:artifact|moniker)\.spinnaker\.io\/|^app\.kubernetes\.io\/(?:name|managed-by)$|last-applied-configuration$|^fairlead\/|^deployment\.kubernetes\.io\//

/** Objects as they are, without what servers and Fairlead note, and with the names of the request. */
async function read(
  plane: ControlPlane,
  manifests: readonly JsonObject[],
  versions: readonly JsonObject[],
): Promise<unknown> {
  const items = manifests.map((manifest) => {
    const { apiVersion, kind } = manifest
    const { name, namespace } = objectOf(manifest['metadata'])
    const type = `kubernetes/${String(kind)}`.toLowerCase()
    const version = versions.find(
      (each) => each['name'] === name && String(each['type']).toLowerCase() === type,
    )
    return { apiVersion, kind, metadata: { name: version?.['reference'] ?? name, namespace } }
  })
  const file = join(home, 'objects.json')
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  const { stdout } = await plane.kubectl('get', '-f', file, '-o', 'json')
  const found = objectsOf(objectOf(JSON.parse(stdout))['items']).map(cleaned)
  const text = versions.reduce(
    (shown, { reference, name }) => shown.replaceAll(`"${String(reference)}"`, `"${String(name)}"`),
    JSON.stringify(found),
  )
  return JSON.parse(text)
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
async function removeAll(platform: Platform, manifests: readonly JsonObject[]): Promise<void> {
  const { plane } = platform
  const isNamespaced = (manifest: JsonObject) =>
    fieldAt(manifest, 'metadata', 'namespace') !== undefined
  const kindOf = ({ kind, apiVersion }: JsonObject) => {
    const group = String(apiVersion).replace(/\/?v\d\w*$/, '')
    return group === '' ? String(kind) : `${String(kind)}.${group}`
  }
  const selectors = [{ kind: 'EQUALS', key: 'app.kubernetes.io/managed-by', values: ['spinnaker'] }]
  const namespaces = new Set(
    manifests.filter(isNamespaced).map((each) => String(fieldAt(each, 'metadata', 'namespace'))),
  )
  for (const location of namespaces) {
    const kinds = [...new Set(manifests.filter(isNamespaced).map(kindOf))]
    await platform.run({
      type: 'deleteManifest',
      account: 'bound',
      cloudProvider: 'kubernetes',
      mode: 'label',
      location,
      kinds,
      labelSelectors: { selectors },
    })
  }
  const kinds = [...new Set(manifests.filter((each) => !isNamespaced(each)).map(kindOf))]
  await platform.run({
    type: 'deleteManifest',
    account: 'bound',
    cloudProvider: 'kubernetes',
    mode: 'label',
    location: '',
    kinds,
    labelSelectors: { selectors },
  })
  for (const kind of kinds) {
    await waitUntil(async () => {
      const { stdout } = await plane
        .kubectl('get', kind, '-l', 'app.kubernetes.io/managed-by=spinnaker', '-o', 'name')
        .catch(() => ({ stdout: '' }))
      return stdout === ''
    }, `the end of every ${kind}`)
  }
}

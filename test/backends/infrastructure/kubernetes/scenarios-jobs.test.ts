/** Jobs, artifacts of live objects and bakes, over the public paths of a gateway. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fieldAt, type JsonObject, objectsOf } from '../../../../packages/base/json/values.ts'
import { pathTo } from '../../../../packages/base/net/encode-path.ts'
import { configMap, deployment, job } from '../../../support/kubernetes-manifests.ts'
import type { Place } from '../../../support/kubernetes-place.ts'
import { type Platform, startPlatform } from '../../../support/kubernetes-platform.ts'
import { embedded, packFiles } from '../../../support/manifest-bakery.ts'
import { createFolder, removeFolder } from '../../../support/temporary-folder.ts'

/** As the web UI stores it. */
function jobStage(place: Place, manifest: JsonObject, fields: JsonObject = {}): JsonObject {
  const metadata = { namespace: place.namespace, ...(manifest['metadata'] as JsonObject) }
  return {
    type: 'runJobManifest',
    alias: 'runJob',
    source: 'text',
    manifest: { ...manifest, metadata },
    ...fields,
  }
}

function printing(...lines: readonly string[]) {
  return { podAnnotations: { 'test.fairlead/log': lines.join('\n') } }
}

const nightly = {
  type: 'nightly',
  label: 'Nightly',
  cloudProvider: 'kubernetes',
  account: 'k8s',
  credentials: 'k8s',
  application: 'shop',
  parameters: [
    {
      ...{ name: 'LEVEL', label: 'Level', type: 'string', defaultValue: 'low', order: 0 },
      mapping: 'manifest.spec.template.spec.containers[0].env[0].value',
    },
  ],
}

const cases: Record<string, (platform: Platform, place: Place) => Promise<void>> = {
  'kubernetes-scenario 99, 101: a job runs to its end, and again': async ({ pipeline }, place) => {
    const uids: string[] = []
    for (let count = 0; count < 2; count++) {
      const { execution } = await pipeline([jobStage(place, job('run', 0))])
      const { context } = execution.stages[0] ?? {}
      assert.deepEqual(context?.['deploy.jobs'], { [place.namespace]: ['job run'] })
      const status = context?.['jobStatus']
      assert.equal(fieldAt(status, 'jobState'), 'Succeeded')
      const [pod] = objectsOf(fieldAt(status, 'pods'))
      assert.match(String(pod?.['name']), /^run-/)
      assert.equal(fieldAt(status, 'mostRecentPodName'), pod?.['name'])
      uids.push((await place.get('jobs/run')).metadata.uid)
    }
    assert.notEqual(uids[0], uids[1])
  },
  'kubernetes-scenario 100: a failed job says how it ended': async ({ pipeline, read }, place) => {
    const { error } = await pipeline([jobStage(place, job('run', 3))], {}, 'TERMINAL')
    assert.match(error, /Job: 'run' failed\..*'main' exited with code: 3/)
    const status = await read(pathTo`/applications/shop/jobs/k8s/${place.namespace}/${'job run'}`)
    assert.equal(status['jobState'], 'Failed')
  },
  'kubernetes-scenario 102: properties of a job become outputs': async ({ pipeline }, place) => {
    const lines = ['starts', 'SPINNAKER_PROPERTY_COLOR=blue', 'SPINNAKER_CONFIG_JSON={"size": 3}']
    const { execution } = await pipeline([
      jobStage(place, job('run', 0, printing(...lines)), { propertyFile: 'main' }),
    ])
    const { outputs } = execution.stages[0] ?? {}
    assert.partialDeepStrictEqual(outputs, {
      color: 'blue',
      size: 3,
      propertyFileContents: { color: 'blue', size: 3 },
    })
    const silent = jobStage(place, job('silent', 0, printing('starts')), { propertyFile: 'main' })
    const { error } = await pipeline([silent], {}, 'TERMINAL')
    assert.match(error, /container "main".* printed no properties/)
  },
  'kubernetes-scenario 103: a stage need not wait, and takes exactly one job': async (
    { pipeline },
    place,
  ) => {
    await pipeline([jobStage(place, job('run', undefined), { waitForCompletion: false })])
    assert.equal((await place.get('jobs/run')).status['succeeded'], undefined)
    const wrong = await pipeline([jobStage(place, deployment('web'))], {}, 'TERMINAL')
    assert.match(wrong.error, /deployment web is no job/)
    const stage = jobStage(place, job('run', 0))
    const two = await pipeline(
      [{ ...stage, manifest: [stage['manifest'], stage['manifest']] }],
      {},
      'TERMINAL',
    )
    assert.match(two.error, /2 documents/)
    assert.deepEqual(await place.names('deployments'), [])
  },
  'kubernetes-scenario 104: a cancelled stage stops its job': async (
    { ask, begin, finish, until },
    place,
  ) => {
    const id = await begin([jobStage(place, job('run', undefined))])
    await until(`/pipelines/${id}`, ({ stages }) => {
      return fieldAt(objectsOf(stages)[0]?.['context'], 'jobStatus', 'jobState') === 'Running'
    })
    assert.equal((await ask('PUT', `/pipelines/${id}/cancel`)).status, 200)
    const { execution } = await finish(id, 'CANCELED')
    assert.equal(execution.stages[0]?.status, 'CANCELED')
    await place.gone('jobs')
    await place.gone('pods')
  },
  'kubernetes-scenario 105: a job of the configuration takes parameters': async (
    { ask, pipeline, read },
    place,
  ) => {
    const listed = await read<JsonObject[]>('/jobs/preconfigured')
    assert.ok(listed.some(({ type }) => type === 'nightly'))
    const levelOf = async () => {
      const { spec } = await place.get('jobs/nightly')
      const [container] = objectsOf(fieldAt(spec, 'template', 'spec', 'containers'))
      return objectsOf(container?.['env'])[0]?.['value']
    }
    const dynamicParameters = { 'manifest.metadata.namespace': place.namespace }
    await pipeline([{ type: 'nightly', parameters: { LEVEL: 'high' }, dynamicParameters }])
    assert.equal(await levelOf(), 'high')
    await pipeline([{ type: 'nightly', dynamicParameters }])
    assert.equal(await levelOf(), 'low')
    assert.equal((await ask('GET', '/jobs/preconfigured')).status, 200)
  },
  'kubernetes-scenario 106: artifacts of a live object are found': async ({ pipeline }, place) => {
    const pod = { volumes: [{ name: 'conf', configMap: { name: 'conf' } }] }
    await place.deploy([
      configMap('conf', { a: '1' }),
      deployment('web', 'reg.test/app:1', 0, { pod }),
    ])
    const find = (manifestName: string) => ({
      type: 'findArtifactsFromResource',
      manifestName,
      location: place.namespace,
    })
    const stage = { account: 'k8s', cloudProvider: 'kubernetes', ...find('deployment web') }
    const { execution } = await pipeline([stage])
    const { outputs } = execution.stages[0] ?? {}
    assert.equal(
      fieldAt(outputs?.['manifest'], 'metadata', 'uid'),
      (await place.get('deployments/web')).metadata.uid,
    )
    const found = objectsOf(outputs?.['artifacts']).map(({ type, name, reference }) => [
      type,
      name,
      reference,
    ])
    assert.deepEqual(found.sort(), [
      ['docker/image', 'reg.test/app', 'reg.test/app:1'],
      ['kubernetes/configMap', 'conf-v000', 'conf-v000'],
    ])
    const { error } = await pipeline(
      [{ ...stage, manifestName: 'deployment none' }],
      {},
      'TERMINAL',
    )
    assert.match(error, /deployment none was not found/)
  },
  'kubernetes-scenario 107: a baked chart is deployed': async ({ pipeline }, place) => {
    const chart = await packFiles({
      'web/Chart.yaml': 'name: web\n',
      'web/templates/a.yaml': 'kind: ConfigMap\n',
    })
    const bake = {
      type: 'bakeManifest',
      ...{ templateRenderer: 'HELM3', outputName: 'web', namespace: place.namespace },
      inputArtifacts: [{ artifact: embedded(chart), account: 'embedded-artifact' }],
      expectedArtifacts: [
        { id: 'baked', matchArtifact: { type: 'embedded/base64', name: 'rendered' } },
      ],
    }
    const deploy = { type: 'deployManifest', source: 'artifact', moniker: { app: 'shop' } }
    const { execution } = await pipeline([
      bake,
      { ...deploy, manifestArtifactId: 'baked', manifestArtifactAccount: 'embedded-artifact' },
    ])
    assert.equal(
      objectsOf(execution.stages[0]?.context['artifacts'])[0]?.['type'],
      'embedded/base64',
    )
    assert.deepEqual((await place.get('configmaps/baked-v000'))['data'], { color: 'blue' })
  },
  'kubernetes-scenario 108: expressions read what was deployed': async ({ pipeline }, place) => {
    const data = {
      name: '${ #stage("Deploy").outputs["outputs.manifests"][0].metadata.name }',
      label: '${ #manifestLabelValue("Deploy", "Deployment", "app") }',
    }
    await pipeline([
      place.stage([deployment('web', 'app:1', 0)], { name: 'Deploy' }),
      place.stage([configMap('conf', data)], { name: 'Tell' }),
    ])
    assert.deepEqual((await place.get('configmaps/conf-v000'))['data'], {
      name: 'web',
      label: 'web',
    })
  },
  'a job that has run out of time is stopped': async ({ pipeline }, place) => {
    const stage = jobStage(place, job('run', undefined), {
      overrideTimeout: true,
      stageTimeoutMs: 1500,
    })
    await pipeline([stage], {}, 'TERMINAL')
    await place.gone('jobs')
  },
}

test('jobs and artifacts', { concurrency: 4 }, async (t) => {
  const folder = createFolder('helm')
  t.after(() => removeFolder(folder))
  const helm = join(folder, 'helm3')
  const rendered = `kind: ConfigMap\napiVersion: v1\nmetadata: {name: baked, namespace: "$namespace"}\ndata: {color: blue}`
  const script = `for each in "$@"; do case $each in --namespace=*) namespace=\${each#*=};; esac; done\ncat <<END\n${rendered}\nEND`
  writeFileSync(helm, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const level = { container: { env: [{ name: 'LEVEL', value: '' }] } }
  const platform = await startPlatform(t, {
    settings: {
      bakery: { manifests: { helm3: helm } },
      job: { preconfigured: { kubernetes: [{ ...nightly, manifest: job('nightly', 0, level) }] } },
    },
  })
  if (platform === undefined) return
  await Promise.all(
    Object.entries(cases).map(([title, run]) =>
      t.test(title, async () => run(platform, await platform.place())),
    ),
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SettingsReport } from '../../../../packages/base/settings/setting.ts'
import {
  manifestKeys,
  toManifestSettings,
} from '../../../../packages/engine/orchestration/settings.ts'
import { at, createClock } from '../support.ts'
import { errorOf, operationNames, place, startRig } from './support.ts'

type Fields = Record<string, unknown>

const run = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'run', namespace: 'n1' } }
const job = {
  type: 'runJobManifest',
  alias: 'runJob',
  ...place,
  source: 'text',
  manifest: run,
  application: 'shop',
}
const path = '/applications/shop/jobs/k8s/n1/job%20run'
const succeeded = {
  name: 'run',
  jobState: 'Succeeded',
  pods: [{ name: 'run-1', status: { phase: 'Succeeded' } }],
  completionDetails: { exitCode: '0' },
}

test('a job runs to its end', async (t) => {
  const { service, run: runJobs } = await startRig(t)
  let reads = 0
  service.scripted.set(`GET ${path}`, () => ({
    status: 200,
    body: ++reads < 2 ? { jobState: 'Running' } : succeeded,
  }))
  const { stages } = await runJobs(job)
  const [[name, sent]] = service.operations as [[string, Fields]]
  assert.deepEqual(
    [name, sent['manifest'], sent['application'], sent['source']],
    ['runJob', run, 'shop', 'text'],
  )
  assert.deepEqual(
    stages[0]?.tasks.map((task) => task.name),
    ['resolveRunJobSource', 'runJob', 'monitorDeploy', 'promoteOutputs', 'waitOnJobCompletion'],
  )
  assert.deepEqual(stages[0]?.context['deploy.jobs'], { n1: ['job run'] })
  assert.deepEqual(stages[0]?.context['jobStatus'], succeeded)
  assert.deepEqual(stages[0]?.outputs['completionDetails'], { exitCode: '0' })
})

test('all names of the stage type run a job on Kubernetes', async (t) => {
  const { service, run: runJobs } = await startRig(t)
  const settings = { ...job, waitForCompletion: false }
  const { cloudProvider: _provider, ...withoutProvider } = settings
  await runJobs({ ...settings, type: 'runJob', alias: undefined })
  await runJobs({ ...settings, type: 'runJob_kubernetes', alias: undefined })
  await runJobs({ ...withoutProvider, alias: undefined })
  await runJobs(withoutProvider)
  assert.equal(service.operations.length, 4)
})

test('a failed job ends the stage and says why', async (t) => {
  const { service, run: runJobs } = await startRig(t)
  const failureDetails = { pod: 'run-1', container: 'main', exitCode: 3, reason: 'Error' }
  const body = {
    name: 'run',
    jobState: 'Failed',
    reason: 'BackoffLimitExceeded',
    message: 'Too many failures.',
    failureDetails,
  }
  service.scripted.set(`GET ${path}`, () => ({ status: 200, body }))
  const failed = await runJobs({ ...job, propertyFile: 'main' }, 'TERMINAL')
  assert.equal(
    errorOf(failed),
    "Job: 'run' failed. BackoffLimitExceeded Too many failures. pod run-1, container main: exit code 3, Error.",
  )
  assert.deepEqual(failed.stages[0]?.context['jobStatus'], body)
})

test('properties of a container become outputs', async (t) => {
  const { service, run: runJobs } = await startRig(t)
  service.scripted.set(`GET ${path}`, () => ({ status: 200, body: succeeded }))
  service.scripted.set(`GET ${path}/main`, () => ({
    status: 200,
    body: { color: 'blue', size: 3 },
  }))
  const { stages } = await runJobs({ ...job, propertyFile: 'main' })
  const [color, size, all] = ['color', 'size', 'propertyFileContents'].map(
    (key) => stages[0]?.outputs[key],
  )
  assert.deepEqual([color, size, all], ['blue', 3, { color: 'blue', size: 3 }])
  const pods = '/applications/shop/kubernetes/pods/k8s/n1/run-1/side'
  service.scripted.set(`GET ${pods}`, () => ({ status: 200, body: { color: 'red' } }))
  assert.equal(
    at((await runJobs({ ...job, propertyFile: 'side' })).stages[0], 'outputs', 'color'),
    'red',
  )
  assert.match(
    errorOf(await runJobs({ ...job, propertyFile: 'none' }, 'TERMINAL')),
    /"none" of the job printed no properties/,
  )
})

test('an artifact can hand JSON to later stages', async (t) => {
  const { service, run: runJobs } = await startRig(t)
  service.scripted.set(`GET ${path}`, () => ({ status: 200, body: succeeded }))
  const consumeArtifact = {
    type: 'embedded/base64',
    reference: Buffer.from('{"answer": 42}').toString('base64'),
  }
  const { stages } = await runJobs({ ...job, consumeArtifactSource: 'artifact', consumeArtifact })
  assert.equal(stages[0]?.outputs['answer'], 42)
})

test('a job may end on its own', async (t) => {
  const { run: runJobs } = await startRig(t)
  const { stages } = await runJobs({ ...job, waitForCompletion: 'false' })
  assert.deepEqual(stages[0]?.context['deploy.jobs'], { n1: ['job run'] })
})

test('two documents are no job', async (t) => {
  const { service, run: runJobs } = await startRig(t)
  assert.match(
    errorOf(await runJobs({ ...job, manifest: [run, run] }, 'TERMINAL')),
    /has 2 documents and runs exactly one/,
  )
  assert.deepEqual(service.operations, [])
  service.results.set('runJob', { deployedNamesByLocation: { n1: ['job a', 'job b'] } })
  assert.match(errorOf(await runJobs(job, 'TERMINAL')), /started 2 jobs/)
})

test('an unknown job status is looked for several times', async (t) => {
  const clock = createClock()
  const { service, engine } = await startRig(t, { clock })
  const id = await engine.task(job)
  await engine.eventually(async () => {
    clock.pass(2)
    await clock.settled()
    return (await engine.view(id)).status === 'TERMINAL'
  })
  assert.equal(service.asked.filter((each) => each === `GET ${decodeURIComponent(path)}`).length, 6)
})

test('a cancelled stage removes its job', async (t) => {
  const { service, engine } = await startRig(t)
  service.scripted.set(`GET ${path}`, () => ({ status: 200, body: { jobState: 'Running' } }))
  service.scripted.set(`DELETE ${path}`, () => ({ status: 200, body: {} }))
  const id = await engine.task(job)
  await engine.eventually(async () =>
    at((await engine.view(id)).execution, 'stages', 0, 'context', 'jobStatus'),
  )
  await engine.ask('PUT', `/tasks/${id}/cancel`)
  await engine.taskEnds(id, 'CANCELED')
  await engine.eventually(async () => service.asked.includes(`DELETE ${decodeURIComponent(path)}`))
})

test('a job that runs out of time is deleted', async (t) => {
  const clock = createClock()
  const { service, engine } = await startRig(t, { clock })
  service.scripted.set(`GET ${path}`, () => ({ status: 200, body: { jobState: 'Running' } }))
  const id = await engine.task({ ...job, stageTimeoutMs: 60_000 })
  await engine.eventually(async () => {
    clock.pass(2)
    await clock.settled()
    return (await engine.view(id)).status === 'TERMINAL'
  })
  assert.deepEqual(operationNames(service), ['runJob', 'deleteManifest job run'])
})

test('a restart keeps former results apart', async (t) => {
  const { service, engine, pipeline } = await startRig(t)
  service.scripted.set(`GET ${path}`, () => ({ status: 200, body: succeeded }))
  const execution = await pipeline([{ refId: '1', ...job }])
  await engine.ask(
    'PUT',
    `/pipelines/${execution.id}/stages/${execution.stages[0]?.id}/restart`,
    {},
  )
  await engine.eventually(
    async () =>
      service.operations.length === 2 &&
      (await engine.execution(execution.id)).status === 'SUCCEEDED',
  )
  const { restartDetails } = (await engine.stage(execution.id, '1')).context
  assert.deepEqual(
    [at(restartDetails, 'jobStatus'), at(restartDetails, 'deploy.jobs')],
    [succeeded, { n1: ['job run'] }],
  )
})

test('the address of logs comes from the manifest', async (t) => {
  const { run: runJobs } = await startRig(t)
  const annotations = { 'job.spinnaker.io/logs': 'https://logs.test/{{ name }}' }
  const manifest = { ...run, metadata: { ...run.metadata, annotations } }
  const { stages } = await runJobs({ ...job, manifest, waitForCompletion: false })
  assert.equal(at(stages[0]?.context, 'execution', 'logs'), 'https://logs.test/{{ name }}')
})

const nightly = {
  type: 'nightly',
  label: 'Nightly',
  cloudProvider: 'kubernetes',
  account: 'k8s',
  application: 'shop',
  waitForCompletion: false,
  manifest: {
    ...run,
    spec: {
      template: { spec: { containers: [{ name: 'main', env: [{ name: 'LEVEL', value: '' }] }] } },
    },
  },
  parameters: [
    {
      name: 'LEVEL',
      label: 'Level',
      mapping: 'manifest.spec.template.spec.containers[0].env[0].value',
      defaultValue: 'low',
    },
  ],
}

function read(...jobs: Fields[]) {
  const problems: string[] = []
  const report = {
    problem: (_key, message) => problems.push(message),
  } as Partial<SettingsReport> as SettingsReport
  const keys = manifestKeys.keys.parse({ 'job.preconfigured.kubernetes': jobs })
  return { ...toManifestSettings(manifestKeys.read(keys), report), problems }
}

test('jobs of the configuration are offered and filled in', async (t) => {
  const manifests = read(nightly)
  const { service, engine, run: runJobs } = await startRig(t, { manifests })
  const { body } = await engine.ask('GET', '/jobs/preconfigured')
  assert.deepEqual(
    [
      at(body, 0, 'type'),
      at(body, 0, 'noUserConfigurableFields'),
      at(body, 0, 'parameters', 0, 'name'),
    ],
    ['nightly', true, 'LEVEL'],
  )
  const { stages } = await runJobs({
    type: 'nightly',
    account: 'other',
    parameters: { LEVEL: 'high' },
  })
  await runJobs({ type: 'nightly' })
  const dynamicParameters = { 'manifest.metadata.name': 'named' }
  await runJobs({ type: 'nightly', dynamicParameters })
  const value = (sent: unknown) =>
    at(sent, 'manifest', 'spec', 'template', 'spec', 'containers', 0, 'env', 0, 'value')
  assert.deepEqual(
    service.operations.map(([, sent]) => [value(sent), sent['account']]),
    [
      ['high', 'k8s'],
      ['low', 'k8s'],
      ['low', 'k8s'],
    ],
  )
  assert.equal(at(service.operations, 2, 1, 'manifest', 'metadata', 'name'), 'named')
  assert.equal(at(stages[0], 'context', 'preconfiguredJobParameters', 0, 'name'), 'LEVEL')
  assert.ok(at((await engine.ask('GET', '/capabilities/stageTypes')).body, 'stageTypes'))
})

test('texts of a configured job are expressions', async (t) => {
  const manifest = {
    ...nightly.manifest,
    metadata: { name: 'run', namespace: 'n1', labels: { by: '${"sh" + "op"}' } },
  }
  const { service, run: runJobs } = await startRig(t, { manifests: read({ ...nightly, manifest }) })
  await runJobs({ type: 'nightly', alias: 'preconfiguredJob', waitForCompletion: false })
  assert.equal(at(service.operations, 0, 1, 'manifest', 'metadata', 'labels', 'by'), 'shop')
})

test('a parameter without a place ends the stage', async (t) => {
  const [parameter] = nightly.parameters
  const misplaced = {
    ...nightly,
    parameters: [{ ...parameter, mapping: 'manifest.spec.none.value' }],
  }
  const { run: runJobs } = await startRig(t, { manifests: read(misplaced) })
  assert.match(
    errorOf(await runJobs({ type: 'nightly' }, 'TERMINAL')),
    /"manifest\.spec\.none\.value" has no place/,
  )
})

test('incomplete and disabled jobs of the configuration are left out', () => {
  const { jobs, problems } = read(
    { ...nightly, label: undefined },
    { ...nightly, enabled: false },
    nightly,
    nightly,
  )
  assert.equal(jobs.length, 2)
  assert.deepEqual(problems, ['the stage type "nightly" is listed twice'])
})

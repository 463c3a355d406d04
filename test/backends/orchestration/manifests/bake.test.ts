import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at, createClock } from '../support.ts'
import { deploy, errorOf, startRig } from './support.ts'

type Fields = Record<string, unknown>

const chart = { type: 'git/repo', reference: 'https://git.test/charts' }
const expectedArtifacts = [
  { id: 'baked', matchArtifact: { type: 'embedded/base64', name: 'rendered' } },
]
const stage = {
  type: 'bakeManifest',
  templateRenderer: 'helm3',
  outputName: 'rel',
  namespace: 'n1',
  overrides: { color: 'blue' },
  inputArtifacts: [{ artifact: chart, account: 'git' }, { id: 'values' }],
  expectedArtifacts,
}
const rendered = {
  type: 'embedded/base64',
  name: 'rendered',
  reference: Buffer.from('kind: ConfigMap\nmetadata: {name: conf, namespace: n1}').toString(
    'base64',
  ),
}
const values = {
  id: 'values',
  type: 'http/file',
  reference: 'http://values.test',
  artifactAccount: 'http',
}

test('a chart is rendered and deployed by the next stage', async (t) => {
  const { service, pipeline } = await startRig(t)
  const bodies: unknown[] = []
  service.scripted.set('POST /api/v2/manifest/bake/HELM3', (body) => {
    bodies.push(body)
    return { status: 200, body: rendered }
  })
  const stages = [
    { refId: '1', ...stage },
    {
      refId: '2',
      requisiteStageRefIds: ['1'],
      ...deploy([], {
        source: 'artifact',
        manifestArtifactId: 'baked',
        manifestArtifactAccount: 'embedded-artifact',
      }),
    },
  ]
  const execution = await pipeline(stages, { trigger: { type: 'manual', artifacts: [values] } })
  assert.deepEqual(bodies, [
    {
      templateRenderer: 'HELM3',
      outputName: 'rel',
      outputArtifactName: 'rendered',
      namespace: 'n1',
      overrides: { color: 'blue' },
      inputArtifacts: [{ ...chart, artifactAccount: 'git' }, values],
    },
  ])
  assert.deepEqual(execution.stages[0]?.outputs['artifacts'], [rendered])
  assert.deepEqual(
    at(execution.stages[0], 'outputs', 'resolvedExpectedArtifacts', 0, 'boundArtifact'),
    rendered,
  )
  assert.equal(at(service.operations, 0, 1, 'manifests', 0, 'metadata', 'name'), 'conf')
})

test('Kustomize takes one input', async (t) => {
  const { service, run } = await startRig(t)
  let sent: unknown
  service.scripted.set('POST /api/v2/manifest/bake/KUSTOMIZE4', (body) => {
    sent = body
    return { status: 200, body: rendered }
  })
  const { inputArtifacts: _inputs, ...settings } = stage
  const inputArtifact = { artifact: chart, account: 'git' }
  await run({
    ...settings,
    templateRenderer: 'KUSTOMIZE4',
    inputArtifact,
    kustomizeFilePath: 'base/kustomization.yaml',
  })
  assert.deepEqual(at(sent, 'inputArtifact'), { ...chart, artifactAccount: 'git' })
  assert.equal(at(sent, 'kustomizeFilePath'), 'base/kustomization.yaml')
})

test('a bakery in trouble is asked five times, and one that refuses once', async (t) => {
  const clock = createClock()
  const { service, engine } = await startRig(t, { clock })
  let requests = 0
  service.scripted.set('POST /api/v2/manifest/bake/HELM3', () => ({
    status: ++requests < 3 ? 500 : 200,
    body: requests < 3 ? { message: 'busy' } : rendered,
  }))
  const job = { ...stage, inputArtifacts: [{ artifact: chart, account: 'git' }] }
  const ends = (id: string, status: string) =>
    engine.eventually(async () => {
      clock.pass(2)
      await clock.settled()
      return (await engine.view(id)).status === status
    })
  assert.ok(await ends(await engine.task(job), 'SUCCEEDED'))
  assert.equal(requests, 3)
  service.scripted.set('POST /api/v2/manifest/bake/HELM3', () => ({
    status: 500,
    body: { message: `no ${++requests}` },
  }))
  const id = await engine.task(job)
  assert.ok(await ends(id, 'TERMINAL'))
  assert.match(errorOf((await engine.view(id)).execution), /no 8/)
  service.scripted.set('POST /api/v2/manifest/bake/HELM3', () => ({
    status: 500,
    body: { message: `wrong ${++requests}`, exception: 'AuthorError' },
  }))
  const wrong = await engine.task(job)
  assert.ok(await ends(wrong, 'TERMINAL'))
  assert.match(errorOf((await engine.view(wrong)).execution), /wrong 9/)
})

const incomplete: [what: string, fields: Fields, says: RegExp][] = [
  [
    'an unknown renderer',
    { templateRenderer: 'CF' },
    /set "templateRenderer" to one of HELM2, HELM3/,
  ],
  ['no input', { inputArtifacts: [] }, /has no input: set "inputArtifacts"/],
  [
    'an unknown input',
    { inputArtifacts: [{ id: 'none' }] },
    /The input artifact with the id "none"/,
  ],
  [
    'two outputs',
    { expectedArtifacts: [...expectedArtifacts, ...expectedArtifacts] },
    /expects 2 artifacts and produces one/,
  ],
  [
    'an output without a name',
    { expectedArtifacts: [{ id: 'x', matchArtifact: {} }] },
    /"matchArtifact\.name"/,
  ],
]
for (const [what, fields, says] of incomplete) {
  test(`a bake with ${what} says what to do`, async (t) => {
    const { run } = await startRig(t)
    const job = { ...stage, inputArtifacts: [{ artifact: chart, account: 'git' }], ...fields }
    assert.match(errorOf(await run(job, 'TERMINAL')), says)
  })
}

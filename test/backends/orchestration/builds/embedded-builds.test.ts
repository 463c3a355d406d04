/** Build stages with the embedded build service: commands run on this machine. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildsBackend } from '../../../../packages/builds/builds.ts'
import { BuildServerKeys, toBuildServerSettings } from '../../../../packages/builds/declarations.ts'
import type { Execution } from '../../../../packages/engine/orchestration/model.ts'
import { orchestrationBackend } from '../../../../packages/engine/orchestration-backend.ts'
import { startInfrastructure } from '../../../support/infrastructure.ts'
import { waitFor } from '../../../support/wait-until.ts'
import { at } from '../support.ts'

const jobs = [
  {
    name: 'shop',
    parameters: { VERSION: { default: '1' } },
    archive: ['*.properties', '*.txt'],
    steps: ['echo "version=$VERSION" > out.properties; echo done > notes.txt'],
  },
  { name: 'broken', steps: ['exit 3'] },
  { name: 'endless', steps: ['sleep 1000'] },
]

test('build stages run commands on this machine', async (t) => {
  const report = {
    problem: (key: string, message: string) => assert.fail(`${key}: ${message}`),
    notice: () => {},
    isSet: () => false,
  }
  const buildServers = toBuildServerSettings(
    BuildServerKeys.parse({ 'builds.local.jobs': jobs }),
    report,
  )
  const { backends } = await startInfrastructure(t, {
    bakery: { 'local.enabled': true },
    beside: [buildsBackend, orchestrationBackend],
    settings: { buildServers },
  })
  const [host] = (await backends.ask('igor', 'GET', '/masters')).body as string[]
  const start = async (job: string, more: Record<string, unknown> = {}) => {
    const stages = [{ refId: '1', type: 'jenkins', master: host, job, ...more }]
    const { body } = await backends.ask('orca', 'POST', '/orchestrate', {
      application: 'shop',
      name: 'p',
      stages,
    })
    return String(at(body, 'ref'))
  }
  const read = async (ref: string) => (await backends.ask('orca', 'GET', ref)).body as Execution
  const stageOf = async (ref: string, isThere: (execution: Execution) => boolean) => {
    const execution = await waitFor(async () => {
      const found = await read(ref)
      return isThere(found) ? found : undefined
    }, `the stage of ${ref}`)
    return execution.stages[0]
  }

  await t.test('and take properties and files over', async () => {
    const ref = await start('shop', {
      parameters: { VERSION: '7' },
      propertyFile: 'out.properties',
      expectedArtifacts: [{ id: 'notes', matchArtifact: { reference: 'notes.txt' } }],
    })
    const stage = await stageOf(
      ref,
      ({ status }) => status !== 'RUNNING' && status !== 'NOT_STARTED',
    )
    assert.equal(stage?.status, 'SUCCEEDED', JSON.stringify(stage?.context))
    assert.deepEqual([stage.outputs['version'], at(stage.outputs, 'buildInfo', 'number')], ['7', 1])
    assert.equal(at(stage.outputs, 'resolvedExpectedArtifacts', 0, 'boundArtifact', 'version'), '1')
  })

  await t.test('and fail with the command', async () => {
    const stage = await stageOf(await start('broken'), ({ status }) => status === 'TERMINAL')
    assert.match(
      String(at(stage?.context, 'exception', 'details', 'error')),
      /^Build 1 of "broken" on ".*" failed: .*exit 3.* exit code 3\.$/,
    )
  })

  await t.test('and stop them when they are cancelled', async () => {
    const ref = await start('endless')
    await stageOf(ref, ({ stages }) => at(stages[0]?.context, 'buildInfo', 'building') === true)
    await backends.ask('orca', 'PUT', `${ref}/cancel`)
    const build = await waitFor(async () => {
      const { body } = await backends.ask('igor', 'GET', `/builds/status/1/${host}/endless`)
      return at(body, 'building') === false ? body : undefined
    }, 'the end of the build')
    assert.equal(at(build, 'result'), 'ABORTED')
  })
})

import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { defaultOutsideSettings } from '../../../packages/base/outside/settings.ts'
import type { SandboxChoice } from '../../../packages/base/sandbox/settings.ts'
import { createBakeryBackend } from '../../../packages/providers/bakery/bakery.ts'
import { bakeTimes } from '../../../packages/providers/local/bakes/running-bakes.ts'
import { createLocalProvider } from '../../../packages/providers/local/provider.ts'
import { startInfrastructure } from '../../support/infrastructure.ts'
import { neighbour, sandboxAttacks } from '../../support/sandbox-attacks.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { waitFor } from '../../support/wait-until.ts'

interface RigOptions {
  readonly sandbox: SandboxChoice
  readonly steps?: readonly string[]
  readonly bakery?: JsonObject
  readonly local?: JsonObject
}

async function startRig(
  t: TestContext,
  dataDir: string,
  { sandbox, steps = [], bakery, local }: RigOptions,
) {
  const packages = join(dataDir, 'packages')
  mkdirSync(join(packages, 'app'), { recursive: true })
  writeFileSync(join(packages, 'app', 'fairlead-image.yml'), 'command: [sh]\n')
  const templates = [
    {
      id: 'given',
      steps: [{ copy: { from: '.', to: '.' } }, ...steps.map((shell) => ({ shell }))],
    },
  ]
  const infra = await startInfrastructure(t, {
    dataDir,
    beside: [createBakeryBackend([createLocalProvider({ ...bakeTimes, startMs: 600_000 })])],
    bakery: { 'local.templates': templates, ...bakery },
    ...(local && { local }),
    settings: { outside: { ...defaultOutsideSettings, sandbox } },
  })
  const bakes = '/api/v1/global'
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await infra.backends.ask('rosco', method, `${bakes}${path}`, body)
    return { status: answer.status, body: answer.body as JsonObject }
  }
  return {
    infra,
    start: (attributes: JsonObject = {}, more: JsonObject = {}) =>
      ask('POST', '/bake', {
        package: 'app',
        base_os: 'given',
        cloud_provider_type: 'local',
        extended_attributes: attributes,
        ...more,
      }),
    /** The log of a bake, once it has ended. */
    async logOf({ body }: { body: JsonObject }) {
      if (body['id'] === undefined) return String(body['message'])
      const id = String(body['id'])
      await waitFor(
        async () => (await ask('GET', `/status/${id}`)).body['state'] !== 'RUNNING' || undefined,
        'the end of the bake',
      )
      return String((await ask('GET', `/logs/${id}`)).body['logsContent'])
    },
    /** Starts a command. @returns its path */
    async run(command: string, more: JsonObject = {}) {
      const job = { credentials: 'local', region: 'local', application: 'shop', command, ...more }
      const { resultObjects } = await infra.succeed({ runJob: job })
      const [id = ''] = (resultObjects as { deployedNames: string[] }[])[0]?.deployedNames ?? []
      return {
        id,
        path: `/applications/shop/jobs/local/local/${id}`,
        console: `/instances/local/local/${id}/console`,
      }
    },
  }
}

const isOver = ({ jobState }: JsonObject) => jobState === 'Failed' || jobState === 'Succeeded'

test('without a sandbox neither bakes nor commands run', async (t) => {
  const path = process.env['PATH']
  t.after(() => {
    process.env['PATH'] = path
  })
  const dataDir = createFolder('bakes-without')
  t.after(() => removeFolder(dataDir))
  // What is looked for at the start is missing, too.
  process.env['PATH'] = '/nonexistent'
  const rig = await startRig(t, dataDir, { sandbox: 'unshare', local: { 'start-agent': false } })
  const { status, body } = await rig.start()
  assert.match(
    `${status} ${String(body['message'])}`,
    /^500 There is no sandbox .*Install bubblewrap/,
  )
  const job = { credentials: 'local', region: 'local', application: 'shop', command: 'true' }
  assert.match(
    JSON.stringify(await rig.infra.run({ runJob: job })),
    /There is no sandbox .*Install bubblewrap/,
  )
})

for (const sandbox of ['bwrap', 'unshare'] as const) {
  test(`${sandbox}: bakes and commands are apart from each other and from Fairlead`, async (t) => {
    const dataDir = createFolder('bakes-apart')
    t.after(() => removeFolder(dataDir))
    const attacks = sandboxAttacks(dataDir)
    const rig = await startRig(t, dataDir, { sandbox, steps: attacks.steps })
    const victim = await rig.run('touch victim.txt; echo begins; sleep 600', {
      environment: neighbour,
    })
    await rig.infra.until<{ output: string }>(victim.console, ({ output }) =>
      output.includes('begins'),
    )
    await attacks.assertHeld(await rig.logOf(await rig.start()))
    const attacker = await rig.run(
      `${attacks.steps.join('\n')}\ntouch "$HOME/written" && [ "$HOME" = "$PWD" ]`,
    )
    const { jobState } = await rig.infra.until<JsonObject>(attacker.path, isOver)
    const { output } = await rig.infra.read<{ output: string }>(attacker.console)
    await attacks.assertHeld(output)
    assert.equal(jobState, 'Succeeded', output)
  })
}

test('sources are read where they are, and never of Fairlead or the machine', async (t) => {
  const dataDir = createFolder('bakes-sources')
  const outside = createFolder('bakes-outside')
  t.after(() => [dataDir, outside].forEach(removeFolder))
  const rig = await startRig(t, dataDir, {
    sandbox: 'auto',
    steps: ['ls "$BAKE_PLACE" && exit 1; ls'],
  })
  writeFileSync(join(outside, 'of-the-source'), '')
  symlinkSync('/proc/self', join(outside, 'link'))
  symlinkSync(dataDir, join(outside, 'state'))
  const taken = await rig.logOf(
    await rig.start({ directory: outside, place: outside }, { package: 'mine' }),
  )
  assert.match(
    taken,
    /No such file or directory\nfairlead-image|No such file.*\n(?:.*\n)*of-the-source/,
  )
  for (const directory of [
    '/',
    '/proc/self',
    '/run',
    '/etc',
    '/sys/kernel',
    tmpdir(),
    dataDir,
    join(dataDir, 'instances'),
  ]) {
    for (const attributes of [{ directory }, { git: directory }, { git: `file://${directory}` }]) {
      const { status, body } = await rig.start(attributes, { package: 'mine' })
      assert.match(
        `${status} ${String(body['message'])}`,
        /^400 \S+ cannot be a source/,
        JSON.stringify(attributes),
      )
    }
  }
  for (const name of ['link', 'state', 'state/instances'])
    assert.equal(
      (await rig.start({ directory: join(outside, name) }, { package: 'mine' })).status,
      400,
      name,
    )
})

test('a command has bounds also where its instance type has none', async (t) => {
  const dataDir = createFolder('commands-bounded')
  t.after(() => removeFolder(dataDir))
  const rig = await startRig(t, dataDir, { sandbox: 'auto' })
  const cases: [command: string, says: RegExp, more?: JsonObject][] = [
    ['sleep 600', /time limit of 1 s/, { runtimeLimitSecs: 1 }],
    [
      'i=0; while [ $i -lt 60 ]; do sleep 60 & i=$((i+1)); done; wait',
      /processes/,
      { limits: { processes: 20 } },
    ],
    ['head -c 40000000 /dev/zero > large; sleep 60', /1 MiB/, { limits: { diskMb: 1 } }],
    ['nowhere-to-be-found', /exit code 127/],
  ]
  for (const [command, says, more] of cases) {
    const { path } = await rig.run(command, more)
    const { completionDetails } = await rig.infra.until<JsonObject>(path, isOver)
    assert.match(JSON.stringify(completionDetails), says, command)
  }
})

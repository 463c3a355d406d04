import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { create } from 'tar'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { createBakeryBackend } from '../../../packages/providers/bakery/bakery.ts'
import { bakeTimes } from '../../../packages/providers/local/bakes/running-bakes.ts'
import { createLocalProvider } from '../../../packages/providers/local/provider.ts'
import {
  packImage,
  startInfrastructure,
  type TestInfrastructure,
} from '../../support/infrastructure.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { waitFor } from '../../support/wait-until.ts'

const needsRoot = process.getuid?.() === 0 ? false : 'only root can become another user'
const imageFile = 'command: [sh, -c, "exit 0"]\n'
/** Starts take long on a busy machine; a request waits for a builder that fails, however late. */
const patient = { ...bakeTimes, startMs: 600_000 }
const template = (id: string, shell: string) => ({
  id,
  steps: [{ copy: { from: '.', to: '.' } }, { shell }],
})
/** The file `go` in the folder of the rig lets the builder go on. */
const waiting = 'echo line1; until [ -e "$BAKE_GATE" ]; do sleep 0.05; done'
const templates = [
  template('trusty', `${waiting}; [ "$(cat "$BAKE_GATE")" = "" ] || exit "$(cat "$BAKE_GATE")"`),
  template('quick', 'echo "$BAKE_PACKAGE" > built'),
  template('boom', 'echo boom; exit 1'),
]

interface Bakery {
  readonly infra: TestInfrastructure
  /** Packages `app` and `other`, and the gate of builders. */
  readonly folder: string
  ask(
    method: string,
    path: string,
    body?: unknown,
    user?: string,
  ): Promise<{ status: number; body: JsonObject }>
  bake(
    request: JsonObject,
    query?: string,
    times?: number,
  ): Promise<{ status: number; body: JsonObject }>
  /** Waits until the bake has ended. */
  ended(id: unknown): Promise<JsonObject>
  /** Lets builders go on; with a code they fail. */
  go(code?: string): void
  /** The same for other builders: those of its bakes wait for another file. */
  withGate(name: string): Bakery
}

interface RigOptions {
  readonly bakery?: JsonObject
  readonly local?: JsonObject
  readonly settleMs?: number
  /** Views of the permission service by user; without them everything is allowed. */
  readonly views?: Readonly<Record<string, JsonObject>>
  readonly dataDir?: string
  readonly folder?: string
}

async function startBakery(
  t: TestContext,
  { bakery, local, settleMs = 0, dataDir, folder: given, views }: RigOptions = {},
): Promise<Bakery> {
  const folder = given ?? createFolder('bakery')
  if (given === undefined) t.after(() => removeFolder(folder))
  for (const name of ['app', 'other']) {
    mkdirSync(join(folder, name), { recursive: true })
    if (!existsSync(join(folder, name, 'fairlead-image.yml')))
      writeFileSync(join(folder, name, 'fairlead-image.yml'), imageFile)
  }
  const infra = await startInfrastructure(t, {
    beside: [createBakeryBackend([createLocalProvider({ ...patient, settleMs })])],
    bakery: { 'local.packages': folder, 'local.templates': templates, ...bakery },
    // The gate of builders.
    local: { readable: [folder], ...local },
    ...(views !== undefined && {
      authorization: true,
      others: async (_service, { path }) => {
        const body = views[path.split('/').at(-1) ?? '']
        return { status: body === undefined ? 404 : 200, body }
      },
    }),
    ...(dataDir !== undefined && { dataDir }),
  })
  const ask: Bakery['ask'] = async (method, path, body, user) => {
    const { status, body: answer } = await infra.backends.ask(
      'rosco',
      method,
      path,
      body,
      user === undefined ? {} : { 'x-spinnaker-user': user },
    )
    return { status, body: answer as JsonObject }
  }
  const withGate = (name: string): Bakery => ({
    infra,
    folder,
    ask,
    bake: (request, query = '') =>
      ask('POST', `/api/v1/global/bake${query}`, {
        package: 'app',
        base_os: 'trusty',
        cloud_provider_type: 'local',
        ...request,
        extended_attributes: {
          gate: join(folder, name),
          ...(request['extended_attributes'] as JsonObject),
        },
      }),
    ended: (id) =>
      waitFor(
        async () => {
          const { body } = await ask('GET', `/api/v1/global/status/${String(id)}`)
          return body['state'] === 'RUNNING' ? undefined : body
        },
        `the end of the bake ${String(id)}`,
      ),
    go: (code = '') => writeFileSync(join(folder, name), code),
    withGate,
  })
  return withGate('go')
}

async function logOf({ ask }: Bakery, id: unknown, region = 'global'): Promise<string> {
  const { status, body } = await ask('GET', `/api/v1/${region}/logs/${String(id)}`)
  assert.equal(status, 200, JSON.stringify(body))
  return String(body['logsContent'])
}

const builds = (bakery: Bakery) => bakery.infra.builders().ids('bake')

test('bakery-scenario 1, 3, 5, 16, 17, 18: templates are base images', async (t) => {
  const bakery = await startBakery(t, {
    bakery: { 'local.templates': [{ ...template('plain', 'true'), description: 'Plain' }] },
  })
  const options = (await bakery.ask('GET', '/bakeOptions')).body as unknown as {
    cloudProvider: string
    baseImages: JsonObject[]
  }[]
  assert.deepEqual(
    options.map(({ cloudProvider }) => cloudProvider),
    ['local'],
  )
  assert.deepEqual(options[0]!.baseImages[0], {
    id: 'plain',
    shortDescription: 'Plain',
    detailedDescription: 'Plain',
    packageType: 'DEB',
    osType: 'linux',
  })
  assert.deepEqual((await bakery.ask('GET', '/bakeOptions/local')).body, options[0])
  assert.equal((await bakery.ask('GET', '/bakeOptions/local/baseImages/node')).body['id'], 'node')
  const missing = await bakery.ask('GET', '/bakeOptions/local/baseImages/nope')
  assert.equal(missing.status, 404)
  assert.match(String((missing.body['messages'] as string[])[0]), /nope.*plain, directory, node/)
  assert.equal((await bakery.ask('GET', '/bakeOptions/gce')).status, 404)
  const refused: [JsonObject, RegExp][] = [
    [{ base_os: 'nope' }, /"nope".*directory/],
    [{ base_os: undefined }, /base_os/],
    [{ cloud_provider_type: 'gce' }, /"gce"/],
    [{ cloud_provider_type: 'zzz' }, /"zzz"/],
    [{ base_os: 'plain', vm_type: 'zzz' }, /vm_type/],
    [{ base_os: 'plain', package: 'absent' }, /no package "absent"/],
    [{ base_os: 'plain', account_name: 'absent' }, /no account "absent"/],
  ]
  for (const [request, says] of refused) {
    const { status, body } = await bakery.bake(request)
    assert.equal(status, 400, JSON.stringify(body))
    assert.match(String(body['message']), says)
  }
  assert.match(
    String((await bakery.ask('POST', '/api/v1/mars/bake', { base_os: 'plain' })).body['message']),
    /"mars"/,
  )
  const { status, body } = await bakery.bake({ base_os: 'plain', cloud_provider_type: undefined })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal((await bakery.ended(body['id']))['result'], 'SUCCESS')
})

test('bakery-scenario 24: a bake ends at its time limit', async (t) => {
  const bakery = await startBakery(t, { bakery: { 'local.time-limit-minutes': 0.05 } })
  const { status, body } = await bakery.bake({})
  assert.equal(status, 200, JSON.stringify(body))
  const ended = await bakery.ended(body['id'])
  assert.deepEqual([ended['state'], ended['result']], ['CANCELED', 'FAILURE'])
  assert.match(await logOf(bakery, body['id']), /time limit/)
})

test('a bake ends when it takes more disk than it may', async (t) => {
  const filling = template(
    'filling',
    `head -c 40000000 /dev/zero > "$HOME/cache"; echo filled; ${waiting}`,
  )
  const bakery = await startBakery(t, {
    bakery: { 'local.disk-mb': 16, 'local.templates': [filling] },
  })
  const { body } = await bakery.bake({ base_os: 'filling' })
  const ended = await bakery.ended(body['id'])
  assert.deepEqual([ended['state'], ended['result']], ['CANCELED', 'FAILURE'])
  assert.match(
    await logOf(bakery, body['id']),
    /exceeded its limit of 16.+raise bakery\.local\.disk-mb/,
  )
  assert.deepEqual(builds(bakery), [], 'its folder is gone')
})

test('a bake goes on while Fairlead restarts', async (t) => {
  const [dataDir, folder] = [createFolder('bakery-data'), createFolder('bakery')]
  const before = await startBakery(t, { dataDir, folder })
  const { body } = await before.bake({})
  await before.infra.stop()
  const after = await startBakery(t, { dataDir, folder })
  assert.equal((await after.bake({})).body['id'], body['id'])
  after.go()
  assert.equal((await after.ended(body['id']))['result'], 'SUCCESS')
})

test('a bake whose end cannot be recorded is recorded later', async (t) => {
  const dataDir = createFolder('bakery-data')
  const bakery = await startBakery(t, { dataDir })
  const { body } = await bakery.bake({})
  const db = new DatabaseSync(join(dataDir, 'backends.db'))
  db.exec(`CREATE TABLE refusals (state TEXT);
    CREATE TRIGGER full BEFORE UPDATE ON bakery_bakes WHEN NEW.state = 'COMPLETED'
      BEGIN INSERT INTO refusals VALUES (NEW.state); SELECT RAISE(FAIL, 'full'); END`)
  bakery.go()
  await waitFor(async () => db.prepare('SELECT * FROM refusals').get(), 'the refusal of the store')
  db.exec('DROP TRIGGER full')
  db.close()
  assert.equal((await bakery.ended(body['id']))['result'], 'SUCCESS')
  assert.match(await logOf(bakery, body['id']), /line1.*is stored/s)
  assert.equal((await bakery.infra.read<JsonObject[]>('/local/images/find?q=app')).length, 1)
})

test('bakes are refused where commands may not run', async (t) => {
  const bakery = await startBakery(t, { bakery: { 'local.enabled': false } })
  const { status, body } = await bakery.bake({})
  assert.equal(status, 400)
  assert.match(String(body['message']), /bakery\.local\.enabled/)
  assert.deepEqual((await bakery.ask('GET', '/bakeOptions')).body, [])
  const job = {
    runJob: { credentials: 'local', region: 'local', application: 'shop', command: ['true'] },
  }
  const refused = await bakery.infra.ask('POST', '/local/ops', [job])
  assert.equal(refused.status, 400)
  assert.match(String((refused.body as JsonObject)['message']), /bakery\.local\.enabled/)
})

/** A repository with two commits; the second one is tagged. */
function createRepository(folder: string): { path: string; first: string; second: string } {
  const path = join(folder, 'repository')
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], {
      cwd: path,
      encoding: 'utf8',
    }).trim()
  mkdirSync(join(path, 'service'), { recursive: true })
  git('init', '-q', '-b', 'main')
  const commit = (text: string) => {
    writeFileSync(join(path, 'service', 'fairlead-image.yml'), imageFile)
    writeFileSync(join(path, 'service', 'page'), text)
    git('add', '.')
    git('commit', '-q', '-m', text)
    return git('rev-parse', 'HEAD')
  }
  const [first, second] = [commit('one'), commit('two')]
  git('tag', '-a', '-m', 'two', 'v2')
  return { path, first, second }
}

/** Leave nothing behind but images: they share one bakery, in this order. */
const waitingCases: Readonly<Record<string, (bakery: Bakery) => Promise<void>>> = {
  async 'hostile sources are refused before anything runs'(bakery) {
    for (const [extended_attributes, says] of hostileRequests) {
      const { status, body } = await bakery.bake({ base_os: 'directory', extended_attributes })
      assert.equal(status, 400, JSON.stringify(extended_attributes))
      assert.match(String(body['message']), says)
    }
    for (const name of [
      '../app',
      '/etc',
      'app/../..',
      '.hidden',
      '-x',
      'x_../../y',
      'x'.repeat(5000),
    ]) {
      const { status, body } = await bakery.bake({ package: name })
      assert.match(`${status} ${String(body['message'])}`, /^400 .*package/, name)
    }
    const names: JsonObject[] = [{ ami_name: '../x' }, { ami_suffix: 'a/b' }]
    for (const name of names) assert.equal((await bakery.bake(name)).status, 400)
    assert.deepEqual(builds(bakery), [])
  },

  async 'bakery-scenario 23: a cancelled bake stays cancelled'(bakery) {
    const { body } = await bakery.bake({})
    const id = String(body['id'])
    const cancelled = await bakery.ask('GET', `/api/v1/global/cancel/${id}`)
    assert.equal(cancelled.status, 200)
    assert.match(String(cancelled.body), new RegExp(id))
    bakery.go()
    assert.equal((await bakery.ask('GET', `/api/v1/global/cancel/${id}`)).status, 400)
    await waitFor(
      () => bakery.infra.processes().length === 0 || undefined,
      'the end of the builder',
    )
    const { state, result } = (await bakery.ask('GET', `/api/v1/global/status/${id}`)).body
    assert.deepEqual([state, result], ['CANCELED', 'FAILURE'])
    assert.match(await logOf(bakery, id), /cancelled/)
    assert.deepEqual(await bakery.infra.read('/local/images'), [])
  },

  async 'a bake whose builder has gone is cancelled'(bakery) {
    const { body } = await bakery.bake({})
    bakery.infra.builders().remove(String(body['id']))
    assert.equal((await bakery.ended(body['id']))['state'], 'CANCELED')
    assert.match(await logOf(bakery, body['id']), /vanished/)
  },

  async 'bakery-scenario 14: a bake that fails later is repeated'(bakery) {
    const { body } = await bakery.bake({})
    bakery.go('3')
    const ended = await bakery.ended(body['id'])
    assert.deepEqual([ended['state'], ended['result']], ['CANCELED', 'FAILURE'])
    assert.match(await logOf(bakery, body['id']), /line1\n.*failed with exit code 3/s)
    assert.notEqual((await bakery.bake({})).body['id'], body['id'])
  },

  async 'bakery-scenario 6, 7, 8, 9, 13, 19, 22, 25: equal requests share the bake that runs'(
    bakery,
  ) {
    const [first, twin] = await Promise.all([
      bakery.bake({}),
      bakery.bake({ user: 'somebody', build_number: '7' }),
    ])
    const { id, ...rest } = first.body
    assert.deepEqual(rest, { state: 'RUNNING', result: null, resource_id: id })
    assert.deepEqual(twin, first)
    assert.equal((await bakery.bake({})).body['id'], id)
    assert.equal(builds(bakery).length, 1)
    const other = await bakery.bake({ package: 'other' })
    assert.notEqual(other.body['id'], id)
    assert.equal(builds(bakery).length, 2)
    await waitFor(
      async () => (await logOf(bakery, id, 'anything-else')).includes('line1') || undefined,
      'the log',
    )
    assert.equal((await bakery.ask('GET', `/api/v1/global/bake/${String(id)}`)).status, 400)
    const again = await bakery.bake({}, '?rebake=1')
    assert.notEqual(again.body['id'], id)
    const former = await bakery.ask('GET', `/api/v1/global/status/${String(id)}`)
    assert.deepEqual([former.body['state'], former.body['result']], ['CANCELED', 'FAILURE'])
  },

  async 'bakery-scenario 10, 11, 12: a bake becomes an image, which equal requests get'(bakery) {
    bakery.go()
    const { body: started } = await bakery.bake({
      ami_suffix: '1.0.0',
      commit_hash: 'abc',
      build_number: '7',
      job: 'shop-main',
    })
    const id = String(started['id'])
    assert.deepEqual(
      await bakery.ended(id),
      { id, state: 'COMPLETED', result: 'SUCCESS', resource_id: id },
      await logOf(bakery, id),
    )
    const details = (await bakery.ask('GET', `/api/v1/global/bake/${id}`)).body
    assert.deepEqual([details['ami'], details['image_name']], ['app:1.0.0', 'app-1.0.0'])
    assert.deepEqual(details['artifact'], {
      type: 'local/image',
      name: 'app-1.0.0',
      version: '1.0.0',
      location: 'global',
      reference: 'app:1.0.0',
      metadata: { build_info_url: null, build_number: '7' },
      uuid: id,
    })
    const image = await bakery.infra.read('/local/images/app/1.0.0')
    const { labels, origin } = image['attributes'] as { labels: JsonObject; origin: JsonObject }
    assert.deepEqual(labels, { commit: 'abc', job: 'shop-main', buildNumber: '7' })
    assert.deepEqual(origin, {
      kind: 'bake',
      bake: id,
      user: 'anonymous',
      baseOs: 'trusty',
      package: 'app',
    })
    assert.match(await logOf(bakery, id), /app:1\.0\.0 is stored/)
    assert.deepEqual(builds(bakery), [])

    const reused = await bakery.bake({ ami_suffix: '1.0.0' })
    assert.deepEqual(reused.body, { id, state: 'COMPLETED', result: 'SUCCESS', resource_id: id })
    const rebaked = await bakery.bake({ ami_suffix: '1.0.0' }, '?rebake=1')
    assert.deepEqual([rebaked.body['state'], rebaked.body['id'] === id], ['RUNNING', false])
    assert.equal((await bakery.ended(rebaked.body['id']))['result'], 'SUCCESS')
    assert.equal((await bakery.ask('GET', `/api/v1/global/bake/${id}`)).status, 200)
    await logOf(bakery, id)

    writeFileSync(join(bakery.folder, 'app', 'more'), 'changed')
    const changed = await bakery.bake({ ami_suffix: '1.0.0' })
    assert.equal(
      (await bakery.ended(changed.body['id']))['result'],
      'FAILURE',
      'the version has another content',
    )
    assert.match(await logOf(bakery, changed.body['id']), /exists with another content/)
  },
}

test('bakes that a request does not wait for', async (t) => {
  const bakery = await startBakery(t)
  for (const [index, [name, run]] of Object.entries(waitingCases).entries()) {
    await t.test(name, () => run(bakery.withGate(`go-${index}`)))
    for (const id of builds(bakery)) await bakery.ask('GET', `/api/v1/global/cancel/${id}`)
    await waitFor(() => builds(bakery).length === 0 || undefined, 'the end of all builders')
  }
})

const copying = (id: string, from: string, to: string, shell = 'true') => ({
  id,
  steps: [{ copy: { from: 'fairlead-image.yml', to: '.' } }, { shell }, { copy: { from, to } }],
})
const environment = {
  ...template(
    'environment',
    'env | cut -d= -f1 | sort | tr "\\n" " "; echo; echo "$BAKE_API_TOKEN $KEEP_PASSWORD"; pwd',
  ),
  environment: { KEEP_PASSWORD: 'from-the-template' },
}

/** They share one bakery, in this order. */
const settledCases: Readonly<Record<string, (bakery: Bakery) => Promise<void>>> = {
  async 'bakery-scenario 15: a builder that fails at once fails the request'(bakery) {
    const { status, body } = await bakery.bake({ base_os: 'boom' })
    assert.equal(status, 400)
    assert.match(String(body['message']), /boom\n/)
  },

  async 'dependencies without a lock file fail the bake with the remedy'(bakery) {
    const sources: [template: string, file: string, text: string, says: RegExp][] = [
      [
        'node',
        'package.json',
        '{"dependencies": {"express": "^5.0.0"}}',
        /no package-lock\.json\. Run \\?"npm install/,
      ],
      [
        'python',
        'pyproject.toml',
        '[project]\ndependencies = ["fastapi"]\n',
        /neither uv\.lock nor requirements\.txt\. Run \\?"uv lock/,
      ],
      [
        'python',
        'uv.lock',
        'no lock',
        /Install uv on this machine, or run \\?"uv export --frozen.+commit requirements\.txt/,
      ],
      ['go', 'main.go', 'package main\n', /no go\.mod at its root\. Run \\?"go mod init/],
    ]
    for (const [template, file, text, says] of sources) {
      const directory = join(bakery.folder, `locked-${file}`)
      mkdirSync(directory)
      writeFileSync(join(directory, file), text)
      const { status, body } = await bakery.bake({
        base_os: template,
        package: template,
        extended_attributes: { directory },
      })
      assert.equal(status, 400, JSON.stringify(body))
      assert.match(JSON.stringify(body), says)
    }
  },

  async 'commands see their own environment only, and logs no secrets'(bakery) {
    process.env['FAIRLEAD_TEST_SECRET'] = 'own'
    const extended_attributes = { 'api-token': 'tiptop-secret', copy_to: 'a, b' }
    const { body } = await bakery.bake({ base_os: 'environment', extended_attributes })
    await bakery.ended(body['id'])
    delete process.env['FAIRLEAD_TEST_SECRET']
    const log = await logOf(bakery, body['id'])
    const known = [
      'BAKE_API_TOKEN',
      'BAKE_BASE_OS',
      'BAKE_COPY_TO_1',
      'BAKE_COPY_TO_2',
      'BAKE_GATE',
      'BAKE_PACKAGE',
    ]
    const own = [
      'FAIRLEAD_PROCESS',
      'GOMODCACHE',
      'HOME',
      'KEEP_PASSWORD',
      'LANG',
      'PATH',
      'PWD',
      'TMPDIR',
      'XDG_CACHE_HOME',
    ]
    const names = [...known, ...own, 'npm_config_cache']
    assert.ok(log.includes(`${names.join(' ')} \n`), log)
    assert.match(log, /\*{6} \*{6}\n/)
    assert.ok(!log.includes('tiptop-secret') && !log.includes('from-the-template'))
  },

  async 'revisions of a repository, directories and archives are sources'(bakery) {
    const { path: git, first, second } = createRepository(bakery.folder)
    await create(
      {
        cwd: join(bakery.folder, 'app'),
        file: join(bakery.folder, 'packed_2.0.tar.gz'),
        gzip: true,
      },
      ['.'],
    )
    const bakeOf = async (request: JsonObject) => {
      const { status, body } = await bakery.bake({ base_os: 'directory', ...request })
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(
        (await bakery.ended(body['id']))['result'],
        'SUCCESS',
        await logOf(bakery, body['id']),
      )
      return (await bakery.ask('GET', `/api/v1/global/bake/${String(body['id'])}`)).body
    }
    const pages: [revision: string | undefined, commit: string, text: string][] = [
      [undefined, second, 'two'],
      ['main', second, 'two'],
      ['v2', second, 'two'],
      [first, first, 'one'],
      [first.slice(0, 7), first, 'one'],
    ]
    for (const [revision, commit, text] of pages) {
      const { ami } = await bakeOf({
        package: 'web',
        extended_attributes: { git, revision, path: 'service' },
      })
      assert.match(String(ami), new RegExp(`^web:\\d+-${commit.slice(0, 7)}$`))
      const [name, version] = String(ami).split(':')
      const image = await bakery.infra.read(`/local/images/${name}/${version}`)
      assert.equal((image['buildInfo'] as JsonObject)['commit'], commit)
      const digest = String((image['attributes'] as JsonObject)['digest']).replace('sha256:', '')
      const folder = join(bakery.infra.dataDir, 'images', digest)
      assert.equal(readFileSync(join(folder, 'page'), 'utf8'), text)
      assert.deepEqual(readdirSync(folder).sort(), ['fairlead-image.yml', 'page'])
    }
    assert.equal(
      (
        await bakeOf({
          package: 'here:3',
          extended_attributes: { directory: join(git, 'service') },
        })
      )['ami'],
      'here:3',
    )
    assert.equal((await bakeOf({ package: 'packed_2.0' }))['ami'], 'packed:2.0')
    writeFileSync(join(bakery.folder, 'other', 'package.json'), '{"main": "server.js"}')
    removeFolder(join(bakery.folder, 'other', 'fairlead-image.yml'))
    assert.match(
      String((await bakeOf({ package: 'other', base_os: 'node' }))['ami']),
      /^other:\d+$/,
    )
  },

  async 'copies stay within source and image'(bakery) {
    const outside = join(bakery.folder, 'elsewhere')
    mkdirSync(outside)
    writeFileSync(join(outside, 'outside'), 'secret')
    symlinkSync(outside, join(bakery.folder, 'app', 'out'))
    const tooLong = join(outside, 'x'.repeat(300))
    const outcomes: [baseOs: string, says: RegExp, attributes?: JsonObject][] = [
      ['directory', /The directory \S+ does not exist/, { directory: tooLong }],
      ['through-source', /out\/outside leads out of the source/],
      ['through-image', /way\/x leads out of the image/],
      ['link', /leads out of the source/],
      ['directory', /link to the absolute path/],
    ]
    for (const [base_os, says, attributes] of outcomes) {
      const { status, body } = await bakery.bake({
        base_os,
        extended_attributes: { outside, ...attributes },
      })
      assert.equal(status, 400, base_os)
      assert.match(String(body['message']), says)
    }
    assert.deepEqual(readdirSync(outside), ['outside'])
  },
}

test('bakes that a request waits for', async (t) => {
  const bakery = await startBakery(t, {
    settleMs: 60_000,
    bakery: {
      'local.templates': [
        ...templates,
        environment,
        copying('through-source', 'out/outside', 'x'),
        copying('through-image', 'fairlead-image.yml', 'way/x', 'ln -s "$BAKE_OUTSIDE" way'),
        copying('link', 'out', 'x'),
      ],
    },
  })
  for (const [name, run] of Object.entries(settledCases)) await t.test(name, () => run(bakery))
})

test('a version manager that finds no Python fails the bake with the remedy', async (t) => {
  const shims = createFolder('shims')
  const path = process.env['PATH']
  t.after(() => {
    process.env['PATH'] = path
    removeFolder(shims)
  })
  writeFileSync(
    join(shims, 'python3'),
    '#!/bin/sh\necho "No version is set for command python3"\nexit 126\n',
    { mode: 0o755 },
  )
  process.env['PATH'] = `${shims}:${path}`
  const bakery = await startBakery(t, { settleMs: 60_000 })
  writeFileSync(join(bakery.folder, 'app', 'requirements.txt'), '')
  const { status, body } = await bakery.bake({ base_os: 'python' })
  assert.equal(status, 400, JSON.stringify(body))
  assert.match(
    String(body['message']),
    /No version is set.+failed with exit code 126.+Install python3 and python3-pip/s,
  )
})

test('an account keeps its cache between bakes until it is too large', async (t) => {
  const account = (name: string, first: number) => ({
    name,
    ports: `${first}-${first + 9}`,
    regions: [{ name: 'east' }],
  })
  const keeping =
    'cache=${XDG_CACHE_HOME:-none}; echo "kept: $(cat "$cache/kept" 2>&1)"; [ "$cache" = none ] || echo "$BAKE_WORD" > "$cache/kept"'
  const filling = 'head -c 3000000 /dev/zero > "$XDG_CACHE_HOME/large"'
  const bakery = await startBakery(t, {
    settleMs: 60_000,
    bakery: {
      'local.cache-mb': 2,
      'local.templates': [template('keeping', keeping), template('filling', filling)],
    },
    local: { accounts: [account('dev', 64_100), account('prod', 64_110)] },
  })
  const logAfter = async (word: string, account_name: string | undefined, base_os = 'keeping') => {
    const request = {
      package: 'app',
      base_os,
      extended_attributes: { word },
      ...(account_name !== undefined && { account_name }),
    }
    const { body } = await bakery.ask('POST', '/api/v1/east/bake', { ...request, ami_name: word })
    assert.equal((await bakery.ended(body['id']))['result'], 'SUCCESS', JSON.stringify(body))
    return logOf(bakery, body['id'])
  }
  await logAfter('first', 'dev')
  assert.match(await logAfter('second', 'dev'), /kept: first\n/)
  assert.match(await logAfter('third', 'prod'), /kept: .*No such file/, 'accounts share no cache')
  assert.match(
    await logAfter('fourth', undefined),
    /kept: .*none\/kept.*No such file/,
    'an image for both uses none',
  )
  await logAfter('fifth', 'dev', 'filling')
  const caches = join(bakery.infra.dataDir, 'bake-caches')
  await waitFor(
    async () => readdirSync(caches).join() === 'account-prod' || undefined,
    'the removal of the cache',
  )
  assert.match(await logAfter('sixth', 'dev'), /kept: .*No such file/)
})

const hostileRequests: [attributes: JsonObject, says: RegExp][] = [
  [{ git: '--upload-pack=touch evil' }, /no address/],
  [{ git: 'ext::sh -c "touch evil"' }, /no address/],
  [{ git: 'ssh://-oProxyCommand=evil/x' }, /no address/],
  [{ git: 'git@host:-x' }, /no address/],
  [{ git: '/tmp/x', revision: '--upload-pack=evil' }, /no revision/],
  [{ git: '/tmp/x', revision: 'main:refs/heads/main' }, /no revision/],
  [{ git: '/tmp/x', path: '../..' }, /"path"/],
  [{ directory: 'relative' }, /absolute/],
]

test('bakes beyond the limits of users and of the machine are refused', async (t) => {
  const bakery = await startBakery(t, {
    bakery: { 'local.max-running': 3, 'local.max-running-per-user': 2 },
  })
  const bake = (user: string, ami_name: string) => {
    const extended_attributes = { gate: join(bakery.folder, 'go') }
    return bakery.ask(
      'POST',
      '/api/v1/global/bake',
      { package: 'app', base_os: 'trusty', ami_name, extended_attributes },
      user,
    )
  }
  const first = await bake('ann', 'one')
  const later = []
  for (const [user, name] of [
    ['ann', 'two'],
    ['ann', 'three'],
    ['bob', 'four'],
    ['bob', 'five'],
  ] as const)
    later.push(await bake(user, name))
  assert.deepEqual(
    [first, ...later].map(({ status }) => status),
    [200, 200, 429, 200, 503],
  )
  assert.match(String(later[1]?.body['message']), /2 bakes of ann run.+max-running-per-user/)
  assert.match(String(later[3]?.body['message']), /3 bakes run.+max-running/)
  assert.equal((await bake('ann', 'one')).body['id'], first.body['id'])

  await bakery.ask('GET', `/api/v1/global/cancel/${String(first.body['id'])}`)
  assert.equal((await bake('ann', 'three')).status, 200)
})

test('bakes and uploads need WRITE on their accounts, and logs READ', async (t) => {
  const account = (name: string, first: number) => ({
    name,
    ports: `${first}-${first + 9}`,
    regions: [{ name: 'east' }],
  })
  const reads = { name: 'prod', authorizations: ['READ'] }
  const bakery = await startBakery(t, {
    local: { accounts: [account('dev', 64_100), account('prod', 64_110)] },
    views: {
      ann: { name: 'ann', accounts: [{ name: 'dev', authorizations: ['READ', 'WRITE'] }, reads] },
      bob: { name: 'bob', accounts: [reads] },
    },
  })
  const bake = (user: string, fields: JsonObject = {}) =>
    bakery.ask('POST', '/api/v1/east/bake', { package: 'app', base_os: 'quick', ...fields }, user)
  for (const [user, fields, says] of [
    ['ann', { account_name: 'prod' }, /Access denied to account prod/],
    ['bob', {}, /Access denied to account dev, prod/],
    ['eve', { account_name: 'dev' }, /Access denied to account dev/],
  ] as const) {
    const { status, body } = await bake(user, fields)
    assert.equal(status, 403, user)
    assert.match(String(body['message']), says)
  }
  assert.deepEqual(builds(bakery), [])
  const baked = await bake('ann')
  assert.equal(baked.status, 200)
  await bakery.ended(baked.body['id'])
  const found = await bakery.infra.read<JsonObject[]>('/local/images/find?q=app', 'ann')
  assert.deepEqual(
    found.map(({ accounts }) => accounts),
    [['dev']],
  )
  const log = `/api/v1/east/logs/${String(baked.body['id'])}`
  assert.equal((await bakery.ask('GET', log, undefined, 'ann')).status, 200)
  const { status, body } = await bakery.ask('GET', log, undefined, 'bob')
  assert.deepEqual([status, body['message']], [403, 'Access denied to account dev.'])

  const archive = await packImage('1')
  const upload = async (version: string, accounts: string, headers: Record<string, string>) => {
    const address = `${bakery.infra.backends.url('clouddriver')}/local/images/up/${version}${accounts}`
    return (
      await fetch(address, {
        method: 'PUT',
        body: archive,
        headers: { 'content-type': 'application/x-tar', ...headers },
      })
    ).status
  }
  const ann = { 'x-spinnaker-user': 'ann' }
  assert.equal(await upload('1', '', ann), 403)
  assert.equal(await upload('1', '?accounts=dev,prod', ann), 403)
  assert.equal(await upload('1', '?accounts=nope', ann), 400)
  assert.equal(await upload('1', '?accounts=dev', ann), 201)
  assert.equal(await upload('2', '', { 'x-fairlead-operator': 'true' }), 201)
  const remove = (id: string) =>
    bakery.infra.ask('DELETE', `/local/images/up/${id}`, undefined, 'bob')
  assert.equal((await remove('1')).status, 403)
})

test('an account with a user of its own bakes from an image', { skip: needsRoot }, async (t) => {
  const dataDir = createFolder('bakes')
  const bakery = await startBakery(t, {
    dataDir,
    local: { accounts: [{ name: 'local', user: 'nobody' }] },
    bakery: {
      'local.templates': [
        {
          id: 'on-base',
          from: 'base:1',
          steps: [{ shell: 'id -un; cat image; echo added > added' }],
        },
      ],
    },
  })
  chmodSync(bakery.folder, 0o755)
  const base = join(bakery.folder, 'base')
  mkdirSync(base)
  writeFileSync(join(base, 'fairlead-image.yml'), imageFile)
  // As the builder's own folder is called.
  writeFileSync(join(base, 'image'), 'of the base')
  const archive = await text(create({ cwd: base, portable: true }, ['.']))
  const url = `${bakery.infra.backends.url('clouddriver')}/local/images/base/1`
  await fetch(url, {
    method: 'PUT',
    body: archive,
    headers: { 'content-type': 'application/x-tar' },
  })

  const { body } = await bakery.bake({ base_os: 'on-base', ami_suffix: '1' })
  const { result } = await bakery.ended(body['id'])

  const log = await logOf(bakery, body['id'])
  assert.equal(result, 'SUCCESS', log)
  assert.match(log, /nobody\nof the base/)
  const { attributes } = await bakery.infra.read('/local/images/app/1')
  assert.equal((attributes as JsonObject)['files'], 3)
})

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { createBakeryBackend } from '../../../packages/providers/bakery/bakery.ts'
import { BakeryKeys, toBakerySettings } from '../../../packages/providers/bakery/setting-keys.ts'
import { startBackends } from '../../support/backends.ts'
import { needsHelm } from '../../support/kubernetes-programs.ts'
import { embedded, packFiles, startManifestBakery } from '../../support/manifest-bakery.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait-until.ts'

const chart = { 'web/Chart.yaml': 'name: web\n', 'web/templates/a.yaml': 'kind: Pod\n' }
const rendered = `cat <<'END'
---
# Source: web/templates/a.yaml
kind: Pod
---
# Source: web/templates/tests/try.yaml
kind: Job
---
# Source: web/templates/b.yaml
kind: Service
END`

/** Folders of bakes that exist. */
const workFolders = () =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('fairlead-manifest-'))

test('bakery-scenario 28: a chart is rendered with values files before overrides', async (t) => {
  const bakery = await startManifestBakery(t, {
    programs: { helm3: `cat ./values/1.yaml ./values/2.yaml > "$OUT/values"\n${rendered}` },
  })
  const { status, body, text } = await bakery.bake('HELM3', {
    templateRenderer: 'HELM3',
    outputName: 'rel',
    outputArtifactName: 'm',
    inputArtifacts: [embedded(await packFiles(chart)), embedded('a: 2\n'), embedded('a: 3\n')],
    overrides: { a: '1', 'b.c': 'x,y', d: '{e,f}', n: 5, t: true },
    namespace: '--post-renderer=/bin/sh',
    apiVersions: 'apps/v1, batch/v1',
    kubeVersion: '1.34',
    includeCRDs: true,
  })
  assert.equal(status, 200, text)
  assert.deepEqual(
    { type: body['type'], name: body['name'] },
    { type: 'embedded/base64', name: 'm' },
  )
  assert.match(text, /kind: Pod\n---\n# Source: web\/templates\/b\.yaml\nkind: Service/)
  assert.doesNotMatch(text, /kind: Job/)
  assert.deepEqual(bakery.starts(), [
    [
      'template',
      '--namespace=--post-renderer=/bin/sh',
      '--include-crds',
      '--api-versions=apps/v1',
      '--api-versions=batch/v1',
      '--kube-version=1.34',
      '--values=./values/1.yaml',
      '--values=./values/2.yaml',
      '--set-string=a=1',
      '--set-string=b.c=x\\,y',
      '--set-string=d={e,f}',
      '--set-string=n=5',
      '--set-string=t=true',
      '--',
      'rel',
      './chart/web',
    ],
  ])
  assert.equal(readFileSync(join(bakery.folder, 'values'), 'utf8'), 'a: 2\na: 3\n')
})

test('raw overrides keep their types, and Helm 2 has its own arguments', async (t) => {
  const bakery = await startManifestBakery(t, { programs: { helm2: 'echo kind: Pod' } })
  const request = {
    outputName: '-f',
    inputArtifacts: [embedded(await packFiles({ 'Chart.yaml': 'a', 'b/c': '' }))],
    includeCRDs: true,
  }
  assert.equal(
    (await bakery.bake('helm2', { ...request, overrides: { a: 1 }, rawOverrides: 'true' })).status,
    200,
  )
  assert.deepEqual(bakery.starts(), [['template', '--set=a=1', '--name=-f', '--', './chart']])
  const list = await bakery.bake('HELM2', { ...request, overrides: { a: [1] } })
  assert.equal(list.status, 400)
  assert.match(list.text, /"a" must be a text/)
})

test('a program renders without the environment and the home of Fairlead', async (t) => {
  process.env['FAIRLEAD_TEST_SECRET'] = 'hidden'
  t.after(() => delete process.env['FAIRLEAD_TEST_SECRET'])
  const bakery = await startManifestBakery(t, {
    programs: { helm3: 'mkdir "$HOME/x"; echo kind: Pod' },
  })
  const { status } = await bakery.bake('HELM3', {
    outputName: 'rel',
    inputArtifacts: [embedded(await packFiles(chart))],
  })
  assert.equal(status, 200)
  const work = readFileSync(join(bakery.folder, 'pwd'), 'utf8').trim()
  const variables = new Map(
    readFileSync(join(bakery.folder, 'env'), 'utf8')
      .split('\n')
      .map((line) => line.split('=', 2) as [string, string]),
  )
  assert.equal(variables.has('FAIRLEAD_TEST_SECRET'), false)
  for (const name of ['HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME', 'TMPDIR'])
    assert.ok(variables.get(name)?.startsWith(`${work}/`), name)
  assert.equal(variables.get('KUBECONFIG'), '/dev/null')
  assert.equal(existsSync(work), false, 'the work folder is removed')
})

test('bakery-scenario 29: a failed rendering is 500 with the words of the program', async (t) => {
  const bakery = await startManifestBakery(t, {
    programs: { helm3: 'echo "parse error at ($PWD/chart/web/templates/a.yaml:3)" >&2; exit 1' },
  })
  const inputArtifacts = [embedded(await packFiles(chart))]
  const failed = await bakery.bake('HELM3', { outputName: 'rel', inputArtifacts })
  assert.equal(failed.status, 500)
  assert.match(
    failed.text,
    /Helm failed with exit code 1\. parse error at \(chart\/web\/templates\/a\.yaml:3\)/,
  )
  const before = bakery.starts().length
  const cases: [status: number, request: JsonObject, says: RegExp][] = [
    [400, { inputArtifacts }, /outputName/],
    [400, { outputName: 'rel', inputArtifacts: [] }, /"inputArtifacts"/],
    [400, { outputName: 'rel', inputArtifacts: [embedded('a: 1')] }, /must be a chart/],
    [
      400,
      { outputName: 'rel', inputArtifacts: [embedded(await packFiles({ 'a/b': '' }))] },
      /no Chart\.yaml/,
    ],
    [
      400,
      {
        outputName: 'rel',
        inputArtifacts: [embedded(await packFiles({ 'web/x': '->/etc/passwd' }))],
      },
      /cannot be unpacked.*link/,
    ],
    [
      400,
      { outputName: 'rel', inputArtifacts: [{ type: 'http/file', artifactAccount: 'web' }] },
      /"web" does not exist/,
    ],
    [400, { outputName: 'rel', inputArtifacts: 'x' }, /inputArtifacts: /],
  ]
  for (const [status, request, says] of cases) {
    const answer = await bakery.bake('HELM3', request)
    assert.equal(answer.status, status, answer.text)
    assert.match(answer.text, says)
  }
  assert.equal(bakery.starts().length, before, 'no program was started for them')
})

test('bakery-scenario 29: the status of a failed download is passed on', async (t) => {
  const keys = BakeryKeys.parse({ 'bakery.manifests.helm3': '/bin/true' })
  const bakery = toBakerySettings(keys, { problem: () => {} }, { isPrivate: false, dataDir: '' })
  const asked: unknown[] = []
  const backends = await startBackends(t, [createBakeryBackend([])], {
    settings: { bakery },
    others: async (service, { method, path, body, headers }) => {
      asked.push([service, method, path, body, headers?.['x-spinnaker-user']])
      return { status: 404, body: { message: 'no such file' } }
    },
  })
  const artifact = { type: 'http/file', name: 'web.tgz', artifactAccount: 'web' }
  const request = { outputName: 'rel', inputArtifacts: [artifact] }
  const answer = await backends.ask('rosco', 'POST', '/api/v2/manifest/bake/HELM3', request, {
    'x-spinnaker-user': 'al',
  })
  assert.equal(answer.status, 404)
  assert.match(String((answer.body as JsonObject)['message']), /"web\.tgz".*no such file/)
  assert.deepEqual(asked, [['clouddriver', 'PUT', '/artifacts/fetch', artifact, 'al']])
})

function withoutPrograms(t: TestContext): void {
  const path = process.env['PATH']
  t.after(() => {
    process.env['PATH'] = path
  })
  process.env['PATH'] = '/nonexistent'
}

test('a machine without a sandbox is 500 with what to install', async (t) => {
  withoutPrograms(t)
  const bakery = await startManifestBakery(t, {
    programs: { helm3: 'echo kind: Pod' },
    sandbox: 'bwrap',
  })
  const inputArtifacts = [embedded(await packFiles(chart))]
  const { status, text } = await bakery.bake('HELM3', { outputName: 'rel', inputArtifacts })
  assert.equal(status, 500)
  assert.match(text, /Helm cannot be started: There is no sandbox.*Install bubblewrap/)
  assert.deepEqual(bakery.starts(), [])
})

test('a program that is not installed is named with its setting', async (t) => {
  withoutPrograms(t)
  const bakery = await startManifestBakery(t, {
    settings: { 'bakery.manifests.helm2': '/nonexistent/helm' },
  })
  const inputArtifacts = [embedded('')]
  for (const [type, request, says] of [
    [
      'HELM3',
      { outputName: 'rel', inputArtifacts },
      /need Helm.*Install it, or set bakery\.manifests\.helm3 /,
    ],
    [
      'HELM2',
      { outputName: 'rel', inputArtifacts },
      /bakery\.manifests\.helm2 is \/nonexistent\/helm/,
    ],
    [
      'KUSTOMIZE4',
      { inputArtifact: embedded('') },
      /need Kustomize.*bakery\.manifests\.kustomize4 or bakery\.manifests\.kubectl /,
    ],
  ] as const) {
    const { status, text } = await bakery.bake(type, request)
    assert.equal(status, 400)
    assert.match(text, says)
  }
})

test('a program that takes too long or writes too much is ended', async (t) => {
  const slow = await startManifestBakery(t, {
    programs: { helm3: 'echo $$ > "$OUT/pid"; (trap "" TERM; sleep 1000) & wait' },
    settings: { 'bakery.manifests.time-limit-seconds': 1 },
  })
  const request = { outputName: 'rel', inputArtifacts: [embedded(await packFiles(chart))] }
  const late = await slow.bake('HELM3', request)
  assert.equal(late.status, 500)
  assert.match(late.text, /did not end within 1 seconds.*time-limit-seconds/)
  const loud = await startManifestBakery(t, { programs: { helm3: 'yes' } })
  const answer = await loud.bake('HELM3', request)
  assert.equal(answer.status, 500)
  assert.match(answer.text, /wrote more than 16777216 bytes/)
})

test('more bakes than are allowed at the same time are answered with 503', async (t) => {
  const bakery = await startManifestBakery(t, {
    programs: { helm3: 'until [ -e "$OUT/go" ]; do sleep 0.05; done; echo kind: Pod' },
    settings: { 'bakery.manifests.max-running': 1 },
  })
  const request = { outputName: 'rel', inputArtifacts: [embedded(await packFiles(chart))] }
  const first = bakery.bake('HELM3', request)
  await waitUntil(() => bakery.starts().length === 1, 'the first bake')
  const second = await bakery.bake('HELM3', request)
  assert.equal(second.status, 503)
  assert.match(second.text, /max-running/)
  writeFileSync(join(bakery.folder, 'go'), '')
  assert.equal((await first).status, 200)
})

test('a repository has its chart where helmChartFilePath says', async (t) => {
  const bakery = await startManifestBakery(t, { programs: { helm3: 'echo kind: Pod' } })
  const content = embedded(
    await packFiles({ 'charts/web/Chart.yaml': '', 'charts/api/Chart.yaml': '', README: '' }),
  )
  const ask = (helmChartFilePath: string) =>
    bakery.bake('HELM3', { outputName: 'rel', inputArtifacts: [content], helmChartFilePath })
  assert.equal((await ask('charts/web')).status, 200)
  assert.equal((await ask('charts/api/Chart.yaml')).status, 200)
  assert.deepEqual(
    bakery.starts().map((args) => args.at(-1)),
    ['./chart/charts/web', './chart/charts/api'],
  )
  const outside = await ask('../../')
  assert.equal(outside.status, 400)
  assert.match(outside.text, /helmChartFilePath must be a path inside/)
})

test('whatever a chart contains, Helm reads its folder alone, within its memory', async (t) => {
  const helm = needsHelm(t)
  if (helm === undefined) return
  const service = await startUpstream(t, { 'GET /schema': new Reply(200, '{"enum": ["stolen"]}') })
  const folder = createFolder('private')
  t.after(() => removeFolder(folder))
  writeFileSync(join(folder, 'schema'), '{"enum": ["stolen"]}')
  const web = {
    'web/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 0.1.0\n',
    'web/values.yaml': 'x: 1\n',
  }
  const refer = (ref: string) => JSON.stringify({ properties: { x: { $ref: ref } } })
  const dependency = (ref: string) =>
    packFiles({
      'sub/Chart.yaml': 'apiVersion: v2\nname: sub\nversion: 1.0.0',
      'sub/values.yaml': 'x: 1',
      'sub/values.schema.json': refer(ref),
    })
  const linked = { 'web/charts': '->deps' }
  const cases: [says: RegExp, files: Record<string, string | Buffer>][] = [
    [/it has no network/, { 'web/values.schema.json': refer(`${service.url}/schema`) }],
    [
      /it has no network/,
      { ...linked, 'web/deps/sub-1.tgz': await dependency(`${service.url}/schema`) },
    ],
    [
      /no such file/,
      { ...linked, 'web/deps/sub-1.tgz': await dependency(`file://${folder}/schema`) },
    ],
    [/no such file/, { 'web/values.schema.json': refer('file:///etc/shadow') }],
    [
      /MiB of memory/,
      {
        'web/templates/a.yaml':
          '{{ $a := repeat 1200000000 "x" }}{{ $b := printf "%s" $a }}kind: {{ len $b }}',
      },
    ],
  ]
  const bakery = await startManifestBakery(t, {
    settings: { 'bakery.manifests.helm3': helm },
    sandbox: 'auto',
  })
  const bake = async (files: Record<string, string | Buffer>) =>
    bakery.bake('HELM3', {
      outputName: 'rel',
      inputArtifacts: [embedded(await packFiles({ ...web, ...files }))],
    })
  for (const [says, files] of cases) {
    const { status, text } = await bake(files)
    assert.equal(status, 500, text)
    assert.match(text, says)
    assert.doesNotMatch(text, /stolen/)
  }
  assert.deepEqual(service.requests, [])
  const harmless =
    '{{ .Files.Get "/etc/passwd" }}{{ .Files.Get "../../etc/passwd" }}{{ lookup "v1" "Secret" "" "" }}{{ getHostByName "localhost" }}'
  const { status, text } = await bake({ 'web/templates/a.yaml': `kind: "x${harmless}"` })
  assert.equal(status, 200, text)
  assert.match(text, /kind: "xmap\[\]"/)
})

test('Helmfile needs its setting and commands', async (t) => {
  const inputArtifacts = [
    embedded(await packFiles({ 'helmfile.yaml': 'releases: []', 'other/h.yaml': '' })),
    embedded('a: 1'),
  ]
  const request = {
    inputArtifacts,
    environment: 'prod',
    namespace: 'web',
    includeCRDs: true,
    overrides: { a: 1 },
  }
  const refusing = await startManifestBakery(t, {
    programs: { helmfile: 'echo kind: Pod', helm3: '' },
  })
  assert.match((await refusing.bake('HELMFILE', request)).text, /bakery\.local\.enabled/)
  const unset = await startManifestBakery(t, { programs: { helm3: '' }, allowsCommands: true })
  assert.match((await unset.bake('HELMFILE', request)).text, /bakery\.manifests\.helmfile /)

  const bakery = await startManifestBakery(t, {
    programs: { helmfile: rendered, helm3: '' },
    allowsCommands: true,
  })
  const { status, text } = await bakery.bake('HELMFILE', {
    ...request,
    stateValuesArtifacts: [embedded('s: 1')],
    helmfileFilePath: 'other/h.yaml',
  })
  assert.equal(status, 200, text)
  assert.doesNotMatch(text, /kind: Job/)
  const work = readFileSync(join(bakery.folder, 'pwd'), 'utf8').trim()
  assert.deepEqual(
    bakery.starts()[0]?.map((argument) => argument.replace(work, '')),
    [
      '--file=./helmfile/other/h.yaml',
      `--helm-binary=${join(bakery.folder, 'helm3')}`,
      '--environment=prod',
      '--namespace=web',
      '--state-values-file=/state-values/1.yaml',
      'template',
      '--skip-deps',
      '--include-crds',
      '--values=/values/1.yaml',
      '--set=a=1',
    ],
  )
  for (const field of ['environment', 'namespace']) {
    const wrong = await bakery.bake('HELMFILE', { ...request, [field]: 'a b' })
    assert.equal(wrong.status, 400)
    assert.match(wrong.text, new RegExp(`"${field}" may have`))
  }
})

test('no bake leaves its work folder', async (t) => {
  const bakery = await startManifestBakery(t, { programs: { helm3: 'exit 1' } })
  const request = { outputName: 'rel', inputArtifacts: [embedded(await packFiles(chart))] }
  await bakery.bake('HELM3', request)
  const work = readFileSync(join(bakery.folder, 'pwd'), 'utf8').trim()
  assert.ok(!workFolders().some((name) => work.endsWith(name)))
})

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../../packages/base/json/values.ts'
import { parseHelmIndex } from '../../../../packages/providers/artifacts/helm.ts'
import { type RecordedRequest, Reply, startUpstream } from '../../../support/upstream.ts'
import { startArtifacts } from '../artifact-service.ts'

const basic = `Basic ${Buffer.from('al:word').toString('base64')}`
const login = { username: 'al', password: 'word' }

/** Files behind a login, as a web server has them, with an ETag for each. */
function startFiles(t: TestContext, files: Readonly<Record<string, string>>) {
  return startUpstream(t, ({ path, headers }: RecordedRequest) => {
    const content = files[path]
    if (headers.authorization !== basic) return new Reply(401, 'login')
    if (content === undefined) return new Reply(404, 'none')
    const etag = `"${hash('sha1', content, 'hex')}"`
    return headers['if-none-match'] === etag ? new Reply(304) : new Reply(200, content, { etag })
  })
}

const charts = { web1: 'chart web 1', web2: 'chart web 2', beta: 'chart web 3 beta' }
const sha256 = (text: string) => hash('sha256', text, 'hex')
const index = `apiVersion: v1
entries:
  web:
  - name: web
    version: 1.10.0
    digest: ${sha256(charts.web2)}
    description: |
      A text: with
      colons:
    urls:
    - charts/web-1.10.0.tgz
  - name: web
    version: 1.9.0
    digest: ${sha256(charts.web1)}
    urls: [charts/web-1.9.0.tgz]
  - {name: web, version: 2.0.0-beta.1, urls: [charts/web-2.0.0-beta.1.tgz]}
  - {name: web, version: 0.1.0, digest: ${sha256('other')}, urls: [charts/web-1.9.0.tgz]}
  "oci":
  - name: oci
    version: 1.0.0
    urls: ["oci://registry.example/charts/oci"]
generated: "2031-01-01T00:00:00Z"
`

test('charts of a Helm repository are fetched by version and range', async (t) => {
  const files = await startFiles(t, {
    '/helm/index.yaml': index,
    '/helm/charts/web-1.9.0.tgz': charts.web1,
    '/helm/charts/web-1.10.0.tgz': charts.web2,
    '/helm/charts/web-2.0.0-beta.1.tgz': charts.beta,
  })
  const settings = {
    'artifacts.helm.enabled': true,
    'artifacts.helm.accounts': [{ name: 'charts', repository: `${files.url}/helm`, ...login }],
  }
  const service = await startArtifacts(t, { settings, isLoopbackAllowed: false })
  const ask = (name: string, version?: string) =>
    service.fetch({ type: 'helm/chart', artifactAccount: 'charts', name, version })

  for (const [version, content] of [
    [undefined, charts.web2],
    ['1.9.0', charts.web1],
    ['^1.9', charts.web2],
    ['2.0.0-beta.1', charts.beta],
  ] as const) {
    const { bytes, message } = await ask('web', version)
    assert.equal(bytes.toString(), content, message)
  }
  const fetches = files.requests.map(({ path }) => path)
  assert.equal(
    fetches.filter((path) => path === '/helm/charts/web-1.10.0.tgz').length,
    1,
    'it is kept by its digest',
  )

  for (const [name, version, status, says] of [
    ['web', '3', 404, /has no chart web 3\.$/],
    ['none', undefined, 404, /has no chart none\.$/],
    ['oci', undefined, 502, /use an artifact of type helm\/image/],
    ['web', '0.1.0', 502, /not what was expected/],
  ] as const) {
    const answer = await ask(name, version)
    assert.equal(answer.status, status, answer.message)
    assert.match(answer.message, says)
  }
  assert.deepEqual((await service.list('charts/names?type=helm%2Fchart')).body, ['oci', 'web'])
  const versions = await service.list('charts/versions?type=helm%2Fchart&artifactName=web')
  assert.deepEqual(versions.body, ['2.0.0-beta.1', '1.10.0', '1.9.0', '0.1.0'])
})

test('an index of a Helm repository is read in each of its layouts', () => {
  const layouts = [
    index,
    index.replaceAll('\n', '\r\n'),
    JSON.stringify({ entries: { web: [{ version: '1.10.0' }], oci: [] } }),
    'entries: {web: [{version: 1.10.0}], oci: []}',
    'entries:\n    # charts\n    web:\n        - version: 1.10.0\n    oci: []\n',
  ]
  for (const layout of layouts) {
    const { names, entriesOf } = parseHelmIndex(layout)
    assert.deepEqual(names(), ['web', 'oci'], layout)
    assert.equal(entriesOf('web')[0]?.version, '1.10.0')
    assert.deepEqual(entriesOf('none'), [])
  }
  for (const broken of ['', '<html>', '{"entries": 1}', 'entries: [', '{'])
    assert.throws(() => parseHelmIndex(broken))
})

const metadata = `<?xml version="1.0"?>
<metadata><!-- <release>0</release> -->
  <versioning>
    <latest>2.0-SNAPSHOT</latest><release>1.1</release>
    <versions><version>1.0</version><version>1.1</version><version>2.0-SNAPSHOT</version></versions>
  </versioning>
</metadata>`
const snapshots = `<metadata><versioning>
  <snapshot><timestamp>20310101.101010</timestamp><buildNumber>7</buildNumber></snapshot>
  <snapshotVersions>
    <snapshotVersion><extension>jar</extension><value>2.0-20310101.101010-7</value></snapshotVersion>
    <snapshotVersion><classifier>all</classifier><extension>zip</extension><value>2.0-20310101.090909-6</value></snapshotVersion>
  </snapshotVersions>
</versioning></metadata>`

test('files of a Maven repository are fetched as releases and snapshots', async (t) => {
  const files = await startFiles(t, {
    '/maven/com/shop/web/maven-metadata.xml': metadata,
    '/maven/com/shop/web/2.0-SNAPSHOT/maven-metadata.xml': snapshots,
    '/maven/com/shop/web/1.0/web-1.0.jar': 'one',
    '/maven/com/shop/web/1.0/web-1.0.jar.sha1': `${hash('sha1', 'one', 'hex')}  web-1.0.jar\n`,
    '/maven/com/shop/web/1.1/web-1.1.jar': 'one one',
    '/maven/com/shop/web/1.1/web-1.1.jar.sha256': hash('sha256', 'one one', 'hex'),
    '/maven/com/shop/web/1.1/web-1.1.pom': 'changed',
    '/maven/com/shop/web/1.1/web-1.1.pom.sha1': hash('sha1', 'pom', 'hex'),
    '/maven/com/shop/web/2.0-SNAPSHOT/web-2.0-20310101.101010-7.jar': 'two',
    '/maven/com/shop/web/2.0-SNAPSHOT/web-2.0-20310101.090909-6-all.zip': 'two zip',
  })
  const settings = {
    'artifacts.maven.enabled': true,
    'artifacts.maven.accounts': [{ name: 'maven', repositoryUrl: `${files.url}/maven/`, ...login }],
  }
  const service = await startArtifacts(t, { settings, isLoopbackAllowed: false })
  const ask = (reference: string, version?: string) =>
    service.fetch({ type: 'maven/file', artifactAccount: 'maven', reference, version })
  for (const [reference, version, content] of [
    ['com.shop:web:1.0', undefined, 'one'],
    ['com.shop:web', '1.0', 'one'],
    ['com.shop:web', undefined, 'one one'],
    ['com.shop:web:latest.release', undefined, 'one one'],
    ['com.shop:web:LATEST', undefined, 'two'],
    ['com.shop:web:zip:all:2.0-SNAPSHOT', undefined, 'two zip'],
  ] as const) {
    const { bytes, message } = await ask(reference, version)
    assert.equal(bytes.toString(), content, `${reference}: ${message}`)
  }
  for (const [reference, status, says] of [
    ['com.shop:web:pom:1.1', 502, /not what was expected/],
    ['com.shop:web:3', 404, /web-3\.jar does not exist/],
    ['com.shop:none:RELEASE', 404, /maven-metadata\.xml does not exist/],
    ['web', 400, /group:artifact/],
    ['com.shop:..:1', 400, /group:artifact/],
  ] as const) {
    const answer = await ask(reference)
    assert.equal(answer.status, status, answer.message)
    assert.match(answer.message, says)
  }
  const versions = await service.list('maven/versions?type=maven%2Ffile&artifactName=com.shop:web')
  assert.deepEqual(versions.body, ['2.0-SNAPSHOT', '1.1', '1.0'])
  assert.deepEqual((await service.list('maven/names?type=maven')).body, [])
})

test('packages of an npm registry are fetched by version, tag and range', async (t) => {
  const packages: Record<string, unknown> = {}
  const source = await startUpstream(t, ({ path, headers }: RecordedRequest) => {
    if (headers.authorization !== 'Bearer t0ken') return new Reply(401, { error: 'login' })
    return packages[path] ?? new Reply(404, { error: 'Not found' })
  })
  const integrity = (text: string) => `sha512-${hash('sha512', text, 'base64')}`
  const tarball = (version: string) => `${source.url}/@shop/web/-/web-${version}.tgz`
  packages['/@shop%2fweb'] = {
    name: '@shop/web',
    'dist-tags': { latest: '1.2.0', next: '2.0.0-rc.1' },
    versions: {
      '1.0.0': { dist: { tarball: tarball('1.0.0'), shasum: hash('sha1', 'one', 'hex') } },
      '1.2.0': {
        dist: { tarball: tarball('1.2.0'), integrity: integrity('one two'), shasum: 'f' },
      },
      '1.10.0': { dist: { tarball: tarball('1.10.0'), integrity: integrity('other') } },
      '2.0.0-rc.1': { dist: { tarball: tarball('2.0.0-rc.1'), integrity: integrity('rc') } },
    },
  }
  for (const [version, content] of [
    ['1.0.0', 'one'],
    ['1.2.0', 'one two'],
    ['1.10.0', 'changed'],
    ['2.0.0-rc.1', 'rc'],
  ])
    packages[`/@shop/web/-/web-${version}.tgz`] = new Reply(200, content)
  const settings = {
    'artifacts.npm.enabled': true,
    'artifacts.npm.accounts': [
      { name: 'npm', registry: source.url, token: 't0ken' },
      { name: 'public', registry: source.url },
    ],
  }
  const service = await startArtifacts(t, { settings, isLoopbackAllowed: false })
  const ask = (name: string, version?: string, artifactAccount = 'npm') =>
    service.fetch({ type: 'npm/package', artifactAccount, name, version })
  for (const [version, content] of [
    [undefined, 'one two'],
    ['next', 'rc'],
    ['1.0.0', 'one'],
    ['~1.2.0', 'one two'],
  ] as const) {
    const { bytes, message } = await ask('@shop/web', version)
    assert.equal(bytes.toString(), content, message)
  }
  for (const [name, version, account, status] of [
    ['@shop/web', '3', 'npm', 404],
    ['none', undefined, 'npm', 404],
    ['@shop/web', '1.10.0', 'npm', 502],
    ['@shop/web', undefined, 'public', 502],
    ['../web', undefined, 'npm', 400],
  ] as const) {
    const answer = await ask(name, version, account)
    assert.equal(answer.status, status, answer.message)
  }
  const versions = await service.list('npm/versions?type=npm%2Fpackage&artifactName=%40shop%2Fweb')
  assert.deepEqual(versions.body, ['2.0.0-rc.1', '1.10.0', '1.2.0', '1.0.0'])
})

test('what an artifact says about its digest is checked', async (t) => {
  const service = await startArtifacts(t)
  const ask = (digest: string) =>
    service.fetch({
      type: 'embedded/base64',
      reference: Buffer.from('a').toString('base64'),
      metadata: { digest },
    } satisfies JsonObject)
  assert.equal((await ask(`sha256:${sha256('a')}`)).bytes.toString(), 'a')
  assert.equal((await ask(sha256('a'))).status, 200)
  const wrong = await ask(`sha256:${sha256('b')}`)
  assert.equal(wrong.status, 502)
  assert.match(wrong.message, /not what was expected/)
  assert.equal((await ask('md5:1')).status, 400)
})

import assert from 'node:assert/strict'
import { accessSync, constants, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startGitServer } from '../../support/git-server.ts'
import { needsKubernetes } from '../../support/kubernetes-programs.ts'
import { embedded, packFiles, startManifestBakery } from '../../support/manifest-bakery.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'

const files = {
  'base/kustomization.yaml':
    'resources: [service.yaml]\nconfigMapGenerator:\n- name: c\n  literals: ["url=http://localhost:8080"]\n',
  'base/service.yaml': 'apiVersion: v1\nkind: Service\nmetadata: {name: web}\n',
  'overlays/prod/kustomization.yaml':
    'resources: [../../base]\nnamePrefix: prod-\ncommonAnnotations: {see: "https://docs.example"}\n',
}
const gitSettings = {
  'artifacts.git-repo.enabled': true,
  'artifacts.git-repo.accounts': [{ name: 'git' }],
}

test('bakery-scenario 30: a kustomization of a repository is built', async (t) => {
  const repository = await startGitServer(t)
  repository.commit(files)
  const bakery = await startManifestBakery(t, {
    programs: { kustomize4: 'cat overlays/*/kustomization.yaml || cat "$2"/*' },
    artifacts: gitSettings,
  })
  const inputArtifact = {
    type: 'git/repo',
    artifactAccount: 'git',
    reference: repository.url,
    version: 'main',
  }
  const request = {
    inputArtifact,
    outputArtifactName: 'm',
    kustomizeFilePath: 'overlays/prod/kustomization.yaml',
  }
  const { status, text, body } = await bakery.bake('KUSTOMIZE4', request)
  assert.equal(status, 200, text)
  assert.equal(body['name'], 'm')
  assert.match(text, /namePrefix: prod-/)
  assert.deepEqual(bakery.starts(), [['build', './kustomization/overlays/prod']])
  const without = await bakery.bake('KUSTOMIZE4', { inputArtifact })
  assert.equal(without.status, 400)
  assert.match(without.text, /kustomizeFilePath/)
})

test('bakery-scenario 30: kubectl builds what Kustomize would', async (t) => {
  const kubectl = findKubectl() ?? needsKubernetes(t)?.kubectl
  if (kubectl === undefined) return
  const settings = { 'bakery.manifests.kubectl': kubectl }
  const bakery = await startManifestBakery(withoutKustomize(t), { settings, sandbox: 'auto' })
  const inputArtifact = embedded(await packFiles(files))
  const { status, text } = await bakery.bake('kustomize', {
    inputArtifact,
    kustomizeFilePath: './overlays/prod',
  })
  assert.equal(status, 200, text)
  assert.match(text, /kind: Service/)
  assert.match(text, /name: prod-web/)
  assert.match(text, /url: http:\/\/localhost:8080/)
  const broken = await bakery.bake('KUSTOMIZE5', {
    inputArtifact: embedded(await packFiles({ 'kustomization.yaml': 'resources: [none.yaml]' })),
    kustomizeFilePath: 'kustomization.yaml',
  })
  assert.equal(broken.status, 500)
  assert.match(broken.text, /Kustomize failed with exit code 1.*none\.yaml/)
})

const binary = (text: string) => `!!binary ${Buffer.from(text).toString('base64')}`

test('whatever a kustomization names, Kustomize reads its repository alone', async (t) => {
  const kubectl = findKubectl() ?? needsKubernetes(t)?.kubectl
  if (kubectl === undefined) return
  const service = await startUpstream(t, {
    'GET /a.yaml': new Reply(200, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stolen}'),
  })
  const url = `${service.url}/a.yaml`
  const hidden = join(createFolder('private'), 'a.yaml')
  t.after(() => removeFolder(dirname(hidden)))
  writeFileSync(hidden, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stolen}')
  const transformer = `apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: a}\npath: ${url}\n`
  const hostile: Readonly<Record<string, Readonly<Record<string, string | Buffer>>>> = {
    'a resource of a server': { 'kustomization.yaml': `resources: ["${url}"]` },
    'an address in another spelling': { 'kustomization.yaml': `resources: [${binary(url)}]` },
    'another encoding': {
      'kustomization.yaml': Buffer.concat([
        Buffer.from([0xff, 0xfe]),
        Buffer.from(`resources: ["${url}"]\n`, 'utf16le'),
      ]),
    },
    'a file of a generator': {
      'kustomization.yaml': `configMapGenerator: [{name: a, files: ["a b=${url}"]}]`,
    },
    'a repository': { 'kustomization.yaml': `resources: ["${service.url}/x.git//base?ref=v1"]` },
    'an address in a base': {
      'kustomization.yaml': 'bases: [b]',
      'b/kustomization.yml': `crds: [${binary(url)}]`,
    },
    'an inline transformer': {
      'kustomization.yaml': `transformers:\n- |-\n${transformer.replaceAll(/^/gm, '  ')}`,
    },
    'a transformer of its own': {
      'kustomization.yaml': 'transformers: [t.yaml]',
      't.yaml': transformer,
    },
    'a folder of this machine': {
      'kustomization.yaml': `resources: [${JSON.stringify(dirname(hidden))}]`,
    },
    'a file of this machine': { 'kustomization.yaml': `resources: [${JSON.stringify(hidden)}]` },
    'a chart': { 'kustomization.yaml': `helmCharts: [{name: a, repo: "${service.url}"}]` },
    'a function': {
      'kustomization.yaml': 'generators: [f.yaml]',
      'f.yaml':
        'apiVersion: a/v1\nkind: A\nmetadata:\n  name: a\n  annotations: {config.kubernetes.io/function: "exec: {path: ./x.sh}"}\n',
      'x.sh': '#!/bin/sh\ncat /etc/shadow',
    },
  }
  const bakery = await startManifestBakery(withoutKustomize(t), {
    settings: { 'bakery.manifests.kubectl': kubectl },
    sandbox: 'auto',
  })
  for (const [what, content] of Object.entries(hostile)) {
    const inputArtifact = embedded(await packFiles(content))
    const { status, text } = await bakery.bake('KUSTOMIZE', {
      inputArtifact,
      kustomizeFilePath: 'kustomization.yaml',
    })
    assert.equal(status, 500, `${what}: ${text}`)
    assert.doesNotMatch(text, /stolen|root:/)
  }
  assert.deepEqual(service.requests, [])
})

test('files that a kustomization names are fetched beside it', async (t) => {
  const source = await startUpstream(t, {
    'GET /web/prod/kustomization.yaml': new Reply(
      200,
      'resources: [a.yaml, ../base]\npatches: [{path: p.json}, {patch: "x: {y: z.yaml}"}]',
    ),
    'GET /web/prod/a.yaml': new Reply(200, 'kind: A'),
    'GET /web/prod/p.json': new Reply(200, '[]'),
    'GET /web/base/Kustomization': new Reply(200, 'resources: [b.yaml]'),
    'GET /web/base/b.yaml': new Reply(200, 'kind: B'),
  })
  const bakery = await startManifestBakery(t, {
    programs: { kustomize: 'cd "$2" && cat a.yaml p.json ../base/Kustomization ../base/b.yaml' },
    artifacts: { 'artifacts.http.enabled': true },
  })
  const artifact = { type: 'http/file', artifactAccount: 'no-auth-http-account' }
  const inputArtifact = { ...artifact, reference: `${source.url}/web/prod/kustomization.yaml` }
  const { status, text } = await bakery.bake('KUSTOMIZE', { inputArtifact })
  assert.equal(status, 200, text)
  assert.equal(text, 'kind: A[]resources: [b.yaml]kind: B')
  const other = await bakery.bake('KUSTOMIZE', {
    inputArtifact: { ...artifact, reference: `${source.url}/web/prod/a.yaml` },
  })
  assert.equal(other.status, 400)
  source.answer({ 'GET /web/prod/kustomization.yaml': new Reply(200, 'resources: [a.yaml]') })
  assert.equal((await bakery.bake('KUSTOMIZE', { inputArtifact })).status, 404)
  const hostile = {
    [`a: ${'x'.repeat(140_000)}`]: /longer than 131072 characters/,
    [`a: &a [b, c]\nd: [${'*a, '.repeat(99)}]`]: /alias/,
  }
  for (const [content, message] of Object.entries(hostile)) {
    source.answer({ 'GET /web/prod/kustomization.yaml': new Reply(200, content) })
    const refused = await bakery.bake('KUSTOMIZE', { inputArtifact })
    assert.deepEqual([refused.status, message.test(refused.text)], [400, true], refused.text)
  }
})

function findKubectl(): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'kubectl'))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

/** Programs of the system stay, so that scripts run; Kustomize is rarely there. */
function withoutKustomize(t: TestContext): TestContext {
  const path = process.env['PATH']
  t.after(() => {
    process.env['PATH'] = path
  })
  process.env['PATH'] = '/usr/bin:/bin'
  return t
}

/** `fairlead export`, `diff` and `apply` between files and real instances. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { JsonObject } from '../../packages/base/json/values.ts'
import { toPortable } from '../../packages/cli/files/definition.ts'
import { readDefinitions } from '../../packages/model/definition-files/read-file.ts'
import { startGateway } from '../support/gateway.ts'
import { program } from '../support/program.ts'
import { waitUntil } from '../support/wait-until.ts'

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

const wait = { type: 'wait', name: 'Wait', refId: '1', requisiteStageRefIds: [], waitTime: 1 }

const resources = `apiVersion: pacrd.armory.spinnaker.io/v1alpha1
kind: Pipeline
metadata: { name: web }
spec:
  stages:
    - type: deployManifest
      properties: { refId: "1", manifests: ["apiVersion: v1\\nkind: Service"] }
    - type: webhook
      properties: { <<: &common { name: a, refId: "2" }, payload: '{"a": 1}', name: b }
    - { type: BakeManifest, name: Bake, bakeManifest: { templateRenderer: helm2 } }
`

test('files and instances', { timeout: 600_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-files-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const url = await startGateway(t, {}, { embedded: true })
  const other = await startGateway(t, {}, { embedded: true })

  const run = (at: string, ...args: string[]) =>
    new Promise<Ended>((resolve) => {
      const env = { ...process.env, FAIRLEAD_URL: at, FAIRLEAD_TOKEN: '', XDG_CONFIG_HOME: folder }
      execFile(process.execPath, [program, ...args], { cwd: folder, env }, (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), out, err }),
      )
    })
  const ask = async (at: string, method: string, path: string, body?: unknown) => {
    const answer = await fetch(at + path, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answered = await answer.text()
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${answered}`)
    return answered === '' ? undefined : JSON.parse(answered)
  }
  const pipelines = async (at: string): Promise<JsonObject[]> =>
    ask(at, 'GET', '/applications/shop/pipelineConfigs')
  const names = async (at: string) => (await pipelines(at)).map(({ name }) => name).sort()
  const write = (path: string, content: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }

  const calls = new Set<string>()
  let beforeSave: (() => Promise<void>) | undefined
  const relay = createServer(async (request, response) => {
    const body = await text(request)
    const { method = 'GET', url: path = '' } = request
    calls.add(`${method} ${path.split('?')[0]}`)
    if (method === 'POST' && path.startsWith('/pipelines')) await beforeSave?.()
    const answer = await fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== '' && { body }),
    })
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(await answer.text())
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  t.after(() => relay.close())
  const relayed = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`

  const { ref } = await ask(url, 'POST', '/tasks', {
    application: 'shop',
    description: 'create',
    job: [
      {
        type: 'createApplication',
        application: {
          name: 'shop',
          email: 'a@x.example',
          environments: [{ name: 'production', accounts: ['local'] }],
        },
      },
    ],
  })
  await waitUntil(
    async () => (await ask(url, 'GET', ref)).status === 'SUCCEEDED',
    'the application',
  )
  const template = {
    id: 'base',
    schema: 'v2',
    metadata: { name: 'base', description: '', owner: 'a@x.example', scopes: ['global'] },
    variables: [],
    pipeline: { stages: [wait] },
  }
  await ask(url, 'POST', '/v2/pipelineTemplates/create', template)
  const { canaryConfigId } = await ask(url, 'POST', '/v2/canaryConfig', {
    name: 'errors',
    applications: ['shop'],
    metrics: [],
    judge: { name: 'NetflixACAJudge-v1.0', judgeConfigurations: {} },
    classifier: { groupWeights: {}, scoreThresholds: { marginal: 75, pass: 95 } },
  })
  await ask(url, 'POST', '/strategies', {
    id: 's-1',
    application: 'shop',
    name: 'Careful',
    strategy: true,
    stages: [wait],
  })
  await ask(url, 'POST', '/pipelines', {
    id: 'p-1',
    application: 'shop',
    name: 'Build',
    stages: [wait],
  })
  await ask(url, 'POST', '/pipelines', {
    id: 'p-2',
    application: 'shop',
    name: 'Ship it / später',
    account: 12,
    stages: [
      { ...wait, type: 'pipeline', application: 'shop', pipeline: 'p-1' },
      {
        ...wait,
        refId: '2',
        name: 'Canary',
        type: 'kayentaCanary',
        canaryConfig: { canaryConfigId },
      },
      {
        ...wait,
        refId: '3',
        name: 'Deploy',
        type: 'deploy',
        clusters: [{ strategy: 'custom', strategyApplication: 'shop', strategyPipeline: 's-1' }],
      },
    ],
    triggers: [
      {
        type: 'pipeline',
        enabled: true,
        application: 'shop',
        pipeline: 'p-1',
        status: ['successful'],
      },
      { type: 'cron', enabled: true, cronExpression: '0 0 12 * * ?', id: 'c-1' },
    ],
  })
  await ask(url, 'POST', '/pipelines', {
    id: 'p-3',
    application: 'shop',
    name: 'From the template',
    type: 'templatedPipeline',
    schema: 'v2',
    template: {
      artifactAccount: 'front50ArtifactCredentials',
      type: 'front50/pipelineTemplate',
      reference: 'spinnaker://base',
    },
    variables: {},
    exclude: [],
  })

  await t.test('app-scenario 126: what is exported applies without a difference', async () => {
    const exported = await run(relayed, 'export', 'shop', '-o', 'defs')
    assert.equal(exported.code, 0, exported.err)
    assert.deepEqual(
      readdirSync(join(folder, 'defs'), { recursive: true })
        .map(String)
        .filter((name) => name.endsWith('.yml'))
        .sort(),
      [
        'application.yml',
        'canary-configurations/errors.yml',
        'environments.yml',
        'pipelines/build.yml',
        'pipelines/from-the-template.yml',
        'pipelines/ship-it-spater.yml',
        'strategies/careful.yml',
        'templates/base.yml',
      ],
    )
    const file = readFileSync(join(folder, 'defs/pipelines/ship-it-spater.yml'), 'utf8')
    assert.match(file, /^kind: pipeline\napplication: shop\nname: Ship it/)
    assert.doesNotMatch(file, /p-1|s-1|c-1|updateTs|lastModified/)
    assert.match(file, /pipeline:\n\s+pipeline: Build\n\s+application: shop/)

    const same = await run(relayed, 'diff', '-f', 'defs')
    assert.deepEqual([same.code, same.out], [0, 'No differences.\n'], same.err)
    assert.match((await run(relayed, 'apply', '-f', 'defs')).out, /No differences/)

    const applied = await run(other, 'apply', '-f', 'defs')
    assert.equal(applied.code, 0, applied.err + applied.out)
    const found = new Map((await pipelines(other)).map((each) => [each['name'], each]))
    const ship = found.get('Ship it / später') as { stages: JsonObject[]; triggers: JsonObject[] }
    const build = found.get('Build')?.['id']
    assert.notEqual(build, 'p-1')
    assert.deepEqual([ship.stages[0]?.['pipeline'], ship.triggers[0]?.['pipeline']], [build, build])
    const [config] = await ask(other, 'GET', '/v2/canaryConfig?application=shop')
    assert.deepEqual(ship.stages[1]?.['canaryConfig'], { canaryConfigId: config.id })
    const again = await run(other, 'diff', '-f', 'defs')
    assert.deepEqual([again.code, again.out], [0, 'No differences.\n'], again.err)
  })

  await t.test('app-scenario 127: a dry run shows differences and writes nothing', async () => {
    const path = 'defs/pipelines/build.yml'
    const before = readFileSync(join(folder, path), 'utf8')
    const edited = `# A comment that stays.\n${before.replace('waitTime: 1', 'waitTime: 5')}`
    write(path, edited)
    const dry = await run(relayed, 'apply', '-f', 'defs', '--dry-run')
    assert.equal(dry.code, 2, dry.err)
    assert.match(
      dry.out,
      /~ pipeline "Build" of shop \(.*build\.yml\)\n {4}stages\[Wait\]\.waitTime: 1 → 5\n0 to create, 1 to change, 0 to delete\./,
    )
    const asJson = JSON.parse((await run(relayed, 'diff', '-f', 'defs', '--output', 'json')).out)
    assert.deepEqual(asJson.changes[0].differences, [
      { path: 'stages[Wait].waitTime', before: 1, after: 5 },
    ])
    assert.deepEqual((await pipelines(url)).find(({ id }) => id === 'p-1')?.['stages'], [wait])
    assert.equal((await run(relayed, 'diff', '-f', 'defs', '--only', 'strategy')).code, 0)

    assert.equal((await run(relayed, 'apply', '-f', 'defs')).code, 0)
    assert.equal((await run(relayed, 'apply', '-f', 'defs', '--dry-run')).code, 0)
    assert.equal(readFileSync(join(folder, path), 'utf8'), edited)
    await run(relayed, 'export', 'shop', '-o', 'defs')
    assert.equal(
      readFileSync(join(folder, path), 'utf8'),
      edited,
      'an export keeps what says the same',
    )
  })

  await t.test('app-scenario 128: a failure stops, and the next apply goes on', async () => {
    const definition = (name: string, more: JsonObject = {}) =>
      `${JSON.stringify({ kind: 'pipeline', application: 'shop', name, stages: [wait], ...more })}\n`
    for (const name of ['a', 'b', 'd', 'e']) write(`five/${name}.json`, definition(name))
    write('five/c.json', definition('c', { triggers: [{ type: 'cron' }], stages: 'none' }))
    const failed = await run(relayed, 'apply', '-f', 'five')
    assert.notEqual(failed.code, 0)
    assert.match(
      failed.err,
      /The pipeline "c" of shop could not be applied: .*Done: pipeline "a" of shop, pipeline "b" of shop\. Left: pipeline "c" of shop, .*"e" of shop\./,
    )
    write('five/c.json', definition('c'))
    const next = await run(relayed, 'apply', '-f', 'five')
    assert.equal(next.code, 0, next.err)
    assert.deepEqual(next.out.match(/^Created.*$/gm)?.length, 3)
  })

  await t.test('app-scenario 129: a prune leaves foreign objects, and asks', async () => {
    rmSync(join(folder, 'five/a.json'))
    const before = await names(url)
    const asked = await run(relayed, 'apply', '-f', 'five', '--prune')
    assert.equal(asked.code, 7, asked.out)
    assert.match(asked.out, /- pipeline "a" of shop/)
    assert.deepEqual(await names(url), before)
    const pruned = await run(relayed, 'apply', '-f', 'five', '--prune', '--yes')
    assert.equal(pruned.code, 0, pruned.err)
    assert.deepEqual(
      await names(url),
      before.filter((name) => name !== 'a'),
    )
    assert.equal((await run(relayed, 'diff', '-f', 'five', '--prune')).code, 0)
  })

  await t.test('app-scenario 130: an object that was changed meanwhile fails', async () => {
    const changed = (name: string) =>
      `${JSON.stringify({ kind: 'pipeline', application: 'shop', name, description: 'mine', stages: [wait] })}\n`
    for (const name of ['b', 'c']) write(`five/${name}.json`, changed(name))
    beforeSave = async () => {
      const stored = (await pipelines(url)).find(({ name }) => name === 'c')
      await ask(url, 'POST', '/pipelines', { ...stored, description: 'theirs' })
    }
    const failed = await run(relayed, 'apply', '-f', 'five')
    assert.equal(failed.code, 1, failed.out)
    assert.match(
      failed.err,
      /"c" of shop was changed at the instance after the plan was made\. Done: pipeline "b"/,
    )
    assert.equal((await pipelines(url)).find(({ name }) => name === 'c')?.['description'], 'theirs')
  })

  await t.test('what files say wrongly is named with its place', async () => {
    write('wrong/a.yml', 'kind: pipeline\napplication: shop\nname: x\nstages:\n  - [\n')
    const unreadable = await run(relayed, 'diff', '-f', 'wrong')
    assert.equal(unreadable.code, 3)
    assert.match(unreadable.err, /a\.yml: .*line \d+/)
    write(
      'wrong/a.yml',
      'kind: pipeline\napplication: shop\nname: x\nstages:\n  - type: pipeline\n    application: shop\n    pipeline: { pipeline: None, application: shop }\n',
    )
    const unknown = await run(relayed, 'diff', '-f', 'wrong')
    assert.equal(unknown.code, 3)
    assert.match(
      unknown.err,
      /a\.yml: pipeline "x" of shop: stages\[0\]\.pipeline: there is no pipeline "None" in the application shop/,
    )
    assert.equal((await run(relayed, 'diff')).code, 3)
    write('wrong/a.yml', 'apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nspec: {}\n')
    const manifest = await run(relayed, 'diff', '-f', 'wrong')
    assert.match(manifest.err, /"Rollout" of argoproj\.io\/v1alpha1 is a manifest of Kubernetes/)
    const sent = await fetch(`${url}/pipelines`, {
      method: 'POST',
      headers: { 'content-type': 'application/yaml' },
      body: resources,
    })
    assert.match(await sent.text(), /manifest of Kubernetes: send the definition in its \\"spec\\"/)
  })

  await t.test('resources of PaCRD, YAML merges and all of a dinghyfile are definitions', () => {
    const spec = { email: 'a@x.example', appmetadata: { cloudProviders: ['kubernetes'] } }
    const dinghy = { application: 'web', spec, pipelines: [{ name: 'a', stages: [] }] }
    assert.deepEqual(readDefinitions(JSON.stringify(dinghy)), [
      {
        kind: 'application',
        document: { name: 'web', email: 'a@x.example', cloudProviders: ['kubernetes'] },
      },
      { kind: 'pipeline', document: { application: 'web', name: 'a', stages: [] } },
    ])
    const config = { schema: '1', pipeline: { application: 'web', name: 'b' }, stages: [] }
    assert.deepEqual(readDefinitions(JSON.stringify(config)), [
      {
        kind: 'pipeline',
        document: { application: 'web', name: 'b', type: 'templatedPipeline', config },
      },
    ])
    assert.throws(() => readDefinitions('{artifacts: [], environments: []}'), /needs Keel/)
    const { cloudProviders } = toPortable('application', { name: 'a', cloudProviders: ['b', 'c'] })
    assert.equal(cloudProviders, 'b,c')
    const [read] = readDefinitions(resources)
    const web = { apiVersion: 'v1', kind: 'Service' }
    assert.deepEqual(read?.document['stages'], [
      { type: 'deployManifest', refId: '1', manifests: [web] },
      { type: 'webhook', refId: '2', payload: { a: 1 }, name: 'b' },
      { type: 'bakeManifest', name: 'Bake', templateRenderer: 'helm2' },
    ])
  })

  await t.test('app-scenario 33: export, diff and apply ask only what Gate has', async () => {
    const { paths } = await ask(url, 'GET', '/openapi.json')
    const operations = Object.entries<Record<string, { operationId: string }>>(paths).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => ({
          call: new RegExp(`^${method.toUpperCase()} ${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
          operationId,
        })),
    )
    assert.ok(calls.size > 10)
    for (const call of calls) {
      const ids = operations.filter((each) => each.call.test(call)).map((each) => each.operationId)
      assert.ok(
        ids.some((id) => /Using(?:GET|POST|PUT|DELETE)/.test(id)),
        `${call}: ${ids}`,
      )
    }
  })
})

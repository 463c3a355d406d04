import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { type JsonObject, objectsOf } from '../../../packages/base/json/values.ts'
import { toEvent } from '../../../packages/engine/events/event.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import { toRegistryEvents } from '../../../packages/engine/events/registry-webhooks.ts'
import { StartMarks, startMarkMigrations } from '../../../packages/engine/events/start-marks.ts'
import { createInfrastructureBackend } from '../../../packages/providers/infrastructure/infrastructure.ts'
import { startBackends } from '../../support/backends.ts'
import { startOciRegistry } from '../../support/oci-registry.ts'
import { startUpstream } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { createRecording } from './recording.ts'

const digest = `sha256:${'a'.repeat(64)}`

const pushes: Readonly<
  Record<string, { readonly body: JsonObject; readonly images: readonly string[] }>
> = {
  dockerhub: {
    body: { push_data: { tag: '1.0' }, repository: { repo_name: 'org/app' } },
    images: ['index.docker.io org/app 1.0'],
  },
  quay: {
    body: { docker_url: 'quay.io/org/app', updated_tags: ['1.0', 'latest'] },
    images: ['quay.io org/app 1.0', 'quay.io org/app latest'],
  },
  distribution: {
    body: {
      events: [
        {
          action: 'push',
          target: { repository: 'org/app', tag: '1.0', digest },
          request: { host: 'registry:5000' },
        },
        {
          action: 'push',
          target: { repository: 'org/app', digest },
          request: { host: 'registry:5000' },
        },
        {
          action: 'pull',
          target: { repository: 'org/app', tag: '0.9' },
          request: { host: 'registry:5000' },
        },
      ],
    },
    images: [`registry:5000 org/app 1.0 ${digest}`],
  },
  acr: {
    body: {
      action: 'push',
      target: { repository: 'org/app', tag: '1.0', digest },
      request: { host: 'shop.azurecr.io' },
    },
    images: [`shop.azurecr.io org/app 1.0 ${digest}`],
  },
  harbor: {
    body: {
      type: 'PUSH_ARTIFACT',
      event_data: {
        resources: [{ tag: '1.0', digest, resource_url: 'harbor.example/org/app:1.0' }],
        repository: { repo_full_name: 'org/app' },
      },
    },
    images: [`harbor.example org/app 1.0 ${digest}`],
  },
  Harbor: {
    body: {
      type: 'harbor.artifact.pushed',
      data: {
        resources: [
          { tag: '1.1', digest, resource_url: 'harbor.example/org/app:1.1' },
          { tag: digest, digest, resource_url: `harbor.example/org/app@${digest}` },
        ],
        repository: { repo_full_name: 'org/app' },
      },
    },
    images: [`harbor.example org/app 1.1 ${digest}`],
  },
  artifactory: {
    body: {
      ...{ domain: 'docker', event_type: 'pushed', jpd_origin: 'https://acme.jfrog.io' },
      data: { repo_key: 'docker-local', image_name: 'org/app', tag: '1.0' },
    },
    images: ['acme.jfrog.io docker-local/org/app 1.0', 'docker-local.acme.jfrog.io org/app 1.0'],
  },
  ecr: {
    body: {
      ...{ account: '123', region: 'us-west-2' },
      detail: {
        ...{ result: 'SUCCESS', 'action-type': 'PUSH', 'repository-name': 'org/app' },
        ...{ 'image-tag': '1.0', 'image-digest': digest },
      },
    },
    images: [`123.dkr.ecr.us-west-2.amazonaws.com org/app 1.0 ${digest}`],
  },
  ghcr: {
    body: {
      action: 'published',
      package: {
        ...{ name: 'App', namespace: 'Org', package_type: 'CONTAINER' },
        package_version: { container_metadata: { tag: { name: '1.0', digest } } },
      },
    },
    images: [`ghcr.io org/app 1.0 ${digest}`],
  },
  gitea: {
    body: {
      action: 'created',
      package: {
        ...{ type: 'container', name: 'app', version: '1.0', owner: { login: 'org' } },
        html_url: 'https://git.example/org/-/packages/container/app/1.0',
      },
    },
    images: ['git.example org/app 1.0'],
  },
  gcr: {
    body: {
      message: {
        data: Buffer.from(
          JSON.stringify({
            action: 'INSERT',
            digest: `gcr.io/org/app@${digest}`,
            tag: 'gcr.io/org/app:1.0',
          }),
        ).toString('base64'),
      },
    },
    images: [`gcr.io org/app 1.0 ${digest}`],
  },
}

test('events-scenario 56: webhooks of registries name the images that were pushed', () => {
  for (const [source, { body, images }] of Object.entries(pushes)) {
    const events = toRegistryEvents(toEvent({ details: { type: 'docker', source }, payload: body }))
    const found = events.map(({ content: { registry, repository, tag, digest: given } }) =>
      [registry, repository, tag, given].filter((part) => part !== undefined).join(' '),
    )
    assert.deepEqual(found, images, source)
    assert.equal(
      toRegistryEvents(toEvent({ details: { type: 'docker', source }, payload: {} })).length,
      0,
      source,
    )
  }
})

interface RegistryTestOptions {
  readonly artifacts?: JsonObject
  readonly authorization?: true
}

async function startTriggers(
  t: TestContext,
  pipelines: JsonObject[],
  { artifacts = {}, ...rest }: RegistryTestOptions = {},
) {
  const recording = createRecording(pipelines)
  const events = createEventsBackend({ orchestratorMs: 10, buildMs: 1, cronMs: 5, pollMs: 40 })
  const infrastructure = {
    challengedEnvironments: [],
    primaryAccountTypes: [],
    providers: {},
    artifacts,
  }
  const backends = await startBackends(t, [events, createInfrastructureBackend([])], {
    others: (service, call) => recording.call(service, call),
    settings: { infrastructure, ...rest },
  })
  const post = (source: string, body: unknown, headers: Record<string, string> = {}) =>
    backends.ask('echo', 'POST', `/webhooks/docker/${source}`, body, headers)
  const list = async (query = '') =>
    (await backends.ask('echo', 'GET', `/events${query}`)).body as JsonObject[]
  const reasons = async () =>
    objectsOf((await list())[0]?.['triggers']).map(({ reason }) => reason ?? 'started')
  const startedBy = () =>
    recording.starts.map(({ body }) => {
      const { tag, version, digest: given } = body['trigger'] as JsonObject
      return [body['id'], tag ?? version, given].filter((part) => part !== undefined).join(' ')
    })
  return { recording, backends, post, list, reasons, startedBy }
}

function pipelineOf(id: string, trigger: JsonObject): JsonObject {
  return {
    application: 'demo',
    name: id,
    id,
    triggers: [{ type: 'docker', enabled: true, ...trigger }],
  }
}

const ofApp = { account: 'nowhere', repository: 'org/app' }

test('a webhook starts triggers of its registry and repository', async (t) => {
  const { recording, post, startedBy, reasons } = await startTriggers(t, [
    pipelineOf('any', ofApp),
    pipelineOf('hub', { ...ofApp, registry: 'docker.io', tag: '1\\..*' }),
    pipelineOf('quay', { ...ofApp, registry: 'quay.io' }),
    pipelineOf('other', { ...ofApp, repository: 'org/other' }),
  ])
  assert.equal((await post('dockerhub', pushes['dockerhub']?.body)).status, 200)
  await recording.untilStarts(2)
  assert.deepEqual(startedBy().toSorted(), ['any 1.0', 'hub 1.0'])
  assert.deepEqual(objectsOf(recording.starts[0]?.body['receivedArtifacts']), [
    {
      type: 'docker/image',
      name: 'index.docker.io/org/app',
      version: '1.0',
      reference: 'index.docker.io/org/app:1.0',
    },
  ])
  await post('quay', { docker_url: 'quay.io/org/app', updated_tags: ['latest'] })
  assert.deepEqual(
    await reasons(),
    Array(2).fill('The tag latest starts only triggers that name it.'),
  )
})

test('events-scenario 57: with authorization a registry signs with the secret of the trigger', async (t) => {
  const { recording, post, reasons } = await startTriggers(
    t,
    [pipelineOf('secret', { ...ofApp, secret: 'word' }), pipelineOf('open', ofApp)],
    { authorization: true },
  )
  recording.answer = (service) =>
    service === 'fiat'
      ? {
          status: 200,
          body: { applications: [{ name: 'DEMO', authorizations: ['EXECUTE'] }], accounts: [] },
        }
      : undefined
  const body = pushes['ghcr']?.body
  assert.equal((await post('ghcr', body)).status, 403)
  const sign = (secret: string) => ({
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(JSON.stringify(body)).digest('hex')}`,
  })
  await post('ghcr', body, sign('guess'))
  assert.match(
    (await reasons()).join(' '),
    /^The signature is wrong.*signs, and the trigger has no secret/,
  )
  await post('ghcr', body, sign('word'))
  assert.deepEqual((await reasons())[0], 'started')
})

test('a notification that is sent again starts only what has not started', async (t) => {
  const { recording, post, startedBy, reasons } = await startTriggers(t, [pipelineOf('p', ofApp)])
  const event = (id: string, tag: string, letter: string) => ({
    id,
    action: 'push',
    target: { repository: 'org/app', tag, digest: `sha256:${letter.repeat(64)}` },
    request: { host: 'registry:5000' },
  })
  const envelope = { events: [event('1', '1.0', 'a'), event('2', '2.0', 'b')] }
  let isAway = true
  recording.answer = (_service, { path }) => {
    // Polls read the definitions of more types.
    const fails = isAway && /triggerTypes=docker$/.test(path)
    if (fails) isAway = false
    return fails ? { status: 503, body: {} } : undefined
  }
  assert.ok(Number((await post('distribution', envelope)).status) >= 500)
  await recording.untilStarts(1)
  assert.match(startedBy().join(), /^p 2\.0/)
  assert.equal((await post('distribution', envelope)).status, 200)
  assert.deepEqual(await reasons(), ['The same delivery has started the trigger before.'])
  await recording.untilStarts(2)
  await post('distribution', event('3', '2.0', 'c'))
  await recording.untilStarts(3)
  assert.deepEqual(
    startedBy().map((each) => each.slice(0, 14)),
    ['p 2.0 sha256:b', 'p 1.0 sha256:a', 'p 2.0 sha256:c'],
  )
})

test('a polled image is another push than a reported one with another digest', () => {
  const db = new DatabaseSync(':memory:')
  for (const sql of startMarkMigrations) db.exec(sql)
  const marks = new StartMarks(db, () => 0)
  const [webhook, poll] = [{}, { isObserved: true as const }]
  const take = (by: object, letter?: string) => {
    const event = toEvent({
      details: { type: 'docker' },
      content: { repository: 'org/app', tag: '1', digest: letter },
    })
    return marks.take({ ...event, ...by }, { id: 'p' }, { id: 't' }) === undefined
  }
  assert.deepEqual(
    [
      take(webhook, 'a'),
      take(poll, 'b'),
      take(webhook, 'b'),
      take(poll, 'b'),
      take(webhook),
      take(poll, 'c'),
    ],
    [true, true, false, true, false, true],
  )
})

const layers = (content: string) => [{ mediaType: 'application/octet-stream', content }]

test('events-scenario 58: a polled tag starts a pipeline once, a new digest only if tracked', async (t) => {
  const registry = await startOciRegistry(t)
  registry.push('org/app', '1.0', layers('one'))
  const account = { name: 'hub', address: registry.url, repositories: [] }
  const own = { account: 'hub', repository: 'org/app' }
  const { recording, post, startedBy, list } = await startTriggers(
    t,
    [
      pipelineOf('tags', own),
      pipelineOf('digests', { ...own, tag: '.*', trackDigests: true }),
      pipelineOf('unknown', { ...ofApp, repository: 'org/else' }),
    ],
    { artifacts: { oci: [account] } },
  )
  const polled = () => registry.requests.filter((line) => line.includes('/tags/list')).length
  await waitUntil(() => polled() >= 4, 'two polls of each trigger')
  assert.deepEqual(startedBy(), [])

  const second = registry.push('org/app', '2.0', layers('two'))
  await recording.untilStarts(2)
  assert.deepEqual(startedBy().toSorted(), [`digests 2.0 ${second}`, `tags 2.0 ${second}`])
  const [image] = objectsOf(recording.starts[0]?.body['receivedArtifacts'])
  assert.equal(image?.['reference'], `${registry.host}/org/app:2.0`)
  // The registry reports the same push.
  const event = {
    action: 'push',
    target: { repository: 'org/app', tag: '2.0' },
    request: { host: registry.host },
  }
  await post('distribution', event)
  const [repeated] = await list('?type=docker&limit=1')
  assert.match(JSON.stringify(repeated?.['triggers']), /started the trigger before, by a poll/)

  const moved = registry.push('org/app', '2.0', layers('three'))
  await recording.untilStarts(3)
  assert.deepEqual(startedBy()[2], `digests 2.0 ${moved}`)
  const [failure] = await list('?outcome=failed')
  assert.match(
    String(failure?.['reason']),
    /"nowhere" of the trigger is no artifact account for docker\/image: there are hub/,
  )
})

test('events-scenario 59: new versions of charts and packages start pipelines', async (t) => {
  const versions = ['1.0.0']
  const registry = await startUpstream(t, ({ path }) =>
    path === '/index.yaml'
      ? `entries:\n  web:\n${versions.map((version) => `  - {version: ${version}, digest: d${version}, urls: [web.tgz]}`).join('\n')}`
      : {
          name: '@shop/web',
          versions: Object.fromEntries(versions.map((version) => [version, {}])),
        },
  )
  const { recording, startedBy } = await startTriggers(
    t,
    [
      pipelineOf('chart', { type: 'helm', account: 'charts', chart: 'web', version: '^1.1' }),
      pipelineOf('package', {
        type: 'artifact',
        account: 'npm',
        artifactType: 'npm/package',
        name: '@shop/web',
        version: '1\\..*',
      }),
    ],
    {
      artifacts: {
        helm: [{ name: 'charts', repository: registry.url }],
        npm: [{ name: 'npm', registry: registry.url }],
      },
    },
  )
  await waitUntil(() => registry.requests.length >= 4, 'two polls of each trigger')
  versions.push('1.1.0', '2.0.0')
  await recording.untilStarts(2)
  assert.deepEqual(startedBy().toSorted(), ['chart 1.1.0 d1.1.0', 'package 1.1.0'])
  const received = recording.starts.map(({ body }) => objectsOf(body['receivedArtifacts'])[0])
  assert.ok(
    received.some(
      (artifact) =>
        artifact?.['artifactAccount'] === 'npm' && artifact['reference'] === '@shop/web',
    ),
  )
})

/** Indexes of pipelines, compared with what a look at all of them finds, after random changes at two processes on one store. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { toEvent } from '../../../packages/engine/events/event.ts'
import { matchTriggers } from '../../../packages/engine/events/matching.ts'
import { loadTriggeredPipelines } from '../../../packages/engine/events/pipelines.ts'
import { EffectivePipelines } from '../../../packages/engine/pipelines/effective-pipelines.ts'
import type { Backend, BackendContext } from '../../../packages/ports/backend.ts'
import { itself } from '../../../packages/ports/caller.ts'
import { startBackends } from '../../support/backends.ts'
import { createRandom } from '../../support/random.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'

type Fields = Record<string, unknown>

interface Occasion {
  readonly trigger: Fields
  /** Undefined: the end of the pipeline that the trigger names. */
  readonly event?: { readonly details: Fields; readonly content: Fields }
}

const image = { account: 'hub', repository: 'shop/web', registry: 'index.docker.io' }
const push = {
  repoProject: 'Shop',
  slug: 'web',
  hash: 'a1',
  branch: 'main',
  repositories: ['git.example.com/shop/api'],
}
const built = { name: 'web', lastBuild: { building: false, result: 'SUCCESS', number: 3 } }

/** No trigger waits for what another one waits for. */
const occasions: readonly Occasion[] = [
  {
    trigger: { type: 'webhook', source: 'shop' },
    event: { details: { type: 'webhook', source: 'shop' }, content: {} },
  },
  {
    trigger: { type: 'webhook', source: 'Shop' },
    event: { details: { type: 'webhook', source: 'Shop' }, content: {} },
  },
  {
    trigger: { type: 'webhook', source: '*' },
    event: { details: { type: 'webhook', source: '*' }, content: {} },
  },
  {
    trigger: { type: 'cdevents', source: 'shop' },
    event: { details: { type: 'cdevents', source: 'shop' }, content: {} },
  },
  {
    trigger: { type: 'git', source: 'GitHub', project: 'shop', slug: 'WEB' },
    event: { details: { type: 'git', source: 'github' }, content: { ...push, repositories: [] } },
  },
  {
    trigger: { type: 'git', source: 'github', repository: 'git@git.example.com:Shop/api.git' },
    event: { details: { type: 'git', source: 'github' }, content: { ...push, slug: 'else' } },
  },
  {
    trigger: { type: 'docker', account: 'hub', repository: 'shop/web' },
    event: { details: { type: 'docker' }, content: { ...image, tag: 'v1' } },
  },
  {
    trigger: { type: 'jenkins', master: 'ci', job: 'web' },
    event: { details: { type: 'build' }, content: { master: 'ci', project: built } },
  },
  {
    trigger: { type: 'pubsub', pubsubSystem: 'Google', subscriptionName: 'Orders' },
    event: {
      details: { type: 'pubsub' },
      content: { messageDescription: { pubsubSystem: 'google', subscriptionName: 'orders' } },
    },
  },
  {
    trigger: { type: 'helm', account: 'charts', chart: 'web' },
    event: {
      details: { type: 'helm' },
      content: { account: 'charts', chart: 'web', version: '1.0.0', digest: 'd' },
    },
  },
  {
    trigger: { type: 'artifact', account: 'bucket', artifactType: 's3/object', name: 'app.zip' },
    event: {
      details: { type: 'artifact' },
      content: { account: 'bucket', type: 's3/object', name: 'app.zip', version: '2' },
    },
  },
  {
    trigger: { type: 'nexus', nexusSearchName: 'libraries' },
    event: { details: { type: 'nexus' }, content: { name: 'libraries' } },
  },
  { trigger: { type: 'pipeline', pipeline: 'p0', status: ['successful'] } },
  { trigger: { type: 'pipeline', pipeline: 'p1', status: ['failed', 'successful'] } },
  { trigger: { type: 'cron', cronExpression: '0 0 10 ? * * *' } },
]

/** A process with definitions, and the context that other services of it get. */
async function startProcess(t: TestContext, dataDir: string) {
  let context: BackendContext | undefined
  const listener: Backend = {
    service: 'echo',
    migrations: [],
    open(given) {
      context = given
      return { routes: () => {} }
    },
  }
  const { ask } = await startBackends(t, [definitionsBackend, listener], { dataDir })
  assert.ok(context !== undefined)
  return { ask, context, pipelines: new EffectivePipelines(context) }
}

type Process = Awaited<ReturnType<typeof startProcess>>

/** By what is written below, without the code under test. */
class Model {
  readonly pipelines = new Map<string, Fields>()
  readonly templates = new Map<string, Fields[]>()

  waiting({ trigger }: Occasion, isEnabledOnly: boolean): string[] {
    const ids = [...this.pipelines].filter(([, pipeline]) => {
      if (isEnabledOnly && pipeline['disabled'] === true) return false
      const own = pipeline['triggers'] as Fields[]
      // Nothing inherits while it is disabled: it starts nothing.
      const inherited = pipeline['disabled'] === true ? [] : this.#inheritedBy(pipeline)
      return [...own, ...inherited].some((one) => isLike(one, trigger))
    })
    return ids.map(([id]) => id).sort()
  }

  #inheritedBy({ template, exclude }: Fields): Fields[] {
    const { reference = '' } = (template ?? {}) as { reference?: string }
    if ((exclude as string[] | undefined)?.includes('triggers')) return []
    return this.templates.get(reference.replace('spinnaker://', '').toLowerCase()) ?? []
  }
}

function isLike(one: Fields, other: Fields): boolean {
  return Object.entries(other).every(([name, value]) => String(one[name]) === String(value))
}

async function idsFound({ context, pipelines }: Process, occasion: Occasion): Promise<string[]> {
  const { trigger, event } = occasion
  if (event !== undefined) {
    const { candidates } = await matchTriggers(context, pipelines, toEvent(event))
    return [...new Set(candidates.map(({ pipeline }) => String(pipeline['id'])))].sort()
  }
  const { definitions } = context.ports
  if (trigger['type'] === 'pipeline') {
    const parent = String(trigger['pipeline'])
    const followers = await definitions.followersOf(parent, 'successful', itself)
    assert.ok(followers.length === 0 || definitions.mayBeFollowed(parent))
    return followers.map(({ id }) => String(id)).sort()
  }
  const scheduled = await loadTriggeredPipelines(definitions, pipelines, { types: ['cron'] })
  return scheduled
    .filter(({ triggers }) => triggers.some(({ type }) => type === 'cron'))
    .map(({ definition }) => String(definition['id']))
    .sort()
}

test('indexes find what a look at all pipelines finds', async (t) => {
  const dataDir = createFolder('indexes')
  t.after(() => removeFolder(dataDir))
  const processes = [await startProcess(t, dataDir), await startProcess(t, dataDir)]
  for (const { context } of processes)
    assert.equal(context.ports.definitions.mayBeFollowed('any'), false)
  for (const seed of [1, 2, 3]) await t.test(`seed ${seed}`, () => compare(processes, seed))
  await t.test('documents of an older version', async (t) => {
    const [first] = processes as [Process]
    const { db } = first.context
    db.exec('DELETE FROM definitions_marks; DELETE FROM definitions_marked')
    await compare([await startProcess(t, dataDir)], 4)
  })
})

const model = new Model()

async function compare(processes: readonly Process[], seed: number): Promise<void> {
  const random = createRandom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const someTriggers = () =>
    Array.from({ length: below(3) }, (_, index) => ({
      ...occasions[below(occasions.length)]?.trigger,
      enabled: true,
      id: `t${index}${below(1000)}`,
    }))
  for (let step = 0; step < 60; step++) {
    const { ask } = processes[step % processes.length] as Process
    const [id, template] = [`p${below(12)}`, `Rope${step < 2 ? step : below(2)}`]
    const kind = step < 2 ? 1 : below(10)
    if (kind === 0) {
      const { name, application } = model.pipelines.get(id) ?? {}
      if (name !== undefined)
        await ok(ask('front50', 'DELETE', `/pipelines/${application}/${name}`))
      model.pipelines.delete(id)
    } else if (kind < 3) {
      const pipeline = { stages: [], triggers: someTriggers() }
      const exists = model.templates.has(template.toLowerCase())
      const body = { id: template, schema: 'v2', variables: [], pipeline, metadata: { scopes: [] } }
      await ok(
        ask(
          'front50',
          exists ? 'PUT' : 'POST',
          `/v2/pipelineTemplates${exists ? `/${template}` : ''}`,
          body,
        ),
      )
      model.templates.set(template.toLowerCase(), pipeline.triggers)
    } else {
      const isInstance = kind < 6
      const definition = {
        id,
        name: `${id} ${below(3)}`,
        application: `app${below(3)}`,
        disabled: below(5) === 0,
        stages: [],
        triggers: someTriggers(),
        ...(isInstance && {
          type: 'templatedPipeline',
          schema: 'v2',
          template: { reference: `spinnaker://${template}`, type: 'front50/pipelineTemplate' },
          variables: {},
          exclude: below(3) === 0 ? ['triggers'] : [],
        }),
      }
      await ok(ask('front50', 'POST', '/pipelines', definition))
      model.pipelines.set(id, definition)
    }
    const occasion = occasions[below(occasions.length)] as Occasion
    for (const process of processes)
      assert.deepEqual(
        await idsFound(process, occasion),
        model.waiting(occasion, occasion.trigger['type'] === 'pipeline'),
        `step ${step}: ${JSON.stringify(occasion.trigger)}`,
      )
  }
  const [{ ask }] = processes as [Process]
  for (const template of ['Rope0', 'Rope1']) {
    const answer = await ask(
      'front50',
      'GET',
      `/v2/pipelineTemplates/${template}/dependentPipelines`,
    )
    const users = [...model.pipelines.values()].filter((pipeline) =>
      JSON.stringify(pipeline['template'] ?? {}).includes(`//${template}"`),
    )
    assert.deepEqual(
      (answer.body as Fields[]).map(({ id }) => id).sort(),
      users.map(({ id }) => id).sort(),
    )
  }
}

async function ok(asked: ReturnType<Process['ask']>): Promise<void> {
  const { status, body } = await asked
  assert.equal(status, 200, JSON.stringify(body))
}

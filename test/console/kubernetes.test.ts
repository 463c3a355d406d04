/** Objects of a cluster at the console: what runs and why not, its history and logs, and what is changed only after a look at the plan. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  conditionsOf,
  containersOf,
  pillsOf,
  reasonsOf,
  rolloutOf,
  toEditable,
} from '../../console/src/manifests/object.ts'
import {
  findNoManifest,
  objectsOfStage,
  planOfStage,
  toPlan,
} from '../../console/src/manifests/stage.ts'
import { revisionsOf } from '../../console/src/manifests/workload.ts'
import { instanceId } from '../../console/src/model/server-groups.ts'
import { findBarriers, findBarriersAt } from '../support/barriers.ts'
import { openChromium } from '../support/chromium.ts'
import { startGateway } from '../support/gateway.ts'
import { waitUntil } from '../support/wait-until.ts'
import { runId, stubCluster } from './kubernetes-stub.ts'

const objectAt = (name: string) =>
  `applications/shop/manifests/k8s/shop/${encodeURIComponent(name)}`
const screens = [
  'applications/shop',
  objectAt('deployment web'),
  `${objectAt('deployment web')}?tab=history&revision=2`,
  `${objectAt('deployment web')}?tab=manifest`,
  objectAt('pod web-3-a'),
  `${objectAt('pod web-3-a')}?tab=logs`,
  `${objectAt('pod web-3-a')}?tab=events`,
  objectAt('service front'),
  objectAt('secret key'),
  'applications/shop/resources',
  'applications/shop/load-balancers',
  `executions/${runId}`,
]

test('an application in a cluster is looked at and changed', { timeout: 900_000 }, async (t) => {
  const browser = await openChromium(t)
  if (browser === undefined) return
  const url = await startGateway(t, {}, { embedded: true })
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  const cluster = await stubCluster(page)
  const open = (path: string) => page.goto(`${url}/console/${path}`)
  const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
  const lastJob = () =>
    waitUntil(() => cluster.jobs.length > 0, 'a job').then(() => cluster.jobs.splice(0)[0])

  await t.test('the overview shows managers, what they run, and why not', async () => {
    await open('applications/shop')
    const web = page.getByRole('region', { name: 'deployment web' })
    await web.getByRole('link', { name: 'deployment web', exact: true }).last().waitFor()
    await web.getByRole('link', { name: 'replicaSet web-3' }).waitFor()
    await web.getByText('100 % of traffic').waitFor()
    await web.getByText('the image registry.example.org/web:2.0 cannot be pulled').waitFor()
    assert.equal(
      await web.getByRole('link', { name: 'replicaSet web-1' }).count(),
      0,
      'it has no pods any more',
    )
    await page.getByRole('region', { name: 'job migrate' }).getByText('failed').waitFor()
    await page.getByText('Show what was changed').click()
    await page.getByText('by kubectl-edit').waitFor()
    await web.getByRole('link', { name: '1 older revision' }).click()
    const beside = page.getByRole('complementary', { name: 'deployment web' })
    await beside.getByRole('row', { name: /^1 .*web:1\.0/ }).waitFor()
    assert.deepEqual(await findBarriers(page), [])
  })

  await t.test('a menu stays open while its row changes and moves', async () => {
    cluster.hasManagers = false
    await open('applications/shop')
    await page.getByRole('button', { name: 'Actions of replicaSet web-3' }).click()
    // Rows keep their places anyway while they have the focus or the pointer.
    await page.mouse.move(0, 0)
    await page.getByRole('menuitem', { name: 'Open details' }).waitFor()
    await page.evaluate('document.activeElement.blur()')
    Object.assign(cluster, { hasManagers: true, isRolledOut: true, more: 5 })
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
    await page.getByRole('region', { name: 'cronJob a4' }).waitFor()
    await page.getByText('3 of 3 up').first().waitFor()
    cluster.newest = 'deployment web-green'
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
    const green = page.getByRole('region', { name: cluster.newest })
    await green.getByRole('menuitem', { name: 'Open details' }).click()
    await heading('replicaSet web-3')
    Object.assign(cluster, { isRolledOut: false, more: 0, newest: 'deployment web' })
  })

  await t.test('a rollout moves until it has ended', async () => {
    await open(objectAt('deployment web'))
    await page.getByText('1 of 3').waitFor()
    await page.getByText('in progress').waitFor()
    cluster.isRolledOut = true
    await page.getByText('stable').waitFor()
    assert.equal(await page.getByText('3 of 3').count(), 3)
    cluster.isRolledOut = false
  })

  await t.test('addresses of every list lead to the object', async () => {
    await open('applications/shop/server-groups/k8s/shop/replicaSet%20web-3')
    await page.getByRole('link', { name: 'deployment web' }).first().waitFor()
    await page
      .getByRole('figure')
      .filter({ hasText: /^Memory64 MB$/ })
      .waitFor()
    assert.equal(await page.getByRole('figure').count(), 1, 'the account has no other metric')
    await open('applications/shop/instances/k8s/shop/pod%20web-3-a')
    await heading('pod web-3-a')
    await page
      .getByRole('row', { name: /ImagePullBackOff.* ended with code 137 \(OOMKilled\)/ })
      .waitFor()
    await open('applications/shop/load-balancers/k8s/shop/service%20front?provider=kubernetes')
    await page.getByRole('link', { name: 'replicaSet web-2' }).waitFor()
    await open('applications/shop/jobs')
    await page.getByRole('link', { name: 'migrate' }).click()
    await page.getByText('ended with code 3: relation').waitFor()
  })

  await t.test('logs are read by container and run', async () => {
    await open(`${objectAt('pod web-3-a')}?tab=logs`)
    await page.getByText('listening on 8080').waitFor()
    await page.getByLabel('Container').selectOption('setup')
    await page.getByText('setup is done').waitFor()
    await page.getByLabel('Container').selectOption('main')
    await page.getByLabel('Run', { exact: true }).selectOption('Previous run')
    await page.getByText('out of memory').waitFor()
    assert.match(page.url(), /previous=true/)
  })

  await t.test('revisions are compared, and one is restored', async () => {
    await open(`${objectAt('deployment web')}?tab=history`)
    await page.getByRole('button', { name: 'Compare revision 2 with the current one' }).click()
    await page
      .getByRole('row', { name: /spec\.containers\.0\.image .*web:1\.1 .*web:2\.0/ })
      .waitFor()
    await page.getByRole('button', { name: 'Undo to revision 1' }).click()
    assert.deepEqual(await findBarriers(page), [])
    await page.getByRole('dialog').getByRole('button', { name: 'Undo deployment web' }).click()
    assert.partialDeepStrictEqual(await lastJob(), {
      type: 'undoRolloutManifest',
      cloudProvider: 'kubernetes',
      account: 'k8s',
      location: 'shop',
      manifestName: 'deployment web',
      revision: 1,
    })
  })

  await t.test('actions say what they do', async () => {
    await open(objectAt('deployment web'))
    await page.getByRole('button', { name: 'Scale' }).click()
    await page.getByLabel('Replicas').fill('5')
    await page.getByRole('dialog').getByRole('button', { name: 'Scale deployment web' }).click()
    assert.partialDeepStrictEqual(await lastJob(), { type: 'scaleManifest', replicas: 5 })
    await page.getByRole('button', { name: 'Pause rollout' }).click()
    await page.getByRole('button', { name: 'Pause deployment web' }).click()
    assert.partialDeepStrictEqual(await lastJob(), { type: 'pauseRolloutManifest' })
    cluster.isPaused = true
    await page.getByRole('button', { name: 'Resume rollout' }).click()
    assert.partialDeepStrictEqual(await lastJob(), { type: 'resumeRolloutManifest' })
    cluster.isPaused = false
    await chooseAction(page, 'deployment web', 'Delete')
    const remove = page.getByRole('button', { name: 'Delete deployment web' })
    assert.equal(await remove.getAttribute('aria-disabled'), 'true', 'the name is not typed')
    await page.getByLabel('To confirm, type').fill('deployment web')
    await page.getByLabel('Delete what it owns as well').uncheck()
    await remove.click()
    assert.partialDeepStrictEqual(await lastJob(), {
      type: 'deleteManifest',
      options: { cascading: false },
    })
    await open(objectAt('replicaSet web-3'))
    await page.getByRole('button', { name: 'Actions of replicaSet web-3' }).click()
    await page.getByRole('menuitem', { name: /Scale.*deployment web owns it/ }).waitFor()
  })

  await t.test('an edit shows its plan before it is deployed', async () => {
    await open(objectAt('deployment web'))
    await chooseAction(page, 'deployment web', 'Edit')
    const dialog = page.getByRole('dialog')
    const text = dialog.getByRole('textbox', { name: 'Manifests as YAML' })
    await text.waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await text.fill('kind: [')
    await dialog.getByRole('button', { name: 'Show the plan' }).click()
    await dialog.getByText(/^Line 1/).waitFor()
    await text.fill(
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\n---\napiVersion: v1\nkind: Service\nmetadata: { name: front }',
    )
    await dialog.getByRole('button', { name: 'Show the plan' }).click()
    await dialog.getByText('1 added, 1 changed, 1 removed').waitFor()
    await dialog.getByText('stays as it is').waitFor()
    assert.deepEqual(await findBarriers(page), [])
    assert.equal(cluster.submitted.length + cluster.jobs.length, 0)
    await dialog.getByRole('button', { name: 'Back to the editor' }).click()
    await text.fill('apiVersion: v1\nkind: ConfigMap\nmetadata: { name: bad }')
    await dialog.getByRole('button', { name: 'Show the plan' }).click()
    await dialog.getByText('spec.replicas: Invalid value').waitFor()
    assert.equal(
      await dialog
        .getByRole('button', { name: 'Deploy', exact: true })
        .getAttribute('aria-disabled'),
      'true',
    )
    await page.keyboard.press('Escape')
    await text.waitFor()
    await page.keyboard.press('Escape')
    await dialog.getByText('They would be lost.').waitFor()
    await dialog.getByRole('button', { name: 'Stay' }).click()
    await text.fill('apiVersion: v1\nkind: ConfigMap\nmetadata: { name: good }')
    await dialog.getByRole('button', { name: 'Show the plan' }).click()
    await dialog.getByRole('button', { name: 'Deploy', exact: true }).click()
    assert.partialDeepStrictEqual(await lastJob(), {
      type: 'deployManifest',
      source: 'text',
      moniker: { app: 'shop' },
      manifests: [{ kind: 'ConfigMap', metadata: { name: 'good' } }],
    })
    assert.equal(cluster.plans.length, 3)
  })

  await t.test('a cluster that is away says since when', async () => {
    cluster.isAway = true
    await open('applications/shop')
    await page
      .getByText('The cluster of the account k8s does not answer, since 7 min ago.')
      .waitFor()
    cluster.isAway = false
  })

  await t.test('the stage of a run shows its plan and its objects', async () => {
    await open(`executions/${runId}`)
    await page.getByText('1 added, 1 changed, 1 removed').waitFor()
    await page.getByRole('link', { name: 'service front' }).waitFor()
    await page.getByText('cannot be pulled').waitFor()
    cluster.hasFailed = true
    await page.reload()
    const cause = page.getByRole('region', { name: 'Deploy failed' })
    await cause.getByText('cannot be pulled').waitFor()
    await cause.getByRole('log', { name: 'Last lines of pod web-3-a' }).waitFor()
    assert.deepEqual(await findBarriers(page), [])
    cluster.hasFailed = false
  })

  await t.test('the example is deployed from its manifests', async () => {
    await open('')
    await page.getByRole('button', { name: 'Deploy the example' }).click()
    await page.getByText('to the namespace default of the account k8s').waitFor()
    assert.deepEqual(await findBarriers(page), [])
    await page.getByRole('dialog').getByRole('button', { name: 'Deploy the example' }).click()
    await page.getByRole('heading', { level: 1, name: /^ship manifests/ }).waitFor()
    const pipelines = (await (await fetch(`${url}/applications/hello/pipelineConfigs`)).json()) as {
      stages: object[]
    }[]
    assert.partialDeepStrictEqual(pipelines[0]?.stages[0], {
      type: 'deployManifest',
      cloudProvider: 'kubernetes',
      account: 'k8s',
      manifests: [{ kind: 'Deployment' }, { kind: 'Service' }],
    })
  })

  await t.test('manifests of a stage are edited as YAML', async () => {
    const [pipeline] = (await (
      await fetch(`${url}/applications/hello/pipelineConfigs`)
    ).json()) as { id: string }[]
    await open(`applications/hello/pipelines/${pipeline?.id}/edit?stage=1`)
    const text = page.getByRole('textbox', { name: 'Manifests' })
    await text.waitFor()
    assert.match((await text.textContent()) ?? '', /kind: Deployment[\s\S]*---[\s\S]*kind: Service/)
    await text.fill('kind: [')
    await page.getByText(/^Line 1:/).waitFor()
    await text.fill('kind: ConfigMap\nmetadata: { name: one }')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('kind: Service').waitFor()
  })

  for (const path of screens) {
    await t.test(`${path} has no barrier`, async () => {
      if (!page.url().includes('/console/applications')) await open('applications/shop')
      assert.deepEqual(await findBarriersAt(page, path), [])
    })
  }
  assert.deepEqual(complaints, [])
})

async function chooseAction(page: Page, name: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `Actions of ${name}` }).click()
  await page.getByRole('menuitem', { name: action, exact: true }).click()
}

test('an object says its state in the gravest words first', () => {
  const state = (value: boolean, message: string | null = null) => ({ state: value, message })
  const good = {
    stable: state(true),
    available: state(true),
    paused: state(false),
    failed: state(false),
  }
  const words = (status: object) =>
    pillsOf({ status: { ...good, ...status } }).map(({ word }) => word)
  assert.deepEqual(words({}), ['stable'])
  assert.deepEqual(words({ stable: state(false, 'Waiting'), available: state(false) }), [
    'in progress',
    'not available',
  ])
  assert.deepEqual(words({ stable: state(false), failed: state(true, 'Deadline') }), ['failed'])
  assert.deepEqual(words({ stable: state(false), paused: state(true) }), ['paused'])
  assert.deepEqual(
    pillsOf({}).map(({ word }) => word),
    ['no status yet'],
  )
  const failed = { ...good, failed: state(true, 'Deadline') }
  assert.deepEqual(reasonsOf({ status: failed }), ['Deadline'])
  assert.deepEqual(reasonsOf({ status: failed, reasons: ['The image cannot be pulled.'] }), [
    'The image cannot be pulled.',
  ])
})

test('a rollout counts what its kind reports', () => {
  const counts = (manifest: Record<string, unknown>) => {
    const rollout = rolloutOf({ manifest })
    return rollout && [rollout.desired, ...rollout.parts.map(({ done }) => done)]
  }
  const status = { updatedReplicas: 2, readyReplicas: 1 }
  assert.deepEqual(counts({ kind: 'Deployment', spec: { replicas: 3 }, status }), [3, 2, 1, 0])
  assert.deepEqual(counts({ kind: 'Deployment' }), [1, 0, 0, 0])
  const ofNodes = {
    desiredNumberScheduled: 4,
    updatedNumberScheduled: 3,
    numberReady: 2,
    numberAvailable: 1,
  }
  assert.deepEqual(counts({ kind: 'DaemonSet', status: ofNodes }), [4, 3, 2, 1])
  assert.equal(counts({ kind: 'Service' }), undefined)
})

test('a condition is good or bad by its type', () => {
  const conditions = [
    { type: 'Available', status: 'True' },
    { type: 'ReplicaFailure', status: 'True' },
    { type: 'Ready', status: 'Unknown' },
  ]
  assert.deepEqual(
    conditionsOf({ manifest: { status: { conditions } } }).map(({ status }) => status.kind),
    ['succeeded', 'warning', 'unknown'],
  )
})

test('an object is edited as it was deployed, under its name without version', () => {
  const annotations = {
    'artifact.spinnaker.io/name': 'conf',
    'artifact.spinnaker.io/version': 'v003',
    'moniker.spinnaker.io/application': 'shop',
    note: 'ours',
  }
  const manifest = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'conf-v003',
      namespace: 'shop',
      uid: 'u',
      resourceVersion: '7',
      managedFields: [],
      annotations,
    },
    data: { a: '1' },
    status: {},
  }
  const edited = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'conf', namespace: 'shop', annotations: { note: 'ours' } },
    data: { a: '1' },
  }
  assert.deepEqual(toEditable({ manifest }), edited)
  const last = JSON.stringify({ ...manifest, data: { a: '0' } })
  const applied = { 'kubectl.kubernetes.io/last-applied-configuration': last }
  const live = {
    ...manifest,
    metadata: { ...manifest.metadata, annotations: { ...annotations, ...applied } },
  }
  assert.deepEqual(toEditable({ manifest: live }), { ...edited, data: { a: '0' } })
})

test('containers say why they do not run', () => {
  const statuses = [
    { name: 'a', ready: true, state: { running: { startedAt: '2026-01-01T00:00:00Z' } } },
    {
      name: 'b',
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 1 } },
    },
    { name: 'c', state: { terminated: { exitCode: 3, reason: 'Error' } } },
  ]
  const manifest = {
    spec: { containers: [{ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd' }] },
    status: { containerStatuses: statuses },
  }
  assert.deepEqual(
    containersOf({ manifest }).map(({ status, text }) => [status.kind, text]),
    [
      ['succeeded', ''],
      ['failed', 'CrashLoopBackOff. The run before ended with code 1.'],
      ['failed', 'It ended with code 3 (Error).'],
      ['queued', ''],
    ],
  )
})

test('revisions are those of the manager, the newest first', () => {
  const group = (name: string, sequence: number, owner: string) => ({
    name: `replicaSet ${name}`,
    account: 'k8s',
    region: 'shop',
    moniker: { app: 'shop', sequence },
    serverGroupManagers: [{ account: 'k8s', location: 'shop', name: owner }],
    buildInfo: { images: [`web:${sequence}`] },
  })
  const manager = { account: 'k8s', location: 'shop', name: 'deployment web' }
  const found = revisionsOf(
    [group('web-a', 2, 'web'), group('web-b', 10, 'web'), group('other', 3, 'cart')],
    manager,
  )
  assert.deepEqual(
    found.map(({ number, images, isCurrent }) => [number, images, isCurrent]),
    [
      [10, ['web:10'], true],
      [2, ['web:2'], false],
    ],
  )
})

test('a stage names its objects and its plan', () => {
  const stage = (context: Record<string, unknown>, outputs: Record<string, unknown> = {}) =>
    ({ context: { account: 'k8s', ...context }, outputs }) as unknown as Parameters<
      typeof objectsOfStage
    >[0]
  const names = (...given: Parameters<typeof stage>) =>
    objectsOfStage(stage(...given)).map(({ location, name }) => [location, name])
  assert.deepEqual(
    names({
      'outputs.manifestNamesByNamespace': { shop: ['deployment web'], _: ['clusterRole x'] },
    }),
    [
      ['shop', 'deployment web'],
      ['', 'clusterRole x'],
    ],
  )
  const manifests = [{ kind: 'ReplicaSet', metadata: { name: 'web-v001', namespace: 'shop' } }]
  assert.deepEqual(names({}, { 'outputs.manifests': manifests }), [['shop', 'replicaSet web-v001']])
  assert.deepEqual(names({ manifestName: 'deployment web', location: 'shop' }), [
    ['shop', 'deployment web'],
  ])
  assert.deepEqual(
    planOfStage(stage({}, { plan: [{ name: 'deployment web', change: 'update', fields: null }] })),
    [
      {
        account: '',
        location: '',
        name: 'deployment web',
        change: 'update',
        fields: [],
        message: undefined,
      },
    ],
  )
  assert.deepEqual(toPlan([{ change: 'odd' }, 'text'])[0]?.change, 'none')
})

test('what is no manifest is found before it is sent', () => {
  const manifest = { kind: 'Pod', metadata: { name: 'a' } }
  assert.equal(findNoManifest([manifest, { kind: 'List', items: [] }]), 0)
  assert.equal(findNoManifest([manifest, 'text']), 2)
  assert.equal(findNoManifest([{ metadata: {} }]), 1)
})

test('a pod is addressed by its full name', () => {
  assert.equal(instanceId({ id: 'uid', name: 'pod web-a' }), 'pod web-a')
  assert.equal(instanceId({ name: 'uid', humanReadableName: 'pod web-a' }), 'pod web-a')
  assert.equal(instanceId({ id: 'i-1', name: 'web-v000-0' }), 'i-1')
})

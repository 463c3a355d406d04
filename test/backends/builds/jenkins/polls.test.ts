/** Finished builds of a Jenkins as events. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fieldAt, type JsonObject, objectOf } from '../../../../packages/base/json/values.ts'
import type { BuildServer } from '../../../../packages/builds/build-server.ts'
import { createBuildsBackend } from '../../../../packages/builds/builds.ts'
import type { ListedBuild } from '../../../../packages/builds/listed-build.ts'
import { toBuildEvent } from '../../../../packages/builds/polls/server-poller.ts'
import { eventsBackend } from '../../../../packages/engine/events/events.ts'
import { defaults } from '../../../support/backend-settings.ts'
import { startBackends } from '../../../support/backends.ts'
import { Reply } from '../../../support/upstream.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { createRecording } from '../../events/recording.ts'
import { type FakeJenkins, startJenkins } from './fake-jenkins.ts'
import { jenkinsOf } from './settings.ts'

/** Shortly after build 7 of `app` began. */
const nowMs = 1_790_000_060_000

interface PollOptions {
  readonly jenkins?: FakeJenkins
  readonly dataDir?: string
  readonly itemUpperThreshold?: number
  readonly handlesFirstBuilds?: boolean
  /** Of the event service. */
  readonly status?: () => number
}

async function startPolls(
  t: TestContext,
  { handlesFirstBuilds = true, status = () => 200, ...options }: PollOptions = {},
) {
  const jenkins = options.jenkins ?? (await startJenkins(t))
  const { dataDir, itemUpperThreshold } = options
  const events: JsonObject[] = []
  const master = { name: 'ci-main', address: jenkins.url, itemUpperThreshold }
  const backends = await startBackends(t, [createBuildsBackend()], {
    now: () => nowMs,
    ...(dataDir !== undefined && { dataDir }),
    settings: {
      buildServers: { jenkins: jenkinsOf([master]) },
      builds: { ...defaults.builds, pollSeconds: 0.02, handlesFirstBuilds },
    },
    others: async (_service, { body }) => {
      if (status() === 200) events.push(body as JsonObject)
      return { status: status(), body: undefined }
    },
  })
  const polls = () => jenkins.lines().filter((line) => line === 'GET /api/json').length
  /** Until what is at Jenkins now has been looked at, and reported. */
  const cycle = async () => {
    const seen = polls()
    await waitUntil(() => polls() >= seen + 3, 'further polls')
  }
  const numbers = () =>
    events.map((event) => fieldAt(event, 'content', 'project', 'lastBuild', 'number'))
  return { jenkins, events, numbers, cycle, backends }
}

function end(jenkins: FakeJenkins, build: string, result = 'SUCCESS'): void {
  Object.assign(jenkins.document(build), { building: false, result, duration: 50_000 })
}

const running = { building: true, result: null, timestamp: nowMs - 30_000, duration: 0 }
const finished = { ...running, building: false, result: 'SUCCESS', duration: 10_000 }

test('builds-scenario 22: a finished build is one event', async (t) => {
  const { jenkins, events, numbers, cycle } = await startPolls(t)
  await cycle()
  assert.deepEqual(events, [], 'old builds of a new server are not reported')
  end(jenkins, '/job/app/7')
  await cycle()
  assert.deepEqual(numbers(), [7])
  const event: JsonObject = events[0] ?? {}
  assert.deepEqual(event['details'], { type: 'build', source: 'igor' })
  const { master, project, type } = objectOf(event['content'])
  const { name, lastBuild } = objectOf(project)
  assert.deepEqual([master, name, type], ['ci-main', 'app', undefined])
  const { building, result, timestamp } = objectOf(lastBuild)
  assert.deepEqual([building, result, timestamp], [false, 'SUCCESS', '1790000000000'])
  assert.match(
    String(event['eventId']),
    /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  )
  await cycle()
  assert.deepEqual(numbers(), [7])
})

test('builds-scenario 23: a running build is reported when it ends', async (t) => {
  const { jenkins, events, numbers, cycle } = await startPolls(t)
  end(jenkins, '/job/app/7')
  await cycle()
  jenkins.addBuild('/job/app', { number: 8, ...running })
  jenkins.addBuild('/job/app', { number: 9, ...finished })
  await cycle()
  assert.deepEqual(numbers(), [7, 9], 'a later build does not wait for it')
  end(jenkins, '/job/app/8', 'FAILURE')
  await cycle()
  assert.deepEqual(numbers(), [7, 9, 8])
  assert.equal(fieldAt(events[2], 'content', 'project', 'lastBuild', 'result'), 'FAILURE')
})

test('builds-scenario 24: too many changes wait for an administrator', async (t) => {
  const { jenkins, numbers, cycle, backends } = await startPolls(t, { itemUpperThreshold: 2 })
  await cycle()
  for (const name of ['a', 'b', 'c']) {
    jenkins.addJob(name)
    jenkins.addBuild(`/job/${name}`, { number: 1, ...finished })
  }
  await cycle()
  assert.deepEqual(numbers(), [])
  const skip = (path: string) => backends.ask('igor', 'POST', `/admin/pollers/fastforward/${path}`)
  assert.equal((await skip('travisBuildMonitor')).status, 404)
  assert.equal((await skip('jenkinsBuildMonitor?partition=ci-other')).status, 404)
  assert.equal((await skip('jenkinsBuildMonitor?partition=ci-main')).status, 204)
  await cycle()
  assert.deepEqual(numbers(), [])
  jenkins.addBuild('/job/a', { number: 2, ...finished })
  await cycle()
  assert.deepEqual(numbers(), [2])
})

test('a restart reports each build once', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-polls-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  let status = 503
  const jenkins = await startJenkins(t)
  const first = await startPolls(t, { jenkins, dataDir, status: () => status })
  end(jenkins, '/job/app/7')
  await first.cycle()
  assert.deepEqual(first.numbers(), [], 'the event service is away')
  status = 200
  await first.cycle()
  assert.deepEqual(first.numbers(), [7])
  await first.backends.stop()

  jenkins.addBuild('/job/app', { number: 8, ...finished, timestamp: 5 })
  const second = await startPolls(t, { jenkins, dataDir })
  await second.cycle()
  assert.deepEqual(second.numbers(), [8], 'what ended meanwhile is reported, however old')
})

test('a job that cannot be read holds up no other', async (t) => {
  const { jenkins, numbers, cycle } = await startPolls(t, { handlesFirstBuilds: false })
  await cycle()
  jenkins.addJob('broken')
  jenkins.addBuild('/job/broken', { number: 1, ...finished })
  jenkins.replace('GET /job/broken/api/json', new Reply(500))
  end(jenkins, '/job/app/7')
  await cycle()
  assert.deepEqual(numbers(), [7])
  jenkins.addJob('new')
  jenkins.addBuild('/job/new', { number: 1, ...finished })
  await cycle()
  assert.deepEqual(numbers(), [7], 'first builds are not handled')
})

test('a build whose event comes twice starts a pipeline once', async (t) => {
  const jenkins = await startJenkins(t)
  const trigger = { enabled: true, type: 'jenkins', master: 'ci-main', job: 'app' }
  const recording = createRecording([
    { id: 'p1', name: 'deploy', application: 'web', triggers: [trigger] },
  ])
  const backends = await startBackends(t, [createBuildsBackend(), eventsBackend], {
    now: () => nowMs,
    settings: {
      buildServers: { jenkins: jenkinsOf([{ name: 'ci-main', address: jenkins.url }]) },
      builds: { ...defaults.builds, pollSeconds: 0.02 },
    },
    others: recording.call,
  })
  end(jenkins, '/job/app/7')
  await recording.untilStarts(1)
  const { buildInfo, buildNumber, eventId } = objectOf(recording.starts[0]?.body['trigger'])
  assert.deepEqual([buildNumber, objectOf(buildInfo)['id']], [7, 'app-7'])

  const server = { name: 'ci-main', type: 'jenkins' } as BuildServer
  const send = (build: ListedBuild) =>
    backends.ask('echo', 'POST', '/', toBuildEvent(server, 'app', build))
  const repeated = { ...finished, number: 7, timestamp: '1790000000000' }
  assert.equal(toBuildEvent(server, 'app', repeated)['eventId'], eventId)
  await send(repeated)
  await send({ ...repeated, number: 8 })
  await recording.untilStarts(2)
  assert.equal(fieldAt(recording.starts[1]?.body, 'trigger', 'buildNumber'), 8)
})

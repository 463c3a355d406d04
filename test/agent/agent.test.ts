/** The agent keeps programs running, runs commands once, and goes on after its own end. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { askAgent } from '../../packages/agent/agent-request.ts'
import { openAgent } from '../../packages/agent/client.ts'
import { describeStartFault } from '../../packages/agent/reasons.ts'
import { restartPauseMs } from '../../packages/agent/restart-pause.ts'
import type {
  DesiredLoadBalancer,
  ObservedInstance,
  ObservedState,
} from '../../packages/base/net/agent-protocol.ts'
import { socketPathFor } from '../../packages/base/storage/socket-path.ts'
import { openTestAgent, silentLog, type TestAgent, toInstance } from '../support/agent.ts'
import { freePort } from '../support/free-port.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

const isReady = ({ phase }: ObservedInstance) => phase === 'ready'
const isEnded = ({ phase }: ObservedInstance) => phase === 'ended'

test('programs', async (t) => {
  const agent = openTestAgent(t)
  const content = createContent(t)

  await t.test('a program runs until it is no longer desired', async () => {
    await agent.desire([toInstance('greeter', ['sh', '-c', 'echo hello; exec sleep 1000'])])
    const { pid } = await agent.until('greeter', isReady)
    assert.deepEqual(
      agent.processes().map((entry) => entry.pid),
      [pid],
    )
    assert.equal(await consoleOf(agent, 'greeter', /\n/), 'hello\n')
    await agent.desire([])
    await waitUntil(() => agent.instance('greeter') === undefined, 'the removal of the instance')
    assert.deepEqual(agent.processes(), [])
  })

  await t.test('a program gets its own environment and limits', async () => {
    const environment = { GREETING: 'hello', PATH: '/usr/bin:/bin' }
    const limits = {
      memoryBytes: undefined,
      processes: 10,
      openFiles: 64,
      diskBytes: 1024 ** 2,
      consoleBytes: 1024,
    }
    const command = ['sh', '-c', 'ulimit -n; env | sort; exec sleep 1000']
    await agent.desire([toInstance('limited', command, { program: { environment, limits } })])
    const { enforcement } = await agent.until('limited', isReady)
    assert.equal(enforcement.openFiles, 'prlimit')
    assert.equal(enforcement.disk, 'watched')
    assert.equal(enforcement.memory, 'none')
    const [files, ...variables] = (await consoleOf(agent, 'limited', /PWD.*\n/)).trim().split('\n')
    assert.equal(files, '64')
    const names = variables.map((variable) => variable.split('=')[0])
    assert.deepEqual(
      names.filter((name) => !['_', 'OLDPWD', 'SHLVL', 'LANG'].includes(name ?? '')),
      ['FAIRLEAD_PROCESS', 'GREETING', 'HOME', 'PATH', 'PWD'],
    )
  })

  await t.test("a restart in place keeps the working directory's content", async () => {
    const program = toInstance('counter', ['./count'], { program: { content } })
    await agent.desire([program])
    assert.equal(await consoleOf(agent, 'counter', /\n/), 'start 1\n')
    await agent.desire([{ ...program, generation: 2 }])
    assert.equal(await consoleOf(agent, 'counter', /2\n/), 'start 1\nstart 2\n')
    assert.equal(readFileSync(join(content, 'starts'), 'utf8'), '')
  })

  await t.test('a package.json above the data directory does not concern programs', async () => {
    writeFileSync(join(agent.dataDir, 'package.json'), '{"type": "module"}')
    writeFileSync(join(content, 'common.js'), 'console.log(typeof require)')
    const command = [process.execPath, 'common.js']
    await agent.desire([toInstance('common', command, { restart: 'once', program: { content } })])
    assert.equal(await consoleOf(agent, 'common', /\n/), 'function\n')
  })

  await t.test(
    'a program runs as the user it is given',
    { skip: process.getuid?.() !== 0 },
    async () => {
      const user = { uid: 65_534, gid: 65_534 }
      const command = [
        'sh',
        '-c',
        'id -u; id -G; touch new && ls -ln "$PWD"/new | cut -d" " -f3; exec sleep 1000',
      ]
      await agent.desire([toInstance('other', command, { program: { user } })])
      assert.equal(await consoleOf(agent, 'other', /\n.*\n.*\n/), '65534\n65534\n65534\n')
      assert.equal(statSync(join(agent.dataDir, 'instances/other/record.json')).mode & 0o077, 0)
    },
  )

  await t.test('a program is ready while its probe succeeds', async () => {
    const port = await freePort()
    const answers = `answer.writeHead(fs.existsSync(${JSON.stringify(join(content, 'down'))}) ? 500 : 200).end()`
    const server = `http.createServer((_request, answer) => ${answers}).listen(${port}, '127.0.0.1')`
    const readiness = {
      kind: 'http',
      host: '127.0.0.1',
      port,
      path: '/',
      intervalMs: 20,
      timeoutMs: 10_000,
    } as const
    await agent.desire([toInstance('probed', [process.execPath, '-e', server], { readiness })])
    await agent.until('probed', isReady)
    writeFileSync(join(content, 'down'), '')
    const { reason } = await agent.until('probed', ({ phase }) => phase === 'unready')
    assert.equal(reason, `It was ready, and now GET / on port ${port} answered with status 500.`)
    rmSync(join(content, 'down'))
    await agent.until('probed', isReady)
    await agent.desire([])
  })

  await t.test('an id that would leave the folder of instances is rejected', async () => {
    agent.client.setDesired({
      revision: 1_000,
      instances: [toInstance('../../etc', ['true'])],
      loadBalancers: [],
    })
    await waitUntil(() => agent.client.problem() !== undefined, 'a problem')
    assert.match(
      agent.client.problem() ?? '',
      /The agent rejects revision 1000 of the desired state: .*"\.\.\/\.\.\/etc"/,
    )
    await agent.desire([])
    assert.equal(agent.client.problem(), undefined)
  })

  await t.test('an older desired state is refused with the current revision', async () => {
    const { revision = 0 } = agent.client.observed() ?? {}
    const answer = await ask(agent.dataDir, 'PUT', '/desired', {
      revision: revision - 1,
      instances: [],
      loadBalancers: [],
    })
    assert.deepEqual([answer.status, JSON.parse(answer.text)], [409, { revision }])
  })
})

test('commands', async (t) => {
  const agent = openTestAgent(t)
  const once = { restart: 'once' } as const
  await agent.desire([
    toInstance('succeeds', ['sh', '-c', 'echo done'], once),
    toInstance('fails', ['sh', '-c', 'sleep 1000 & exit 3'], once),
    toInstance('crashes', ['sh', '-c', 'kill -SEGV $$'], once),
    toInstance('hangs', ['sh', '-c', 'sleep 1000'], { ...once, timeLimitMs: 200 }),
    toInstance(
      'waits',
      ['sh', '-c', 'while [ ! -e go ]; do sleep 0.05; done; echo went; exit 7'],
      once,
    ),
  ])

  await t.test('a command reports its exit code and keeps its console', async () => {
    const { exitCode, signal, reason, pid } = await agent.until('succeeds', isEnded)
    assert.deepEqual([exitCode, signal, pid], [0, undefined, undefined])
    assert.match(reason ?? '', /^It ended with exit code 0, .* after its start\.$/)
    assert.equal(await agent.client.console('succeeds', 100), 'done\n')
  })

  await t.test('a command that fails leaves no process behind', async () => {
    assert.equal((await agent.until('fails', isEnded)).exitCode, 3)
    assert.equal((await agent.until('crashes', isEnded)).signal, 'SIGSEGV')
  })

  await t.test('a command is ended at its time limit', async () => {
    assert.equal(
      (await agent.until('hangs', isEnded)).reason,
      'It was ended after its time limit of 200 ms.',
    )
  })

  await t.test('the end of a command is known to the next agent', async () => {
    await agent.until('waits', isReady)
    await agent.kill()
    writeFileSync(join(agent.dataDir, 'instances/waits/work/go'), '')
    const { exitCode, events } = await agent.until('waits', isEnded)
    assert.equal(exitCode, 7)
    assert.equal(events.filter(({ text }) => text.startsWith('Started')).length, 1)
    assert.equal(await agent.client.console('waits', 100), 'went\n')
    assert.equal((await agent.until('fails', isEnded)).exitCode, 3)
    assert.equal(
      (await agent.until('hangs', isEnded)).reason,
      'It was ended after its time limit of 200 ms.',
    )
    assert.deepEqual(agent.processes(), [])
  })
})

test('programs survive their agent, and the next agent adopts them', async (t) => {
  const agent = openTestAgent(t)
  await agent.desire([
    toInstance('writer', ['sh', '-c', 'while :; do echo line; sleep 0.02; done']),
  ])
  const first = await agent.until('writer', isReady)
  await agent.kill()
  const adopted = await agent.until('writer', ({ events }) =>
    events.some(({ text }) => text.startsWith('Adopted')),
  )
  assert.deepEqual(
    [adopted.pid, adopted.startedAt, adopted.restarts],
    [first.pid, first.startedAt, 0],
  )
  const length = async () => (await agent.client.console('writer', 60_000))?.length ?? 0
  const before = await length()
  await waitUntil(async () => (await length()) > before, 'more output')

  process.kill(first.pid as number, 'SIGKILL')
  const second = await agent.until(
    'writer',
    ({ phase, pid }) => phase === 'ready' && pid !== first.pid,
  )
  assert.equal(second.restarts, 1)
  assert.match(
    second.reason ?? '',
    /^It was started again once\. It ended while no agent watched it, so its exit code is unknown/,
  )
})

/** Answers; a request for `/held` lasts until a file exists. */
const server = (port: number, file: string) => `
const { existsSync } = require('node:fs')
require('node:http').createServer((request, answer) => {
  if (request.url !== '/held') return answer.end('served')
  answer.write('begun ')
  const timer = setInterval(() => {
    if (existsSync('${file}')) clearInterval(timer), answer.end('ended')
  }, 20)
}).listen(${port}, '127.0.0.1')`

/** A load balancer and a program behind it. */
async function toService(dataDir: string) {
  const [port, memberPort] = [await freePort(), await freePort()]
  const place = { host: '127.0.0.1', port: memberPort }
  const readiness = { kind: 'tcp', ...place, intervalMs: 20, timeoutMs: 10_000 } as const
  const balancer: DesiredLoadBalancer = {
    id: 'front',
    listeners: [
      {
        protocol: 'http',
        host: '127.0.0.1',
        port,
        certificate: undefined,
        allowedSources: undefined,
      },
    ],
    healthCheck: {
      kind: 'http',
      path: '/',
      intervalMs: 20,
      timeoutMs: 10_000,
      healthyThreshold: 1,
      unhealthyThreshold: 2,
    },
    members: [{ instanceId: 'web', ...place, inService: true }],
  }
  const file = join(dataDir, 'go')
  const instance = toInstance('web', [process.execPath, '-e', server(memberPort, file)], {
    readiness,
  })
  const url = `http://127.0.0.1:${port}`
  const isServed = async () => {
    const answer = await fetch(`${url}/`, { headers: { connection: 'close' } }).catch(
      () => undefined,
    )
    return (await answer?.text()) === 'served'
  }
  return { instance, balancer, place, port, url, file, isServed }
}

test('a load balancer serves with the next agent, too', async (t) => {
  const agent = openTestAgent(t)
  const { instance, balancer, isServed } = await toService(agent.dataDir)
  await agent.desire([instance], [balancer])
  await waitUntil(isServed, 'a response')
  await waitUntil(
    () => agent.client.observed()?.loadBalancers[0]?.members[0]?.health === 'up',
    'the health of the member',
  )
  await agent.kill()
  await waitUntil(isServed, 'a response of the next agent')
})

test('a program whose port another one has waits for it, and the other one gets no requests', async (t) => {
  const agent = openTestAgent(t)
  const { instance, balancer, place, isServed } = await toService(agent.dataDir)
  const stranger = createServer((_request, answer) => answer.end('a stranger'))
  const asked: unknown[] = []
  stranger.on('request', ({ headers }) => asked.push(headers['user-agent']))
  await new Promise<void>((listening) => stranger.listen(place.port, place.host, listening))
  t.after(() => stranger.close())
  await agent.desire([instance], [balancer])
  const { reason, restarts } = await agent.until(instance.id, ({ phase }) => phase === 'waiting')
  assert.match(
    reason ?? '',
    /^Another program listens on port \d+, which is the port of this instance\. Stop that program, or terminate/,
  )
  assert.equal(restarts, 0)
  const member = () => agent.client.observed()?.loadBalancers[0]?.members[0]
  await waitUntil(
    () => member()?.reason === `another program answers on port ${place.port}`,
    () => JSON.stringify(member()),
  )
  assert.equal(member()?.health, 'starting')
  assert.ok(asked.length > 0 && asked.every((agentName) => agentName === 'Fairlead health check'))
  stranger.close()
  stranger.closeAllConnections()
  await waitUntil(isServed, 'a response of the program')
})

const needsRoot = process.getuid?.() === 0 ? false : 'only root can start a program as another user'

test('another user who takes the port of a program that starts gets no requests', {
  skip: needsRoot,
}, async (t) => {
  const agent = openTestAgent(t)
  const { instance, balancer, place, file, isServed } = await toService(agent.dataDir)
  const starts = `until [ -e '${file}' ]; do sleep 0.02; done; exec "$@"`
  const command = ['sh', '-c', starts, 'sh', ...instance.program.command]
  await agent.desire([{ ...instance, program: { ...instance.program, command } }], [balancer])
  await agent.until('web', ({ pid }) => pid !== undefined)
  const stranger = spawn(
    process.execPath,
    ['-e', `process.setuid(65534)\n${server(place.port, file)}`],
    { cwd: '/' },
  )
  t.after(() => stranger.kill('SIGKILL'))

  const answers = `another program answers on port ${place.port}`
  const { phase } = await agent.until('web', ({ reason }) => reason?.includes(answers) === true)
  const member = () => agent.client.observed()?.loadBalancers[0]?.members[0]
  await waitUntil(
    () => member()?.reason === answers,
    () => JSON.stringify(member()),
  )
  assert.deepEqual([phase, member()?.health], ['starting', 'starting'])

  const ended = once(stranger, 'exit')
  stranger.kill('SIGKILL')
  await ended
  writeFileSync(file, '')
  await waitUntil(isServed, 'a response of the program')
  await agent.until('web', isReady)
})

test('a program that ends gets no requests any more, although another one takes its port at once', async (t) => {
  const agent = openTestAgent(t)
  const { instance, balancer, place, file, isServed } = await toService(agent.dataDir)
  // Nothing but its end says that it is down.
  const healthCheck = { ...balancer.healthCheck, intervalMs: 3_600_000 }
  const listensOnce = `[ ! -e '${file}' ] || exec sleep 1000; touch '${file}'; exec "$@"`
  const program = {
    ...instance.program,
    command: ['sh', '-c', listensOnce, 'sh', ...instance.program.command],
  }
  await agent.desire([{ ...instance, program }], [{ ...balancer, healthCheck }])
  await waitUntil(isServed, 'a response of the program')
  const stranger = createTcpServer()
  const listen = () => void stranger.listen(place.port, place.host)
  stranger.on('error', () => setImmediate(listen))
  t.after(() => stranger.close())
  listen()

  process.kill(agent.instance('web')?.pid as number, 'SIGKILL')

  const member = () => agent.client.observed()?.loadBalancers[0]?.members[0]
  await waitUntil(
    () => member()?.health === 'down',
    () => JSON.stringify(member()),
  )
})

test('agents of two data directories do not disturb each other', async (t) => {
  const [one, other] = [openTestAgent(t), openTestAgent(t)]
  await Promise.all(
    [one, other].map((agent) => agent.desire([toInstance('same', ['sleep', '1000'])])),
  )
  const [, { pid }] = await Promise.all([one.until('same', isReady), other.until('same', isReady)])
  await one.kill()
  await one.desire([])
  await waitUntil(
    () => one.client.observed()?.instances.length === 0,
    'the removal of the instance',
  )
  await one.client.close()
  await ask(one.dataDir, 'POST', '/stop')
  assert.equal(other.instance('same')?.pid, pid)
  assert.equal(other.processes().length, 1)
})

test('an agent ends everything before it stops', async (t) => {
  const agent = openTestAgent(t)
  await agent.desire([
    toInstance('one', ['sleep', '1000']),
    toInstance('two', ['sh', '-c', 'setsid sleep 1000 & sleep 1000']),
  ])
  await agent.until('two', isReady)
  await agent.client.close()
  assert.equal((await ask(agent.dataDir, 'POST', '/stop')).status, 200)
  assert.deepEqual(agent.processes(), [])
  assert.deepEqual(readdirSync(join(agent.dataDir, 'instances')), [])
})

test('an agent that speaks another protocol hands over', async (t) => {
  const dataDir = createFolder('agent')
  const asked: string[] = []
  const former = createServer((request, answer) => {
    asked.push(`${request.method} ${request.url}`)
    if (request.method === 'POST') former.close()
    answer.end(JSON.stringify({ protocol: 0, version: '0.0.1', pid: process.pid }))
  })
  t.after(() => former.close())
  await new Promise<void>((listening) => former.listen(join(dataDir, 'agent.sock'), listening))
  const agent = openTestAgent(t, { dataDir })
  await agent.desire([toInstance('one', ['sleep', '1000'])])
  await agent.until('one', isReady)
  assert.deepEqual(asked.slice(0, 2), ['GET /', 'POST /hand-over'])
})

test('an agent of another version takes over, and no connection is lost', async (t) => {
  const former = openTestAgent(t, { version: '1.0.0' })
  const { instance, balancer, port, url, file, isServed } = await toService(former.dataDir)
  await former.desire([instance], [balancer])
  await waitUntil(isServed, 'a response')
  const before = await former.until('web', isReady)
  const { pid } = former.client.observed() as ObservedState
  await former.client.close()
  const held = await fetch(`${url}/held`)
  const kept = await openRawConnection(t, url)
  kept.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.equal((await kept.next()).headers['connection'], 'keep-alive')
  let isOver = false
  let lost = 0
  let sent = 0
  const load = (async () => {
    for (; !isOver; sent++, await sleep(10)) if (!(await isServed())) lost++
  })()

  const next = openTestAgent(t, { dataDir: former.dataDir, version: '2.0.0' })
  const revision = 7
  next.client.setDesired({
    revision,
    instances: [instance, toInstance('other', ['sleep', '1000'])],
    loadBalancers: [balancer],
  })
  await next.until('other', isReady)
  const then = sent
  await waitUntil(() => sent > then + 5, 'further requests')

  assert.equal(next.client.observed()?.version, '2.0.0')
  assert.equal(next.instance('web')?.pid, before.pid)
  kept.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.equal((await kept.next()).headers['connection'], 'close')
  await kept.ended
  writeFileSync(file, '')
  assert.equal(await held.text(), 'begun ended')
  isOver = true
  await load
  assert.equal(lost, 0)
  await waitUntil(() => !existsSync(`/proc/${pid}`), 'the end of the former agent')
  // No program has inherited the socket.
  next.client.setDesired({ revision: revision + 1, instances: [instance], loadBalancers: [] })
  await waitUntil(
    () => next.client.observed()?.revision === revision + 1,
    'the desired state without a port',
  )
  await assert.rejects(openRawConnection(t, `http://127.0.0.1:${port}`), /ECONNREFUSED/)
})

test('an agent ends everything when its data directory is gone', async (t) => {
  const agent = openTestAgent(t)
  const { instance, balancer, port, isServed } = await toService(agent.dataDir)
  await agent.desire([instance], [balancer])
  await waitUntil(isServed, 'a response')
  const { pid } = agent.client.observed() as ObservedState
  await agent.client.close()

  // The agent may write meanwhile.
  rmSync(agent.dataDir, { recursive: true, maxRetries: 20 })

  await waitUntil(() => !existsSync(`/proc/${pid}`), 'the end of the agent')
  assert.deepEqual(agent.processes(), [])
  await assert.rejects(openRawConnection(t, `http://127.0.0.1:${port}`), /ECONNREFUSED/)
})

test('without anything to run, no agent is started', async (t) => {
  const dataDir = createFolder('agent')
  t.after(() => removeFolder(dataDir))
  const client = openAgent({ dataDir, log: silentLog, version: '0.0.0-test' })
  client.setDesired({ revision: 1, instances: [], loadBalancers: [] })
  assert.equal(await client.console('none', 10), undefined)
  await client.close()
  assert.deepEqual(readdirSync(dataDir), [])
})

test('an agent that does not answer is named', async (t) => {
  const dataDir = createFolder('agent')
  const silent = createServer(() => {}).listen(socketPathFor(dataDir, 'agent.sock'))
  const timeout = AbortSignal.timeout
  t.mock.method(AbortSignal, 'timeout', () => timeout.call(AbortSignal, 20))
  const client = openAgent({ dataDir, log: silentLog, version: '0.0.0-test' })
  t.after(async () => {
    await client.close()
    silent.closeAllConnections()
    silent.close()
    removeFolder(dataDir)
  })
  const says =
    /^Error: The agent, which runs the deployed programs, cannot be reached: it did not answer within 10 s\./
  await assert.rejects(client.console('i-1', 10), says)
})

test('an agent whose socket was removed is reached again', async (t) => {
  const agent = openTestAgent(t)
  await agent.desire([toInstance('one', ['sleep', '1000'])])
  const { pid } = await agent.until('one', isReady)
  rmSync(socketPathFor(agent.dataDir, 'agent.sock'))
  await agent.desire([toInstance('one', ['sleep', '1000']), toInstance('two', ['sleep', '1000'])])
  await agent.until('two', isReady)
  assert.equal(agent.instance('one')?.pid, pid)
})

test('what a start lacks is said', () => {
  const { program } = toInstance('one', ['true'])
  const fault = Object.assign(new Error('spawn EAGAIN'), { code: 'EAGAIN' })
  assert.match(
    describeStartFault(fault, program),
    /^It cannot be started: this machine allows no further process/,
  )
})

test('pauses between starts grow up to half a minute', () => {
  const pauses = [1, 2, 3, 9, 10, 1_000].map(restartPauseMs)
  assert.deepEqual(pauses, [100, 200, 400, 25_600, 30_000, 30_000])
})

function createContent(t: TestContext): string {
  const folder = createFolder('content')
  t.after(() => removeFolder(folder))
  mkdirSync(join(folder, 'below'), { mode: 0o555 })
  writeFileSync(join(folder, 'starts'), '')
  const script =
    '#!/bin/sh\necho >> starts\nset -- $(wc -l < starts)\necho "start $1"\nexec sleep 1000\n'
  writeFileSync(join(folder, 'count'), script)
  chmodSync(join(folder, 'count'), 0o755)
  return folder
}

function consoleOf({ client }: TestAgent, id: string, complete: RegExp): Promise<string> {
  return waitFor(async () => {
    const text = await client.console(id, 10_000)
    return text !== undefined && complete.test(text) ? text : undefined
  }, `the console of ${id}`)
}

function ask(dataDir: string, method: 'PUT' | 'POST', path: string, body?: object) {
  const signal = AbortSignal.timeout(300_000)
  return askAgent({
    socketPath: join(dataDir, 'agent.sock'),
    method,
    path,
    signal,
    body: body && JSON.stringify(body),
  })
}

test('an agent that is needed late is given its time to start', async (t) => {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const agent = openTestAgent(t)
  await agent.client.console('none', 1)
  const problems: (string | undefined)[] = []
  agent.client.onChange(() => problems.push(agent.client.problem()))
  nowMs = 60_000
  await agent.desire([toInstance('late', ['sleep', '1000'])])
  assert.ok(problems.every((problem) => problem === undefined))
})

/** Programs that misbehave: each ends in a state that is explained in words, and none leaves a process behind. */
import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type {
  DesiredInstance,
  ObservedInstance,
  Probe,
} from '../../packages/base/net/agent-protocol.ts'
import { openTestAgent, readCommand, type TestAgent, toInstance } from '../support/agent.ts'
import { freePort } from '../support/free-port.ts'
import { waitUntil } from '../support/wait-until.ts'

interface HostileProgram {
  readonly title: string
  readonly instance: DesiredInstance
  /** The state that it reaches. */
  readonly reaches: (instance: ObservedInstance) => boolean
  readonly check?: (agent: TestAgent, instance: ObservedInstance) => void | Promise<void>
}

const mebibyte = 1024 * 1024
const [port, otherPort] = [await freePort(), await freePort()]
const probe = { host: '127.0.0.1', port, intervalMs: 20, timeoutMs: 10_000 } as const
const httpProbe: Probe = { ...probe, kind: 'http', path: '/health' }

/** A server on a free port of its own, and what it answers. */
const serverElsewhere = `require('node:http').createServer((_, answer) => answer.writeHead(503).end()).listen(0, '127.0.0.1')`
const serverBroken = serverElsewhere.replace('listen(0', `listen(${port}`)

/** 255 processes, each in a session of its own. */
const doubling = `
if [ "$1" != ........ ]; then for next in 1 2; do setsid sh -c "$0" "$0" "$1." & done; fi
exec sleep 1000`

/** Paths have at most 4,096 bytes; a process that goes on from where it is gets deeper. */
const deepFile = `
for (let depth = 0; depth < 50; depth++) { fs.mkdirSync('d'.repeat(200)); process.chdir('d'.repeat(200)) }
fs.writeFileSync('big', Buffer.alloc(${30 * mebibyte})); setInterval(() => {}, 1000)`

function says(pattern: RegExp): HostileProgram['reaches'] {
  return ({ reason, events }) =>
    pattern.test(reason ?? '') || events.some(({ text }) => pattern.test(text))
}

const hostilePrograms: HostileProgram[] = [
  {
    title: 'that ends again and again is started with growing pauses',
    instance: toInstance('ends', ['sh', '-c', 'exit 3']),
    reaches: ({ phase, restarts, exitCode, reason }) =>
      phase === 'waiting' &&
      restarts >= 3 &&
      exitCode === 3 &&
      /^It ended with exit code 3, .* after its start\. It is started again after .*\.$/.test(
        reason ?? '',
      ),
  },
  {
    title: 'that becomes ready and dies says how often',
    instance: toInstance('dies', ['sh', '-c', 'sleep 0.3; kill -SEGV $$']),
    reaches: ({ phase, reason }) =>
      phase === 'ready' &&
      /^It was started again \d+ times\. It was ended by SIGSEGV, .* after its start\.$/.test(
        reason ?? '',
      ),
  },
  {
    title: 'that listens on another port is told so',
    instance: toInstance('elsewhere', [process.execPath, '-e', serverElsewhere], {
      readiness: { ...httpProbe, port: otherPort },
    }),
    reaches: ({ phase, reason }) =>
      phase === 'starting' &&
      /^It did not become ready within 200 ms: nothing listens on port \d+; it listens on port \d+ instead\.$/.test(
        reason ?? '',
      ),
  },
  {
    title: 'that listens on another address is told so',
    instance: toInstance(
      'beside',
      [
        process.execPath,
        '-e',
        serverElsewhere.replace("0, '127.0.0.1'", `${otherPort}, '127.0.0.2'`),
      ],
      {
        readiness: { ...httpProbe, port: otherPort },
      },
    ),
    reaches: ({ phase, reason }) =>
      phase === 'starting' &&
      /: nothing listens on port \d+; it listens there on another address than 127/.test(
        reason ?? '',
      ),
  },
  {
    title: 'that never becomes ready says what its probe gets',
    instance: toInstance('broken', [process.execPath, '-e', serverBroken], {
      readiness: httpProbe,
    }),
    reaches: ({ phase, reason }) =>
      phase === 'starting' &&
      /GET \/health on port \d+ answered with status 503/.test(reason ?? ''),
  },
  {
    title: 'that fills its disk is ended and starts again with an empty one',
    instance: toInstance(
      'fills',
      [
        'sh',
        '-c',
        '[ -e big ] && echo still full; head -c 3000000 /dev/zero > big; exec sleep 1000',
      ],
      {
        program: { limits: { ...noLimits(), diskBytes: mebibyte } },
      },
    ),
    reaches: (instance) =>
      instance.phase === 'ready' &&
      instance.restarts > 0 &&
      says(/^Its working directory exceeded its limit of 1 MiB, and it was ended\./)(instance),
    check: async ({ client }, { id }) => assert.equal(await client.console(id, 1000), ''),
  },
  {
    title: 'that fills its directory with empty files is ended',
    instance: toInstance(
      'litters',
      ['sh', '-c', 'for i in $(seq 300); do : > "$i"; done; exec sleep 1000'],
      {
        program: { limits: { ...noLimits(), diskBytes: mebibyte } },
      },
    ),
    reaches: says(
      /^Its working directory exceeded its limit of 1 MiB with \d+ files, each of which counts for 4 KiB at least,/,
    ),
  },
  {
    title: 'that hides a file below the longest path is ended',
    instance: toInstance('hides', [process.execPath, '-e', deepFile], {
      program: { limits: { ...noLimits(), diskBytes: 20 * mebibyte } },
    }),
    reaches: says(/^Its working directory exceeded its limit of 20 MiB, and it was ended\./),
  },
  {
    title: 'that writes 100 MB at once keeps the newest of it',
    instance: toInstance(
      'chatters',
      ['sh', '-c', 'head -c 100000000 /dev/zero; echo the end; exec sleep 1000'],
      {
        program: { limits: { ...noLimits(), consoleBytes: mebibyte } },
      },
    ),
    reaches: ({ phase }) => phase === 'ready',
    async check(agent, { id }) {
      await waitUntil(
        async () => (await agent.client.console(id, 100))?.endsWith('the end\n') ?? false,
        'the newest output',
      )
      const folder = join(agent.dataDir, 'instances', id)
      const consoles = () => readdirSync(folder).filter((name) => name.startsWith('console'))
      await waitUntil(
        () => consoles().every((name) => statSync(join(folder, name)).size <= mebibyte / 2),
        'the bound',
      )
    },
  },
  {
    title: 'that needs too much memory is ended',
    instance: toInstance(
      'grows',
      ['sh', '-c', 'head -c 60000000 /dev/zero | tail -c 59999999 | sleep 1000'],
      {
        program: { limits: { ...noLimits(), memoryBytes: 20 * mebibyte } },
      },
    ),
    reaches: says(
      /^It (used \d.* MiB of memory, more than|needed more memory than) its limit of 20 MiB/,
    ),
  },
  {
    title: 'that starts too many processes is ended',
    instance: toInstance(
      'multiplies',
      ['sh', '-c', 'for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; wait'],
      {
        program: { limits: { ...noLimits(), processes: 5 } },
      },
    ),
    reaches: says(/^It had 10 processes, more than its limit of 5, and was ended\./),
  },
  {
    title: 'that doubles itself time and again is ended with all of them',
    instance: toInstance('bomb', ['sh', '-c', doubling, doubling, '.'], {
      restart: 'once',
      program: { limits: { ...noLimits(), processes: 100 } },
    }),
    reaches: ({ phase, reason }) =>
      phase === 'ended' &&
      /^It had \d+ processes, more than its limit of 100, and was ended\.$/.test(reason ?? ''),
  },
  {
    title: 'that goes to the background is told to stay',
    instance: toInstance('daemon', [
      'sh',
      '-c',
      'setsid sleep 1000 & setsid sleep 1000 & sleep 0.1',
    ]),
    reaches: says(/exit code 0.* a program has to stay in the foreground\./),
  },
  {
    title: 'that does not exist fails at once',
    instance: toInstance('missing', ['no-such-program']),
    reaches: ({ phase, reason }) =>
      phase === 'failed' && /^The program "no-such-program" was not found/.test(reason ?? ''),
  },
  {
    title: 'whose name is too long fails at once',
    instance: toInstance('long', ['x'.repeat(5000)]),
    reaches: ({ phase, reason }) =>
      phase === 'failed' && /^The program "x{99}…" was not found/.test(reason ?? ''),
  },
  {
    title: 'whose environment is too large fails at once',
    instance: toInstance('large', ['true'], {
      program: { environment: { DATA: 'x'.repeat(200_000) } },
    }),
    reaches: ({ phase, reason }) =>
      phase === 'failed' && /^Its command and its environment are larger/.test(reason ?? ''),
  },
  {
    title: 'whose content is missing fails at once',
    instance: toInstance('empty', ['true'], { program: { content: '/no/such/image' } }),
    reaches: ({ phase, reason }) =>
      phase === 'failed' && reason === 'The folder of its content, /no/such/image, does not exist.',
  },
  {
    title: 'that may not be executed fails at once',
    instance: toInstance('forbidden', ['/etc/passwd']),
    reaches: ({ phase, reason }) =>
      phase === 'failed' && /^The program "\/etc\/passwd" may not be executed/.test(reason ?? ''),
  },
]

function noLimits(): DesiredInstance['program']['limits'] {
  return {
    memoryBytes: undefined,
    processes: undefined,
    openFiles: undefined,
    diskBytes: undefined,
    consoleBytes: 64 * 1024,
  }
}

test('programs that misbehave', async (t) => {
  const agent = openTestAgent(t)
  await agent.desire(hostilePrograms.map(({ instance }) => instance))
  for (const { title, instance, reaches, check } of hostilePrograms) {
    await t.test(`a program ${title}`, async () => {
      const found = await agent.until(instance.id, reaches)
      await check?.(agent, found)
    })
  }
  await t.test('none of them leaves a process or a file behind', async () => {
    await agent.desire([])
    await waitUntil(() => agent.client.observed()?.instances.length === 0, 'the removal of all')
    assert.deepEqual(agent.processes(), [])
    assert.deepEqual(readdirSync(join(agent.dataDir, 'instances')), [])
  })
})

for (const [title, command] of [
  ['prints', 'while :; do echo line; sleep 0.05; done'],
  ['ignores SIGPIPE', 'trap "" PIPE; while :; do echo line; sleep 0.05; done'],
  ['is silent', 'exec sleep 1000'],
] as const) {
  test(`a program that ${title} starts again without its pump`, async (t) => {
    const agent = openTestAgent(t)
    await agent.desire([toInstance('piped', ['sh', '-c', command])])
    const { pid } = await agent.until('piped', ({ phase }) => phase === 'ready')
    process.kill(pumpOf(agent, 'piped'), 'SIGKILL')
    const again = await agent.until(
      'piped',
      (found) => found.phase === 'ready' && found.pid !== pid,
    )
    const reason =
      'It was ended, because the process that stores its output was ended with SIGKILL.'
    assert.deepEqual(
      [again.reason, again.failedStarts],
      [`It was started again once. ${reason}`, 1],
    )
    pumpOf(agent, 'piped')
  })
}

test('adopted programs start again without their pumps, unless they had closed their output', async (t) => {
  const agent = openTestAgent(t)
  const commands = {
    prints: 'while :; do echo line; sleep 0.05; done',
    silent: 'exec sleep 1000',
    closed: 'exec sleep 1000 >&- 2>&-',
  }
  await agent.desire(
    Object.entries(commands).map(([id, command]) => toInstance(id, ['sh', '-c', command])),
  )
  const isReady = ({ phase }: ObservedInstance) => phase === 'ready'
  const before = await Promise.all(Object.keys(commands).map((id) => agent.until(id, isReady)))
  await waitUntil(
    () => findPump(agent, 'closed') === undefined,
    'the end of the pump without programs',
  )
  await agent.kill()
  for (const { id, pid, events } of before) {
    const isAdopted = (found: ObservedInstance) =>
      found.pid === pid && found.events.length > events.length
    await agent.until(id, isAdopted)
  }
  const reason = 'It was ended, because the process that stores its output was ended.'
  for (const id of ['prints', 'silent']) process.kill(pumpOf(agent, id), 'SIGKILL')
  for (const { id, pid } of before.slice(0, 2)) {
    const { events } = await agent.until(id, (found) => isReady(found) && found.pid !== pid)
    assert.ok(
      events.some(({ text }) => text === reason),
      JSON.stringify(events),
    )
  }
  assert.deepEqual(agent.instance('closed')?.pid, before[2]?.pid)
})

/** The shell with the path of the console in its command. */
function findPump({ dataDir }: TestAgent, id: string): string | undefined {
  const file = join(dataDir, 'instances', id, 'console')
  const isPump = (pid: string) => readCommand(pid).includes(file)
  return readdirSync('/proc').find((name) => /^\d+$/.test(name) && isPump(name))
}

function pumpOf(agent: TestAgent, id: string): number {
  const found = findPump(agent, id)
  assert.ok(found !== undefined, 'the pump')
  return Number(found)
}

test('a program that ignores SIGTERM is killed with its children', async (t) => {
  const agent = openTestAgent(t)
  const command = [
    'sh',
    '-c',
    'trap "" TERM; setsid sh -c "sleep 1000; sleep 1000" & while :; do sleep 0.05; done',
  ]
  const stubborn = toInstance('stubborn', command, { stopGraceMs: 300 })
  await agent.desire([stubborn])
  const { pid } = await agent.until('stubborn', ({ phase }) => phase === 'ready')
  await waitUntil(() => agent.processes().length >= 4, 'its children')
  await agent.desire([{ ...stubborn, generation: 2 }])
  const again = await agent.until(
    'stubborn',
    ({ phase, generation }) => phase === 'ready' && generation === 2,
  )
  assert.notEqual(again.pid, pid)
  assert.ok(
    again.events.some(
      ({ text }) => text === 'It did not end within 300 ms after SIGTERM, and was killed.',
    ),
  )
  await waitUntil(() => agent.processes().length >= 4, 'its new children')
  await agent.desire([])
  await waitUntil(() => agent.client.observed()?.instances.length === 0, 'its removal')
  assert.deepEqual(agent.processes(), [])
})

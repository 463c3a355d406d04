/** Programs beside that of an instance, and its output with times. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { TimedPart } from '../../packages/base/net/agent-protocol.ts'
import type { ExecConnection, ExecOutput } from '../../packages/base/net/exec-frames.ts'
import { openTestAgent, toInstance } from '../support/agent.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

test('output and programs of an instance', async (t) => {
  const agent = openTestAgent(t)
  const { client } = agent
  const environment = { GREETING: 'hello' }
  await agent.desire([
    toInstance('web', ['sh', '-c', 'echo $PPID; exec sleep 1000'], { program: { environment } }),
  ])
  await agent.until('web', ({ phase }) => phase === 'ready')

  for (const [command, code] of [
    [['sh', '-c', 'exit 7'], 7],
    [['sh', '-c', 'kill -9 $$'], 137],
    [['no-such-program'], 127],
  ] as const) {
    await t.test(`${command.join(' ')} ends with ${code} (app-scenario 24)`, async () => {
      const { exit } = await collect(await client.exec('web', { command }))
      assert.equal(exit?.code, code)
    })
  }

  await t.test('it has the variables of the instance, and its mark', async () => {
    const run = await client.exec('web', { command: ['sh', '-c', 'echo $GREETING; echo no >&2'] })
    const { stdout, stderr } = await collect(run)
    assert.deepEqual([String(stdout), String(stderr)], ['hello\n', 'no\n'])
  })

  await t.test('bytes of a pipe stay as they are (app-scenario 26)', async () => {
    const bytes = randomBytes(3_000_000)
    const run = await client.exec('web', { command: ['cat'] })
    const collected = collect(run)
    await run.send({ kind: 'stdin', bytes })
    await run.send({ kind: 'end' })
    const { stdout, exit } = await collected
    assert.equal(exit?.code, 0)
    assert.ok(stdout.equals(bytes))
  })

  await t.test('a terminal has a size, a prompt and Ctrl C (app-scenario 25)', async () => {
    const run = await client.exec('web', { command: [], terminal: { rows: 24, columns: 80 } })
    let text = ''
    const end = collect(run, (bytes) => {
      text += String(bytes)
    })
    const type = (line: string) => run.send({ kind: 'stdin', bytes: Buffer.from(line) })
    const shows = (wanted: RegExp) =>
      waitUntil(
        () => wanted.test(text),
        () => text,
      )
    await shows(/[#$] $/)
    await type('stty size\r')
    await shows(/24 80\r\n/)
    await run.send({ kind: 'resize', size: { rows: 50, columns: 132 } })
    await waitFor(
      async () => {
        await type('stty size\r')
        return /50 132\r\n/.test(text) ? true : undefined
      },
      () => text,
    )
    await type('echo beg"un"; sleep 1000\r')
    await shows(/begun\r\n/)
    // The shell loses one that arrives between the two commands.
    await waitFor(
      async () => {
        await type('\x03echo "after $?"\r')
        return /after 130\r\n/.test(text) ? true : undefined
      },
      () => text,
    )
    // What is still to be echoed is over before the end.
    await type('echo la"st"\r')
    await shows(/last\r\n/)
    await type('exit 3\r')
    assert.equal((await end).exit?.code, 3)
  })

  await t.test('a program ends with its client', async () => {
    const before = agent.processes().length
    for (const terminal of [undefined, { rows: 24, columns: 80 }]) {
      const command = ['sh', '-c', 'trap "" HUP; sleep 1000 & echo begun; wait']
      const run = await client.exec('web', { command, terminal })
      await run.output[Symbol.asyncIterator]().next()
      assert.ok(agent.processes().length > before)
      run.close()
      await waitUntil(() => agent.processes().length === before, 'the end of the program')
    }
  })

  await t.test('a follower gets each byte, to the last one before the removal', async () => {
    await agent.desire([
      toInstance('talker', [
        'sh',
        '-c',
        'trap "echo bye; exit" TERM; echo hi; while :; do sleep 0.05 2>/dev/null & wait; done 2>/dev/null',
      ]),
    ])
    await agent.until('talker', ({ phase }) => phase === 'ready')
    const parts: TimedPart[] = []
    const followed = (async () => {
      for await (const part of client.followOutput('talker', 0, AbortSignal.timeout(300_000)))
        parts.push(part)
    })()
    const output = () => parts.map((part) => part.output).join('')
    await waitUntil(() => output() === 'hi\n', output)
    await agent.desire([])
    await followed
    assert.equal(output(), 'hi\nbye\n')
    const [first, last] = [parts[0], parts.at(-1)]
    assert.ok((first?.times[0]?.atMs ?? 0) <= (last?.times.at(-1)?.atMs ?? 0))
  })

  await t.test('output of the run before, and of a time (app-scenario 23)', async () => {
    const startMs = Date.now()
    await agent.desire([toInstance('crasher', ['sh', '-c', 'echo "run $$"; sleep 0.3; exit 1'])])
    await agent.until('crasher', ({ restarts }) => restarts >= 1)
    const previous = await waitFor(
      () => client.timedPart('crasher', { previous: true }, 10_000),
      'the run before',
    )
    assert.match(previous.output, /^run \d+\n$/)
    assert.ok((previous.times[0]?.atMs ?? 0) >= startMs)
    const later = { sinceMs: Date.now() + 60_000 }
    assert.equal((await client.timedPart('crasher', later, 10_000))?.output, '')
    const all = await client.timedPart('crasher', { sinceMs: startMs }, 10_000)
    assert.ok(all?.output.startsWith(previous.output))
    await agent.kill()
    const again = await waitFor(
      () => client.timedPart('crasher', { sinceMs: startMs }, 10_000).catch(() => undefined),
      'the next agent',
    )
    assert.deepEqual(again.times[0], all?.times[0])
  })
})

async function collect(
  run: ExecConnection,
  onOutput: (bytes: Buffer) => void = () => {},
): Promise<{
  stdout: Buffer
  stderr: Buffer
  exit: Extract<ExecOutput, { kind: 'exit' }> | undefined
}> {
  const pieces = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
  let exit: Extract<ExecOutput, { kind: 'exit' }> | undefined
  for await (const output of run.output) {
    if (output.kind === 'exit') exit = output
    else {
      pieces[output.kind].push(output.bytes)
      onOutput(output.bytes)
    }
  }
  return { stdout: Buffer.concat(pieces.stdout), stderr: Buffer.concat(pieces.stderr), exit }
}

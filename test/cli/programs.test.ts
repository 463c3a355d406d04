/** `logs`, `exec` and `run` against an instance that has deployed an application. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type CliRun, runCli } from '../support/cli.ts'
import { type Group, startDeployments } from '../support/deployments.ts'
import { program, sharedEnvironment } from '../support/program.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { startUserProxy } from '../support/user-proxy.ts'
import { waitUntil } from '../support/wait-until.ts'

const secret = 'hunter-2222-hunter'
const isUp = ({ instances }: Group) =>
  instances.length > 0 && instances.every(({ healthState }) => healthState === 'Up')

test('logs, exec and run', async (t) => {
  const fairlead = await startDeployments(t, { hasThread: true })
  const home = createFolder('home')
  t.after(() => removeFolder(home))
  const env = {
    HOME: home,
    FAIRLEAD_URL: await startUserProxy(t, fairlead.url()),
    FAIRLEAD_TOKEN: 'alice',
    FAIRLEAD_APP: 'shop',
  }
  const cli = (args: readonly string[], input?: string | Buffer): Promise<CliRun> =>
    runCli(args, { env, ...(input !== undefined && { input: input as string }) })
  const set = await fairlead.ask('PUT', '/applications/shop/secrets/db-password', { value: secret })
  assert.ok(set.status < 300, JSON.stringify(set.body))
  const environment = { GREETING: 'secret:db-password', PLAIN: 'text' }
  const volumes = [
    { name: 'uploads', shared: true },
    { name: 'own', shared: false, writers: 'many' },
  ]
  const deploy = async (count: number, imageId = 'shop:1.0.0') => {
    const capacity = { min: count, max: count, desired: count }
    const name = await fairlead.deploy('web', { imageId, environment, volumes, capacity })
    return fairlead.until(name, isUp)
  }
  const first = await deploy(1)
  const permissions = { READ: ['ops', 'readers'], EXECUTE: ['ops'], WRITE: ['ops'] }
  await fairlead.run({
    type: 'updateApplication',
    application: { name: 'shop', email: 'team@example.test', cloudProviders: 'local', permissions },
  })
  const [one] = first.instances

  await t.test('the exit code is that of the program (app-scenario 24)', async () => {
    const commands = [
      [['sh', '-c', 'exit 7'], 7],
      [['sh', '-c', 'kill -9 $$'], 137],
      [['no-such'], 127],
    ] as const
    for (const [command, wanted] of commands) {
      const { code, stderr } = await cli(['exec', 'web', '--', ...command])
      assert.equal(code, wanted, stderr)
    }
  })

  await t.test('bytes of a pipe arrive as they are (app-scenario 26)', async () => {
    const bytes = randomBytes(1_500_000)
    const child = start(['exec', '--', 'cat'])
    const output = child.stdout?.toArray() as Promise<Buffer[]>
    child.stdin?.end(bytes)
    const [code] = (await once(child, 'close')) as [number]
    assert.equal(code, 0)
    assert.ok(Buffer.concat(await output).equals(bytes))
  })

  await t.test('a terminal has a prompt, a size and Ctrl C (app-scenario 25)', async () => {
    const command = `stty rows 33 cols 101; exec ${process.execPath} ${program} exec web`
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: { ...sharedEnvironment, ...env },
      stdio: 'pipe',
    })
    let text = ''
    child.stdout.on('data', (piece: Buffer) => {
      text += String(piece)
    })
    const shows = (wanted: RegExp) =>
      waitUntil(
        () => wanted.test(text),
        () => text,
      )
    await shows(/[#$] $/)
    child.stdin.write('stty size\r')
    await shows(/33 101\r\n/)
    child.stdin.write('echo beg"un"; sleep 1000\r')
    await shows(/begun\r\n/)
    child.stdin.write('\x03')
    // What is typed before the shell has the terminal again may be dropped.
    await shows(/\^C\s[\s\S]*[#$] $/)
    child.stdin.write('echo "after $?"\r')
    await shows(/after 130\r\n/)
    child.stdin.write('exit 3\r')
    const [code] = (await once(child, 'close')) as [number]
    assert.equal(code, 3)
  })

  await t.test('exec needs WRITE, and both are audited (app-scenario 27)', async () => {
    const { code, stderr } = await runCli(['exec', '--', 'true'], {
      env: { ...env, FAIRLEAD_TOKEN: 'bob' },
    })
    assert.equal(code, 4, stderr)
    const audit = new DatabaseSync(join(fairlead.dataDir, 'audit.db'), { readOnly: true })
    t.after(() => audit.close())
    const records = () =>
      audit
        .prepare("SELECT user, decision, record FROM events_1 WHERE operation = 'execInApp'")
        .all()
    await waitUntil(
      () => records().some(({ user, decision }) => user === 'bob' && decision === 'refused'),
      () => JSON.stringify(records()),
    )
    assert.match(JSON.stringify(records()), /sh -c exit 7/)
  })

  await t.test('run has variables, secrets and shared volumes (app-scenario 28)', async () => {
    const script =
      'echo $PLAIN ${#GREETING} $GREETING; echo data > $FAIRLEAD_VOLUME_UPLOADS/file; echo own=$FAIRLEAD_VOLUME_OWN; exit 5'
    const { code, stdout, stderr } = await cli(['run', '--', 'sh', '-c', script])
    assert.equal(stdout, `text ${secret.length} ******\nown=\n`, stderr)
    assert.equal(code, 5)
    const seen = await cli(['exec', '--', 'sh', '-c', 'cat $FAIRLEAD_VOLUME_UPLOADS/file'])
    assert.equal(seen.stdout, 'data\n')
    await waitUntil(
      () => fairlead.processes().every(({ instanceId }) => instanceId === one?.id),
      'the end of what it ran in',
    )
  })

  await t.test('run --detach outlives its client (app-scenario 29)', async () => {
    const { code, stdout, stderr } = await cli(['run', '--detach', '--', 'sh', '-c', 'echo done'])
    assert.equal(code, 0, stderr)
    await fairlead.ends(stdout.trim(), 'SUCCEEDED', 'pipelines')
    assert.match((await cli(['runs'])).stdout, new RegExp(`^${stdout.trim()} +run sh -c`, 'm'))
  })

  await t.test('logs of a time, a pattern and an earlier run (app-scenario 23)', async () => {
    const all = await cli(['logs', 'web', '--since', '10m', '--grep', 'listen.*'])
    assert.match(all.stdout, /^\S+Z \S+ listening as \S+\n$/)
    assert.equal((await cli(['logs', '--grep', 'nothing like it'])).stdout, '')
    const pid = fairlead.processes()[0]?.pid ?? 0
    process.kill(pid, 'SIGKILL')
    await waitUntil(
      async () => (await cli(['logs', '--tail', '10'])).stdout.split('\n').length === 3,
      'the second run',
    )
    const previous = await cli(['logs', '--previous', '--output', 'json'])
    const [line, ...more] = previous.stdout.trim().split('\n')
    assert.deepEqual(more, [])
    const { type, text, instance } = JSON.parse(line ?? '{}') as Record<string, string>
    assert.deepEqual([type, instance], ['line', one?.id])
    assert.match(text ?? '', /^listening/)
  })

  await t.test('logs -f shows each line once, over a deployment (app-scenario 22)', async () => {
    const child = start(['logs', 'web', '-f', '--output', 'json'])
    let output = ''
    child.stdout?.on('data', (piece: Buffer) => {
      output += String(piece)
    })
    const lines = () =>
      output
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { instance: string; position: string; text: string })
    await waitUntil(
      () => lines().length === 2,
      () => output,
    )
    const second = await deploy(2, 'shop:1.1.0')
    await fairlead.run({ type: 'destroyServerGroup', serverGroupName: first.name })
    const wanted = new Set([one?.id, ...second.instances.map(({ id }) => id)])
    await waitUntil(
      () => new Set(lines().map(({ instance }) => instance)).size === wanted.size,
      () => output,
    )
    child.kill('SIGINT')
    await once(child, 'close')
    const keys = lines().map(({ instance, position }) => `${instance} ${position}`)
    assert.equal(new Set(keys).size, keys.length)
    assert.ok(lines().every(({ text }) => text.startsWith('listening')))
  })

  function start(args: readonly string[]): ChildProcess {
    return spawn(process.execPath, [program, ...args], {
      env: { ...sharedEnvironment, ...env },
      stdio: 'pipe',
    })
  }
})

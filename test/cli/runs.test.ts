/** Runs of pipelines from the command line: start, follow, judge, cancel, at a real instance and at Gate's addresses. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type CliRun, runCli } from '../support/cli.ts'
import { freePort } from '../support/free-port.ts'
import { createHome, startServe } from '../support/serve.ts'
import { runInTerminal } from '../support/terminal.ts'
import { waitFor } from '../support/wait-until.ts'

const password = 'correct-horse-battery'

const pipelines: Readonly<Record<string, object>> = {
  quick: { type: 'wait', name: 'pause', waitTime: 1 },
  slow: { type: 'wait', name: 'pause', waitTime: 3600 },
  bad: {
    type: 'checkPreconditions',
    name: 'check',
    preconditions: [{ type: 'expression', context: { expression: 'false' } }],
  },
  ask: { type: 'manualJudgment', name: 'sure', selectedStageRoles: ['ops'] },
}

test('runs at an instance', async (t) => {
  const home = createHome(t)
  const port = await freePort()
  const serve = () =>
    startServe(
      t,
      {
        server: { port },
        anonymous: { enabled: false },
        fairlead: { roles: { olga: ['ops'] } },
      },
      { home, embedded: true, env: { FAIRLEAD_ADMIN_PASSWORD: password } },
    )
  const first = serve()
  const url = await first.listening
  const ask = async (method: string, path: string, body?: unknown, user = 'admin') => {
    const answer = await fetch(url + path, {
      method,
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>)
  }
  const tokenOf = async (user: string) => {
    const issued = await ask('POST', '/auth/apiTokens', { name: 'test' }, user)
    return String(issued?.['token'])
  }
  await waitFor(
    async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok || undefined,
    'readiness',
  )
  for (const [name, stage] of Object.entries(pipelines)) {
    await ask('POST', '/pipelines', {
      application: 'shop',
      name,
      stages: [{ refId: '1', ...stage }],
    })
  }
  const admin = await tokenOf('admin')
  const run = (args: readonly string[], token = admin): Promise<CliRun> =>
    runCli(args, { env: { FAIRLEAD_URL: url, FAIRLEAD_TOKEN: token, FAIRLEAD_APP: 'shop' } })
  const start = async (name: string) => (await run(['start', name])).stdout.trim()

  await t.test(
    'app-scenario 17: the id comes first, and the exit code is that of the run',
    async () => {
      const good = await run(['start', 'quick', '--follow'])
      assert.match(good.stdout, /^[\w-]+\nSUCCEEDED in \d+s\n$/)
      assert.equal(good.code, 0)
      assert.ok(!good.stderr.includes('\u001b'))

      const bad = await run(['start', 'bad', '--follow', '--output', 'json'])
      assert.equal(bad.code, 1)
      const events = bad.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
      assert.equal(events[0]?.['type'], 'started')
      assert.deepEqual([events.at(-1)?.['type'], events.at(-1)?.['status']], ['ended', 'TERMINAL'])
      assert.ok(events.every(({ at }) => typeof at === 'string'))
    },
  )

  await t.test(
    'app-scenario 19: after --timeout it is 6, and the run goes on until it is canceled',
    async () => {
      const followed = await run(['start', 'slow', '--follow', '--timeout', '1s'])
      assert.equal(followed.code, 6)
      const id = followed.stdout.trim()
      const listed = JSON.parse((await run(['runs', '--output', 'json'])).stdout) as {
        id: string
        status: string
      }[]
      assert.equal(listed.find((each) => each.id === id)?.status, 'RUNNING')
      assert.equal((await run(['cancel', id])).code, 7)

      const watched = run(['watch', id])
      assert.equal((await run(['cancel', id, '--yes', '-m', 'enough'])).code, 0)
      const { code, stdout } = await watched
      assert.equal(code, 1)
      assert.match(stdout, /^CANCELED .*enough/)
    },
  )

  await t.test(
    'app-scenario 20: a judgment needs the role, and the audit log has its reason',
    async () => {
      await ask('POST', '/auth/users', { username: 'bob', password, roles: ['deployers'] })
      await ask('POST', '/auth/users', { username: 'olga', password, roles: ['deployers', 'ops'] })
      const id = await start('ask')
      await waitFor(async () => {
        const { stdout } = await run(['runs', '--output', 'json'])
        const [found] = (JSON.parse(stdout) as { waitsForJudgment: boolean }[]) ?? []
        return found?.waitsForJudgment || undefined
      }, 'the judgment')

      const refused = await run(['approve', id, '--yes', '-m', 'fine'], await tokenOf('bob'))
      assert.equal(refused.code, 4, refused.stderr)
      const approved = await run(
        ['approve', '--yes', '-m', 'checked by hand'],
        await tokenOf('olga'),
      )
      assert.equal(approved.code, 0, approved.stderr)
      assert.equal((await run(['watch', id])).code, 0)
      const audited = JSON.stringify(await ask('GET', '/audit/events?user=olga'))
      assert.match(audited, /checked by hand/)
    },
  )

  await t.test('app-scenario 18: watch goes on over a restart of the instance', async () => {
    const id = await start('ask')
    const watched = runInTerminal(['watch', id], {
      env: { HOME: home, FAIRLEAD_URL: url, FAIRLEAD_TOKEN: admin },
    })
    await watched.read(/waits for: fairlead approve/)
    first.signal('SIGKILL')
    await first.exited
    await serve().listening
    const judged = () => run(['approve', id, '--yes'])
    await waitFor(async () => ((await judged()).code === 0 ? true : undefined), 'the approval')
    assert.equal(await watched.ended, 0, watched.shown())
  })

  await t.test('app-scenario 14: results are JSON, and errors have code and remedy', async () => {
    for (const args of [['runs'], ['start', 'quick'], ['version'], ['completion', 'bash']]) {
      const { stdout } = await run([...args, '--output', 'json'])
      assert.doesNotThrow(() => JSON.parse(stdout), `${args}: ${stdout}`)
    }
    for (const args of [['watch', 'none'], ['start', 'none'], ['cancel', 'none'], ['status']]) {
      const { stdout, stderr, code } = await run([...args, '--output', 'json'])
      assert.equal(stdout, '')
      const { error } = JSON.parse(stderr) as { error: Record<string, unknown> }
      assert.ok(code > 0 && error['code'] && error['message'] && 'remedy' in error, stderr)
    }
  })
})

/** The addresses of Gate, as its own clients know them, and nothing of ours. */
test('app-scenario 33: start and watch work at Gate, and commands of apps are 5', async (t) => {
  let polls = 0
  const answers = (request: IncomingMessage): [status: number, body: unknown] => {
    switch (`${request.method} ${request.url}`) {
      case 'POST /pipelines/shop/deploy':
        return [202, { ref: '/pipelines/01HF' }]
      case 'GET /pipelines/01HF':
        polls++
        return [
          200,
          {
            id: '01HF',
            application: 'shop',
            status: polls < 3 ? 'RUNNING' : 'SUCCEEDED',
            stages: [],
          },
        ]
      default:
        return [
          404,
          { timestamp: 1, status: 404, error: 'Not Found', message: 'No static resource' },
        ]
    }
  }
  const server = createServer((request, response) => {
    const [status, body] = answers(request)
    request.resume()
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const run = (...args: string[]) =>
    runCli(args, { env: { FAIRLEAD_URL: url, FAIRLEAD_APP: 'shop' } })

  const started = await run('start', 'deploy', '-p', 'tag=1', '--follow')
  assert.deepEqual([started.code, started.stdout], [0, '01HF\nSUCCEEDED\n'], started.stderr)
  const unknown = await run('status')
  assert.equal(unknown.code, 5)
  assert.match(unknown.stderr, /does not have the operation/)
})

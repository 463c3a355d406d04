/** Users with ill intent: what they send is refused or does nothing, and the programs of other users run on. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { socketPathFor } from '../../packages/base/storage/socket-path.ts'
import {
  balancer,
  creation,
  type Deployments,
  errorOf,
  newGroupOf,
  sized,
  startDeployments,
  visit,
} from '../support/deployments.ts'

/** The change, and what the error says. */
const refused: [title: string, job: Record<string, unknown>, says: RegExp][] = [
  ['a billion instances', creation('huge', { capacity: sized(1e9) }), /free ports/],
  [
    'more instances than numbers can count',
    creation('huge', { capacity: sized(1e300) }),
    /at most/,
  ],
  ['a negative capacity', creation('huge', { capacity: sized(-1) }), /at least 0/],
  ['a stack that leads out of a folder', creation('../../up'), /stack/],
  ['details that lead out of a folder', creation('x', { freeFormDetails: '../up' }), /detail/],
  ['an image that is a path', creation('x', { imageId: '../../etc:passwd' }), /does not exist/],
  ['a load balancer that is a path', balancer('../../up', 40_001), /may have letters/],
  [
    'a health check with a second header',
    { ...balancer('evil', 40_002), healthCheck: 'HTTP:80/\r\nHost: x' },
    /healthCheck/,
  ],
  [
    'a health check with characters that HTTP has not',
    { ...balancer('evil', 40_002), healthCheck: 'HTTP:80/€' },
    /healthCheck/,
  ],
  [
    'a readiness path with a second header',
    creation('x', { ready: { path: '/\r\nHost: x' } }),
    /ready/,
  ],
  [
    'a readiness path with characters that HTTP has not',
    creation('x', { ready: { path: '/€' } }),
    /ready/,
  ],
  ['a command with a zero byte', creation('x', { command: ['node', 'a\0b'] }), /command/],
  [
    'an environment with a zero byte',
    creation('x', { environment: { NAME: 'a\0b' } }),
    /environment/,
  ],
  [
    'a job with a zero byte',
    { type: 'runJob', application: 'shop', name: 'x', imageId: 'shop:1.0.0', command: 'echo \0' },
    /zero byte/,
  ],
  ['a variable with a name of two', creation('x', { environment: { 'A=B': 'c' } }), /environment/],
]

const attacks: Record<string, (fleet: Deployments, port: number) => Promise<void>> = {
  async 'a load balancer does not take the port of Fairlead'({ run, ask, url }) {
    const own = Number(new URL(url()).port)
    assert.match(errorOf(await run(balancer('taken', own), 'TERMINAL')), new RegExp(String(own)))
    assert.equal((await ask('GET', '/credentials')).status, 200)
  },

  async 'secrets are in no answer and no log'({ run, deploy, read, dataDir }) {
    const secret = 'sesame-4711'
    const name = await deploy('secret', {
      secrets: { DB_LOGIN: secret },
      environment: { API_TOKEN: secret },
    })
    const cluster = '/applications/shop/clusters/dev/shop-secret'
    const paths = [
      `/applications/shop/serverGroups/dev/east/${name}`,
      cluster,
      `${cluster}/serverGroups`,
      '/applications/shop/serverGroups?expand=true',
    ]
    for (const path of paths) assert.ok(!JSON.stringify(await read(path)).includes(secret), path)
    assert.ok(!readFileSync(join(dataDir, 'agent.log'), 'utf8').includes(secret))
    await run({ type: 'destroyServerGroup', serverGroupName: name, asgName: name })
  },

  async 'only the user of Fairlead reaches the agent and the files of instances'({ dataDir }) {
    const socketPath = socketPathFor(dataDir, 'agent.sock')
    const instances = join(dataDir, 'instances')
    assert.equal(statSync(socketPath).mode & 0o777, 0o600)
    assert.equal(statSync(instances).mode & 0o077, 0)
    const paths = [
      socketPath,
      instances,
      ...readdirSync(instances).map((id) => join(instances, id)),
    ]
    for (const path of paths) assert.equal(statSync(path).mode & 0o077, 0, path)
    if (process.getuid?.() !== 0) return
    // A connection to a socket needs the right to write it. The other user may not reach Node itself, and reaches the shell.
    const script = 'for path do if test -r "$path" || test -w "$path"; then echo "$path"; fi; done'
    const { stdout } = spawnSync('/bin/sh', ['-c', script, 'sh', '/dev/null', ...paths], {
      cwd: '/',
      uid: 65_534,
      gid: 65_534,
      encoding: 'utf8',
    })
    assert.equal(stdout, '/dev/null\n')
  },
}

test('attacks do no harm', async (t) => {
  const fleet = await startDeployments(t)
  const port = await fleet.balance('front')
  const name = await fleet.deploy('front', { loadBalancers: ['front'] })
  const before = await fleet.group(name)
  for (const [title, job, says] of refused) {
    await t.test(`${title} is refused`, async () =>
      assert.match(errorOf(await fleet.run(job, 'TERMINAL')), says),
    )
  }
  for (const [title, attack] of Object.entries(attacks))
    await t.test(title, () => attack(fleet, port))
  await t.test('the others run on', async () => {
    assert.deepEqual(
      (await fleet.group(name))?.instances.map(({ id, process }) => [id, process]),
      before?.instances.map(({ id, process }) => [id, process]),
    )
    assert.equal((await visit(port)).status, 200)
    assert.equal(newGroupOf(await fleet.run(creation('front'))), 'shop-front-v001')
  })
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { linkSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { program, sharedEnvironment } from '../support/program.ts'
import { createHome, startServe } from '../support/serve.ts'

const run = promisify(execFile)

test('images of a Fairlead that runs', async (t) => {
  const home = createHome(t)
  const served = startServe(t, {}, { home, embedded: true })
  const url = await served.listening
  const env = { ...sharedEnvironment, HOME: home, FAIRLEAD_DATA_DIR: join(home, 'data') }
  const image = (...args: string[]) =>
    run(process.execPath, [program, 'image', ...args], { cwd: home, env })
  // A command takes a process.
  const remove = async (imageId: string) => {
    const path = `/local/images/${imageId.replace(':', '/')}`
    assert.equal((await fetch(url + path, { method: 'DELETE' })).status, 200)
  }
  mkdirSync(join(home, 'shop', '.git'), { recursive: true })
  writeFileSync(join(home, 'shop', '.git', 'config'), 'private')
  writeFileSync(join(home, 'shop', 'fairlead-image.yml'), 'command: [sh, -c, "exit 0"]\n')

  await t.test('a directory that is too large is refused before it is packed', async () => {
    const bounds = { LOCAL_IMAGES_MAX_SIZE: '1MB', LOCAL_IMAGES_MAX_FILES: '3' }
    const push = () =>
      run(process.execPath, [program, 'image', 'push', 'large:1', 'large'], {
        cwd: home,
        env: { ...env, ...bounds },
      })
    mkdirSync(join(home, 'large', '.git'), { recursive: true })
    const file = (name: string, bytes: number) =>
      writeFileSync(join(home, 'large', name), Buffer.alloc(bytes))
    writeFileSync(join(home, 'large', 'fairlead-image.yml'), 'command: [sh, -c, "exit 0"]\n')
    // Left out, so that it does not count.
    file('.git/pack', 2_000_000)
    file('large', 900_000)
    assert.match((await push()).stdout, /stored/)
    await remove('large:1')
    file('larger', 200_000)
    await assert.rejects(
      push(),
      /The directory has more than \d+ bytes\. Make it smaller, or raise local\.images\.max-size\./,
    )
    for (const name of ['larger', 'more', 'even more']) file(name, 1)
    await assert.rejects(
      push(),
      /The directory has more than 3 entries\. Make it smaller, or raise local\.images\.max-files\./,
    )
  })

  const pushed = await image(
    'push',
    'shop:1',
    'shop',
    '--label',
    'commit=abc',
    '--tag',
    'stage=test',
  )
  assert.match(pushed.stdout, /^image shop:1 stored: 28 bytes, sha256:[0-9a-f]{64}, by upload\n$/)
  assert.match((await image('list')).stdout, /^shop:1\t/)
  const shown = JSON.parse((await image('show', 'shop:1')).stdout) as Record<string, unknown>
  assert.deepEqual(shown['tags'], { stage: 'test' })
  const overHttp = await fetch(`${url}/local/images/shop/1`)
  assert.deepEqual(await overHttp.json(), shown)

  await image('push', 'shop:2', 'shop', '--url', url)
  const all = (await (await fetch(`${url}/local/images`)).json()) as { imageId: string }[]
  assert.deepEqual(all.map(({ imageId }) => imageId).sort(), ['shop:1', 'shop:2'])
  const damaged = await fetch(`${url}/local/images/shop/3`, {
    method: 'PUT',
    body: 'no archive',
    headers: {
      'content-type': 'application/x-tar',
      'content-digest': `sha-256=:${'A'.repeat(43)}=:`,
    },
  })
  assert.equal(damaged.status, 400)
  await remove('shop:2')

  // Package managers give files second names, in the directory and elsewhere.
  writeFileSync(join(home, 'shop', 'f2'), 'another')
  const secondNames = [
    ['al1', 'f0'],
    ['zl3', 'f0'],
    ['zl4', 'f0'],
    ['bl5', 'f2'],
    ['../elsewhere', 'f2'],
  ] as const
  writeFileSync(join(home, 'shop', 'f0'), 'one')
  for (const [name, of] of secondNames) linkSync(join(home, 'shop', of), join(home, 'shop', name))
  assert.match((await image('push', 'shop:4', 'shop')).stdout, /stored: \d+ bytes/)
  await remove('shop:4')

  await run('mkfifo', [join(home, 'shop', 'pipe')])
  const socket = createServer().listen(join(home, 'shop', 'door'))
  await once(socket, 'listening')
  const partly = await image('push', 'shop:5', 'shop')
  socket.close()
  assert.match(partly.stdout, /^image shop:5 stored/)
  assert.match(
    partly.stderr,
    /"\.\/door" is a socket; "\.\/pipe" is a FIFO|"\.\/pipe" is a FIFO; "\.\/door" is a socket/,
  )
  await remove('shop:5')

  if (process.platform === 'linux') {
    writeFileSync(Buffer.concat([Buffer.from(join(home, 'shop/')), Buffer.from([0xff, 0xfe])]), '')
    await assert.rejects(
      image('push', 'shop:6', 'shop'),
      /The directory cannot be packed: the name ".*" is not UTF-8; rename/,
    )
  }
  await image('remove', 'shop:1')
  assert.equal((await image('list')).stdout, '')
  await assert.rejects(image('show', 'shop:1'), /Image not found/)
  await assert.rejects(image('push', 'shop', 'shop'), /no NAME:VERSION/)
  served.signal('SIGTERM')
  await served.exited
  await assert.rejects(image('list'), /No Fairlead runs with this data directory/)
})

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runProgram } from '../../packages/base/outside/run-program.ts'
import { openSandbox } from '../../packages/base/sandbox/sandbox.ts'
import type { SandboxChoice } from '../../packages/base/sandbox/settings.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { waitUntil } from '../support/wait-until.ts'

const megabyte = 1024 * 1024
const secret = 'SECRET-OF-THE-MACHINE'

/** Each tries something, and prints `got` followed by what it got. */
const attempts: Readonly<Record<string, (place: Place) => string>> = {
  'passwords of the machine': () => 'cat /etc/shadow && echo got',
  'keys of the machine': () => 'ls /etc/ssh/ssh_host* /etc/ssl/private/* && echo got',
  'a file of Fairlead': ({ hidden }) => `cat ${hidden}/secret && echo got`,
  'a file of Fairlead through a link': ({ hidden }) =>
    `ln -s ${hidden} out; cat out/secret && echo got`,
  'a file of Fairlead through processes': ({ hidden }) =>
    `for root in /proc/*/root /proc/*/cwd; do cat $root${hidden}/secret $root/../secret && echo got; done`,
  'the environment of another process': () => `cat /proc/*/environ | grep -a ${secret} && echo got`,
  'homes and state': () =>
    'for each in /root /home /run /var /sys /boot /mnt /opt /srv; do [ -z "$(ls $each)" ] || echo got $each; done',
  'a folder above its own': ({ folder }) =>
    `[ "$(ls ${folder}/..)" = "$(basename ${folder})" ] || echo got`,
  'programs of the machine': () => 'touch /usr/bin/got && echo got',
  'its root': () => 'touch /got /dev/got /etc/got && echo got',
  'the kernel': () =>
    'cat /proc/sys/kernel/core_pattern > same; cat same > /proc/sys/kernel/core_pattern && echo got; echo h >/proc/sysrq-trigger && echo got',
  'another process': () => `kill -0 ${process.pid} && echo got`,
  'what is mounted above it': () =>
    'mkdir own; mount -t tmpfs none own && echo got; umount /proc/sys && echo got; mount -o remount,rw /usr && echo got',
  'a device': () =>
    'for each in /dev/mem /dev/kmsg /dev/fuse /dev/sda /dev/vda; do [ -e $each ] && echo got $each; done; mknod d b 254 0 && echo got',
}

interface Place {
  readonly folder: string
  readonly hidden: string
}

function makePlace(t: TestContext): Place {
  const top = createFolder('sandbox-test')
  t.after(() => removeFolder(top))
  const place = { folder: join(top, 'work'), hidden: join(top, 'data') }
  for (const folder of Object.values(place)) mkdirSync(folder)
  writeFileSync(join(place.hidden, 'secret'), secret, { mode: 0o600 })
  return place
}

interface Order
  extends Pick<Parameters<typeof runProgram>[0], 'maxMemoryBytes' | 'maxFolderBytes' | 'signal'> {
  readonly network?: 'none' | 'host'
}

for (const sandbox of ['bwrap', 'unshare'] as const) {
  const run = async (
    { folder }: Place,
    program: string,
    args: readonly string[],
    order: Order = {},
  ) => {
    const bounds = { timeLimitMs: 600_000, maxOutputBytes: megabyte, network: 'none' as const }
    return String(
      await runProgram({ sandbox, program, args, folder, environment: {}, ...bounds, ...order }),
    )
  }
  const shell = (place: Place, script: string, order?: Order) =>
    run(place, 'sh', ['-c', script], order)

  test(`${sandbox}: a program has its folder and nothing else of the machine`, async (t) => {
    if (await isMissing(t, sandbox)) return
    const place = makePlace(t)
    process.env['FAIRLEAD_TEST_SECRET'] = secret
    t.after(() => delete process.env['FAIRLEAD_TEST_SECRET'])
    const written = await shell(
      place,
      'echo mine > file && cat file && pwd && echo temporary > /tmp/file && cat /tmp/file',
    )
    assert.equal(written, `mine\n${place.folder}\ntemporary\n`)
    assert.equal(readFileSync(join(place.folder, 'file'), 'utf8'), 'mine\n')
    writeFileSync(join(place.folder, 'file'), 'changed by Fairlead')
    for (const [what, script] of Object.entries(attempts))
      assert.equal(await shell(place, `{ ${script(place)}\n} 2>/dev/null; true`), '', what)
    const status = await shell(
      place,
      'grep -E "^(CapEff|CapPrm|CapBnd|NoNewPrivs):" /proc/self/status',
    )
    assert.match(status, /CapPrm:\t0+\nCapEff:\t0+\nCapBnd:\t0+\nNoNewPrivs:\t1/)
  })

  test(`${sandbox}: a program reaches neither loopback nor sockets without names`, async (t) => {
    if (await isMissing(t, sandbox)) return
    const place = makePlace(t)
    const name = `\0fairlead-test-${process.pid}-${sandbox}`
    const targets = [{ port: 0, host: '127.0.0.1' }, { path: name }]
    let connections = 0
    const found = []
    for (const target of targets) {
      const server = createServer((socket) => {
        connections += 1
        socket.end('got')
      })
      t.after(() => server.close())
      await new Promise<void>((resolve) => server.listen(target, resolve))
      const address = server.address()
      found.push(typeof address === 'object' ? { port: address?.port, host: '127.0.0.1' } : target)
    }
    const script = `for (const target of ${JSON.stringify(found)}) {
      const socket = require('node:net').connect(target)
      socket.on('error', () => {}).on('data', (data) => console.log(String(data)))
    }`
    assert.equal(await run(place, process.execPath, ['-e', script]), '')
    assert.equal(connections, 0)
    assert.equal(
      await run(place, process.execPath, ['-e', script], { network: 'host' }),
      'got\ngot\n',
    )
  })

  test(`${sandbox}: memory, processes, files and the folder are bounded`, async (t) => {
    if (await isMissing(t, sandbox)) return
    const place = makePlace(t)
    const grow = 'const kept = []; for (;;) kept.push(Buffer.alloc(16 * 1024 * 1024, 1))'
    const bound = { maxMemoryBytes: 512 * megabyte }
    await assert.rejects(run(place, process.execPath, ['-e', grow], bound), /memory|SIG|exit code/)
    // Each of them stays within the bound of one. They and the crowd stay until they are counted, however slow the machine is.
    const many =
      'for each in 1 2 3 4 5 6; do head -c 100000000 /dev/zero | tail -c 100000000 | sleep 900 & done; wait'
    await assert.rejects(
      shell(place, many, { maxMemoryBytes: 256 * megabyte }),
      /used more than 256 MiB of memory/,
    )
    // As few as a machine bears if the bound does not hold; the kernel refuses some, or all of them are ended.
    const crowd = 'i=0; while [ $i -lt 600 ]; do sleep 900 & i=$((i+1)); done; echo started; wait'
    await assert.rejects(shell(place, crowd), /processes and threads|failed with/)
    const disk = { maxFolderBytes: 8 * megabyte }
    await assert.rejects(shell(place, 'head -c 20000000 /dev/zero > large', disk), /failed with/)
    const files = 'i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > file-$i; done'
    await assert.rejects(shell(place, files, disk), /wrote more than 8 MiB/)
    await assert.rejects(
      shell(place, 'head -c 200000000 /dev/zero > /tmp/large; echo full >&2; exit 3'),
      /exit code 3/,
    )
  })

  test(`${sandbox}: nothing that a program has started outlives it, nor the process that started it`, async (t) => {
    if (await isMissing(t, sandbox)) return
    const place = makePlace(t)
    const leave = `setsid sh -c 'trap "" HUP TERM; (while :; do date > alive; sleep 0.05; done) &' & until [ -s alive ]; do sleep 0.05; done`
    await shell(place, leave)
    await staysAway(place)
    // Somebody else starts it, and is killed.
    const { wrap } = await openSandbox(sandbox)
    const command = wrap(['sh', '-c', `${leave}; sleep 1000`], {
      folder: place.folder,
      network: 'none',
    })
    const starter = `require('node:child_process').spawn(${JSON.stringify(command[0])}, ${JSON.stringify(command.slice(1))}, { detached: true })`
    const parent = spawn(process.execPath, ['-e', starter], { stdio: 'ignore' })
    await waitUntil(
      () => existsSync(join(place.folder, 'alive')),
      'the program of the other process',
    )
    parent.kill('SIGKILL')
    await staysAway(place)
  })
}

/** Whoever is alive writes the file again. */
async function staysAway({ folder }: Place): Promise<void> {
  const file = join(folder, 'alive')
  let quiet = 0
  await waitUntil(() => {
    quiet = existsSync(file) ? 0 : quiet + 1
    removeFolder(file)
    return quiet > 5
  }, 'the end of what was left behind')
}

async function isMissing(t: TestContext, sandbox: SandboxChoice): Promise<boolean> {
  try {
    await openSandbox(sandbox)
    return false
  } catch (error) {
    t.skip((error as Error).message)
    return true
  }
}

/** Units of systemd, how they are installed, and the notifications that they rely on. */
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { needs } from '../support/debian.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { waitUntil } from '../support/wait-until.ts'

const root = resolve(import.meta.dirname, '../..')

/** A service manager's socket: a line for each message. */
const receiver = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True: print(s.recv(4096).decode().strip().replace(chr(10), ' '), flush=True)`

/** It is ready, reloads, hangs for a second, yields to another process, and stops. */
const service = `import { ServiceManager } from '${root}/bin/service-manager.ts'
const manager = new ServiceManager((error) => console.error(error))
await manager.ready('serving')
await new Promise((resolve) => setTimeout(resolve, 500))
await manager.reloading()
await manager.ready('hangs')
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
await manager.yieldTo(7, 'elsewhere')
await manager.stopping()`

test('systemd hears of each state, and nothing while the event loop hangs', async (t) => {
  const python = needs(t, 'python3')
  if (python === undefined || needs(t, 'systemd-notify') === undefined) return
  const folder = createFolder('systemd')
  t.after(() => removeFolder(folder))
  const socket = join(folder, 'notify')
  const manager = spawn(python, ['-c', receiver, socket], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => manager.kill())
  const heard: string[] = []
  createInterface(manager.stdout).on('line', (line) => heard.push(line))
  await waitUntil(() => heard.length > 0, 'the socket')

  const { WATCHDOG_PID: _, ...env } = process.env
  const child = spawn(process.execPath, ['--input-type=module', '-e', service], {
    env: { ...env, NOTIFY_SOCKET: socket, WATCHDOG_USEC: '300000' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await once(child, 'exit')
  await waitUntil(() => heard.some((line) => line.startsWith('STOPPING=1')), 'the last message')

  const messages = heard.filter((line) => line !== 'BARRIER=1')
  assert.deepEqual(
    messages.filter((line) => line !== 'WATCHDOG=1'),
    [
      'bound',
      'READY=1 STATUS=serving',
      'RELOADING=1 STATUS=reading the configuration',
      'READY=1 STATUS=hangs',
      'MAINPID=7 READY=1 STATUS=elsewhere',
      'STOPPING=1 STATUS=finishing what is in flight',
    ],
  )
  const [hangs, goesOn] = ['READY=1 STATUS=hangs', 'MAINPID=7 READY=1 STATUS=elsewhere'].map(
    (line) => messages.indexOf(line),
  )
  const signsOfLife = (from: number, to: number | undefined) =>
    messages.slice(from, to).filter((line) => line === 'WATCHDOG=1').length
  assert.ok(signsOfLife(0, hangs) > 0)
  // One may be on its way when the process begins to hang for ten times their interval.
  assert.ok(signsOfLife(hangs ?? 0, goesOn) <= 1)
})

test('the units are valid, and grant no more than they must', (t) => {
  const said = execFileSync(
    process.execPath,
    ['bin/fairlead.js', 'install', '--systemd', '--dry-run'],
    { cwd: root },
  )
  const files = new Map(
    said
      .toString()
      .split(/^# (?=\/etc\/)/m)
      .slice(1)
      .map((file) => [file.split('\n', 1)[0] ?? '', file.slice(file.indexOf('\n') + 1)]),
  )
  const unitsFolder = '/etc/systemd/system'
  const names = ['fairlead-agent.service', 'fairlead-backends.service', 'fairlead.service']
  assert.deepEqual(
    [...files.keys()],
    [...names.map((name) => join(unitsFolder, name)), '/etc/fairlead/fairlead.yml'],
  )
  const analyze = needs(t, 'systemd-analyze')
  if (analyze === undefined) return
  const folder = createFolder('units')
  t.after(() => removeFolder(folder))
  for (const [path, text] of files) writeFileSync(join(folder, basename(path)), text)
  const units = names.map((name) => join(folder, name))
  const { status, stderr } = spawnSync(analyze, ['verify', '--man=no', ...units], {
    encoding: 'utf8',
  })
  // Versions before 254 do not know it.
  const faults = stderr
    .split('\n')
    .filter((line) => line.includes('fairlead') && !line.includes('DelegateSubgroup'))
  assert.deepEqual({ status, faults }, { status: 0, faults: [] })
  // In tenths; the agent's is that of deployed programs, too, and the others make the sandbox.
  for (const [index, threshold] of [65, 30, 30].entries()) {
    const words = ['security', '--offline=true', `--threshold=${threshold}`, units[index] ?? '']
    assert.doesNotThrow(() => execFileSync(analyze, words, { stdio: 'ignore' }), names[index])
  }
})

test('without root or without systemd, nothing is installed', (t) => {
  const isRoot = process.getuid?.() === 0
  if (isRoot && existsSync('/run/systemd/system')) return t.skip('it would be installed here')
  const { status, stderr } = spawnSync(
    process.execPath,
    ['bin/fairlead.js', 'install', '--systemd'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  )
  assert.equal(status, 1)
  assert.match(
    stderr,
    isRoot
      ? /^systemd does not run .* nothing was changed; --dry-run/
      : /^Only root may .* with sudo\.$/m,
  )
  assert.ok(!existsSync('/etc/systemd/system/fairlead.service'))
})

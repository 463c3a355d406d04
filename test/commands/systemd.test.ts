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

test('without root or without systemd, nothing is installed', () => {
  const isRoot = process.getuid?.() === 0
  const command = [process.execPath, 'bin/fairlead.js', 'install', '--systemd']
  // Where it would be installed, the service manager is out of sight.
  const hidden = isRoot && existsSync('/run/systemd') ? [...withoutSystemd, ...command] : command
  const [program = '', ...words] = hidden
  const { status, stderr } = spawnSync(program, words, { cwd: root, encoding: 'utf8' })
  assert.equal(status, 1)
  assert.match(
    stderr,
    isRoot
      ? /^systemd does not run .* nothing was changed; --dry-run/
      : /^Only root may .* with sudo\.$/m,
  )
  assert.ok(!existsSync('/etc/systemd/system/fairlead.service'))
})

const withoutSystemd = [
  ...['unshare', '--mount', 'sh', '-c'],
  ...['mount -t tmpfs none /run/systemd && exec "$@"', 'sh'],
]

/** On a copy of /etc, without a network: a service manager that starts the unit of the server as its user, and then everything twice. */
const firstServer = `set -e
mount -t tmpfs none /mnt
for folder in etc var/lib; do
  mkdir -p /mnt/upper/$folder /mnt/work/$folder
  mount -t overlay overlay -o lowerdir=/$folder,upperdir=/mnt/upper/$folder,workdir=/mnt/work/$folder /$folder
done
mount -t tmpfs none /run && mkdir -p /run/systemd/system
mount -t tmpfs none /opt && mkdir /opt/fairlead && mount --bind "$1" /opt/fairlead
ip link set lo up
mkdir /mnt/bin
cat > /mnt/bin/systemctl <<'END'
#!/bin/sh
[ "$1" = enable ] && mkdir /mnt/started 2>/dev/null || exit 0
cd /var/lib/fairlead
start=$(sed -n 's/^ExecStart=//p' /etc/systemd/system/fairlead.service)
FAIRLEAD_DATA_DIR=/var/lib/fairlead/data setpriv --reuid fairlead --regid fairlead --init-groups \\
  --inh-caps +net_bind_service --ambient-caps +net_bind_service sh -c "exec $start" >/mnt/log 2>&1 &
END
chmod +x /mnt/bin/systemctl
PATH=/mnt/bin:$PATH
setup() { "$2" /opt/fairlead/bin/fairlead.js setup server --email ops@example.com --host Fairlead.example; }
cd /
setup "$@" | tee /mnt/first
until curl --silent http://127.0.0.1:8084/health | grep -q UP; do sleep 0.2; done
until curl --silent --header 'Host: fairlead.example' http://127.0.0.1/health | grep UP; do sleep 0.2; done
password=$(sed -n 's/^Log in as admin with //p' /mnt/first)
curl --silent --fail --user "admin:$password" http://127.0.0.1:8084/auth/user | grep -o '"username":"admin"'
echo again
setup "$@"
pkill -u fairlead`

test('app-scenario 136: a server is set up once, however often', (t) => {
  const isRoot = process.getuid?.() === 0
  if (!isRoot || spawnSync('unshare', ['--mount', '--net', 'true']).status !== 0)
    return t.skip('it needs root, and mounts of its own')
  const { stdout, stderr } = spawnSync(
    'unshare',
    [
      ...['--mount', '--net', '--pid', '--fork', '--mount-proc', 'bash', '-c', firstServer, 'bash'],
      ...[root, '/opt/fairlead/node_modules/.bin/node'],
    ],
    { encoding: 'utf8' },
  )
  const [first = '', again = ''] = stdout.split('\nagain\n')
  assert.match(first, /^Created the user fairlead\.$/m, stderr)
  assert.match(first, /^Wrote \/etc\/fairlead\/fairlead\.yml\.$/m)
  assert.match(first, /^"username":"admin"$/m)
  assert.match(first, /^Open https:\/\/fairlead\.example as soon as it has its certificate/m)
  assert.match(first, /"status":"UP"|UP/)
  assert.match(again, /^The user fairlead exists\.$/m, stderr)
  assert.equal(again.match(/is up to date\.$/gm)?.length, 4, again)
  assert.match(again, /^There are users already; none was created\.$/m)
  assert.doesNotMatch(again, /Log in as|Wrote/)
})

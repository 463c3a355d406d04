/** A Debian machine for tests: systemd as the first process of its own namespaces, on a copy of this machine's files in memory. */
import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { waitFor } from './wait-until.ts'

const run = promisify(execFile)

export interface Machine {
  /** Runs a program as root. @returns what it prints @throws where it fails */
  inside(...words: readonly string[]): Promise<string>
  /** The path, seen from here, of a file of the machine. */
  path(file: string): string
  /** Changed files whose names match, as `find` does. */
  changedFiles(name: string): Promise<string[]>
}

/** Changes are in `$1/up`, and `$2` is its `/mnt`. Neither the kernel's settings nor its devices can be changed; no service of this machine runs. */
const boot = `set -e
mount -t tmpfs tmpfs "$1" && mkdir "$1/up" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" "$1/root"
cd "$1/root"
mount -t proc proc proc && mount --bind proc/sys proc/sys && mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys && mount --rbind /dev dev && mount -t tmpfs tmpfs run && mount -t tmpfs tmpfs tmp
mount --bind "$2" mnt
# As systemd has it on a machine: otherwise credentials reach no service.
mount --make-rshared /
rm -rf etc/systemd/system/* var/log/journal usr/sbin/policy-rc.d && touch -d tomorrow etc/.updated var/.updated
exec chroot . env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=basic.target --log-target=null`

/** @param shared A folder that the machine has at `/mnt`. @returns undefined where the test is skipped, since namespaces cannot be made */
export async function bootMachine(
  t: TestContext,
  place: string,
  shared: string,
): Promise<Machine | undefined> {
  const spaces = [
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    '--uts',
    '--ipc',
    '--cgroup',
    '--propagation',
    'private',
  ]
  const child = spawn('unshare', [...spaces, 'sh', '-c', boot, 'sh', place, shared], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (piece: Buffer) => {
    said += piece.toString()
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const firstProcess = () =>
    Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ')[0])
  t.after(async () => {
    if (child.exitCode === null) process.kill(firstProcess(), 'SIGKILL')
    await ended
  })
  const inside = async (...words: readonly string[]) => {
    const spaces = [
      `--target=${firstProcess()}`,
      '--mount',
      '--pid',
      '--uts',
      '--ipc',
      '--cgroup',
      '--root',
      '--wd',
    ]
    const env = ['env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root']
    return (await run('nsenter', [...spaces, ...env, ...words])).stdout.trim()
  }
  const isUp = () =>
    inside('systemctl', 'is-active', 'basic.target').then(
      (state) => state === 'active',
      () => false,
    )
  if (
    (await waitFor(
      async () => (child.exitCode === null ? (await isUp()) || undefined : 'ended'),
      () => said,
    )) === 'ended'
  ) {
    t.skip(`systemd cannot run in namespaces here: ${said}`)
    return undefined
  }
  return {
    inside,
    path: (file) => join(`/proc/${firstProcess()}/root`, file),
    changedFiles: async (name) => {
      const found = await run('nsenter', [
        `--target=${firstProcess()}`,
        '--mount',
        'find',
        join(place, 'up'),
        '-name',
        name,
      ])
      return found.stdout
        .trim()
        .split('\n')
        .map((file) => file.slice(join(place, 'up').length))
    },
  }
}

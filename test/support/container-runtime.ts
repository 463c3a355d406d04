/** Podman and Docker with stores of their own, and images of a small web program for them. */
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { create } from 'tar'
import { endProcesses } from './agent.ts'
import { needs } from './debian.ts'
import { type LoggedProcess, startProcess } from './logged-process.ts'
import { digestOf, type OciRegistry } from './oci-registry.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'

export interface TestRuntime {
  /** A program that calls it with the store of the test. */
  readonly path: string
  /** What it prints, without the line break at its end. */
  readonly call: (...args: readonly string[]) => Promise<string>
  /** Ends its daemon, and all containers with it, as a crash does; undefined: it has none. @returns what starts it again */
  readonly crash?: () => Promise<() => Promise<void>>
  /** Removes everything; after the agent has ended. */
  close(): Promise<void>
}

/** Undefined where the test is skipped. */
export function startPodman(t: TestContext, registry: OciRegistry): TestRuntime | undefined {
  const [podman, ...others] = [
    needs(t, 'podman'),
    needs(t, 'runc'),
    needs(t, 'slirp4netns'),
    needs(t, 'busybox'),
  ]
  if (podman === undefined || others.includes(undefined) || !isRoot(t)) return undefined
  const folder = createStore()
  const files = {
    CONTAINERS_CONF: join(folder, 'containers.conf'),
    CONTAINERS_REGISTRIES_CONF: join(folder, 'registries.conf'),
  }
  // Locks in memory would be those of all stores of the machine.
  writeFileSync(
    files.CONTAINERS_CONF,
    '[containers]\nnetns = "slirp4netns"\n[engine]\nlock_type = "file"\n',
  )
  writeFileSync(
    files.CONTAINERS_REGISTRIES_CONF,
    `[[registry]]\nlocation = "${registry.host}"\ninsecure = true\n`,
  )
  const variables = Object.entries(files).map(([name, value]) => `${name}=${value}`)
  const options = `--root ${folder}/store --runroot ${folder}/run --tmpdir ${folder}/tmp --storage-driver vfs --runtime runc`
  // Its usual limits are above those of an ordinary machine of tests, where not even root may raise them.
  const limited =
    'case $1 in run) shift; set -- run --ulimit nproc=4096:4096 --ulimit nofile=4096:4096 "$@" ;; esac'
  const caller = writeCaller(
    join(folder, 'podman'),
    `export ${variables.join(' ')}\n${limited}\nexec ${podman} ${options} "$@"`,
  )
  const close = async () => {
    await caller.call('rm', '--all', '--force', '--time', '0').catch(() => {})
    // A client whose container is removed while it starts waits for ever.
    endProcesses((command) => command.includes(`${folder}/store`))
    removeFolder(folder)
  }
  return { ...caller, close }
}

/** With a daemon and a bridge of its own; the firewall of the machine stays as it is. Undefined where the test is skipped. */
export async function startDocker(t: TestContext): Promise<TestRuntime | undefined> {
  const [docker, dockerd, ip, busybox] = [
    needs(t, 'docker'),
    needs(t, 'dockerd'),
    needs(t, 'ip'),
    needs(t, 'busybox'),
  ]
  if (
    docker === undefined ||
    dockerd === undefined ||
    ip === undefined ||
    busybox === undefined ||
    !isRoot(t)
  )
    return undefined
  const bridge = `fairlead${process.pid}`
  try {
    execFileSync(ip, ['link', 'add', bridge, 'type', 'bridge'], { stdio: 'pipe' })
  } catch (error) {
    t.skip(`no bridge for Docker can be created here: ${(error as Error).message}`)
    return undefined
  }
  const folder = createStore()
  const socket = `unix://${folder}/docker.sock`
  // Addresses for measurements, which no network of the machine has.
  execFileSync(ip, ['address', 'add', `198.18.${process.pid % 256}.1/24`, 'dev', bridge])
  execFileSync(ip, ['link', 'set', bridge, 'up'])
  const places = [
    '--data-root',
    `${folder}/data`,
    '--exec-root',
    `${folder}/exec`,
    '--pidfile',
    `${folder}/pid`,
    '--host',
    socket,
  ]
  const network = [
    '--bridge',
    bridge,
    '--iptables=false',
    '--ip6tables=false',
    '--ip-forward=false',
  ]
  const caller = writeCaller(join(folder, 'docker'), `exec ${docker} --host ${socket} "$@"`)
  const answers = () => caller.call('version').then(Boolean, () => false)
  let daemon: LoggedProcess
  const startDaemon = async () => {
    // Its mounts end with it.
    daemon = startProcess(folder, 'unshare', [
      '--mount',
      dockerd,
      ...places,
      ...network,
      '--storage-driver',
      'vfs',
    ])
    await daemon.until(answers, 'the daemon of Docker')
  }
  const crash = async () => {
    await daemon.kill()
    // The system may have given this number to another process, or the first process may not have noticed the end.
    rmSync(join(folder, 'exec/containerd/containerd.pid'), { force: true })
    return startDaemon
  }
  const close = async () => {
    const containers = (await caller.call('ps', '--all', '--quiet').catch(() => ''))
      .split('\n')
      .filter(Boolean)
    if (containers.length > 0) await caller.call('rm', '--force', ...containers).catch(() => {})
    await daemon.kill()
    execFileSync(ip, ['link', 'delete', bridge])
    removeFolder(folder)
  }
  try {
    await startDaemon()
  } catch (error) {
    await close()
    throw error
  }
  return { ...caller, crash, close }
}

function isRoot(t: TestContext): boolean {
  if (process.getuid?.() === 0) return true
  t.skip('only root can run containers without settings of the machine')
  return false
}

/** Larger than a temporary folder in memory may be. */
function createStore(): string {
  return createFolder('containers', '/var/tmp')
}

function writeCaller(path: string, script: string): Pick<TestRuntime, 'path' | 'call'> {
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return { path, call: async (...args) => (await promisify(execFile)(path, args)).stdout.trim() }
}

/** An image of programs of this machine, with what they load. @returns how it is named */
export async function pushProgramsImage(
  registry: OciRegistry,
  repository: string,
  { tag, programs }: { readonly tag: string; readonly programs: readonly string[] },
): Promise<string> {
  const run = promisify(execFile)
  const { stdout: found } = await run('which', [...programs])
  const paths = found.trim().split('\n')
  const { stdout: loaded } = await run('ldd', paths)
  const libraries = loaded.match(/(?<=\s)\/\S+(?= \(0x)/g) ?? []
  const files = [...new Set([...paths, ...libraries])].map((path) => path.slice(1))
  const { stdout: content } = await run('tar', ['--dereference', '-cC', '/', ...files], {
    encoding: 'buffer',
    maxBuffer: 1024 ** 3,
  })
  const types = 'application/vnd.oci.image'
  const config = {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    rootfs: { type: 'layers', diff_ids: [digestOf(content)] },
    config: { Env: ['PATH=/usr/bin:/bin', `TAG=${tag}`] },
  }
  registry.push(repository, tag, [{ mediaType: `${types}.layer.v1.tar`, content }], {
    mediaType: `${types}.config.v1+json`,
    content: JSON.stringify(config),
  })
  return `${registry.host}/${repository}:${tag}`
}

/** It records its starts and its stop signal in its volume `data`, and shows its environment to visitors. */
const script = `
trap 'echo "stopped $VERSION" >>"$FAIRLEAD_VOLUME_DATA/log"; exit 0' USR1
echo "started $VERSION" >>"$FAIRLEAD_VOLUME_DATA/log"
echo "started as $FAIRLEAD_INSTANCE_ID"
/bin/busybox httpd -f -p "$PORT" -h /www & wait
`

/** @returns the digest of the image */
export async function pushWebImage(
  registry: OciRegistry,
  repository: string,
  tag: string,
  { version = tag, user = '65534' } = {},
): Promise<string> {
  const folder = createFolder('image', '/var/tmp')
  const head = String.raw`Content-Type: text/plain\r\nConnection: close\r\n\r\n`
  for (const name of ['bin', 'www/cgi-bin']) mkdirSync(join(folder, name), { recursive: true })
  chmodSync(folder, 0o755)
  copyFileSync('/bin/busybox', join(folder, 'bin/busybox'))
  writeFileSync(join(folder, 'www/health'), 'well\n')
  writeFileSync(
    join(folder, 'www/cgi-bin/env'),
    `#!/bin/busybox sh\nprintf '${head}'; exec /bin/busybox env\n`,
  )
  chmodSync(join(folder, 'www/cgi-bin/env'), 0o755)
  const layer = await buffer(create({ cwd: folder, portable: true }, ['.']))
  removeFolder(folder)
  const config = {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
    config: {
      User: user,
      Env: [`VERSION=${version}`],
      Cmd: ['/bin/busybox', 'sh', '-c', script],
      ExposedPorts: { '8080/tcp': {} },
      StopSignal: 'SIGUSR1',
    },
  }
  const types = 'application/vnd.oci.image'
  return registry.push(repository, tag, [{ mediaType: `${types}.layer.v1.tar`, content: layer }], {
    mediaType: `${types}.config.v1+json`,
    content: JSON.stringify(config),
  })
}

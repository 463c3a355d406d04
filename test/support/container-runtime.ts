/** Podman with a store of its own, and images of a small web program for it. */
import { execFile } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { create } from 'tar'
import { needs } from './debian.ts'
import { digestOf, type OciRegistry } from './oci-registry.ts'

export interface TestRuntime {
  /** A program that calls Podman with the store of the test. */
  readonly path: string
  /** What it prints, without the line break at its end. */
  call(...args: readonly string[]): Promise<string>
  /** Removes everything; after the agent has ended. */
  close(): Promise<void>
}

/** Undefined where the test is skipped. */
export function startPodman(t: TestContext, registry: OciRegistry): TestRuntime | undefined {
  const [podman, ...others] = [needs(t, 'podman'), needs(t, 'runc'), needs(t, 'slirp4netns'), needs(t, 'busybox')]
  if (podman === undefined || others.includes(undefined)) return undefined
  if (process.getuid?.() !== 0) {
    t.skip('only root can run containers without settings of the machine')
    return undefined
  }
  // Larger than a temporary folder in memory may be.
  const folder = mkdtempSync('/var/tmp/fairlead-podman-')
  const path = join(folder, 'podman')
  const files = { CONTAINERS_CONF: join(folder, 'containers.conf'), CONTAINERS_REGISTRIES_CONF: join(folder, 'registries.conf') }
  // Locks in memory would be those of all stores of the machine.
  writeFileSync(files.CONTAINERS_CONF, '[containers]\nnetns = "slirp4netns"\n[engine]\nlock_type = "file"\n')
  writeFileSync(files.CONTAINERS_REGISTRIES_CONF, `[[registry]]\nlocation = "${registry.host}"\ninsecure = true\n`)
  const variables = Object.entries(files).map(([name, value]) => `${name}=${value}`)
  const options = `--root ${folder}/store --runroot ${folder}/run --tmpdir ${folder}/tmp --storage-driver vfs --runtime runc`
  // Its usual limits are above those of an ordinary machine of tests, where not even root may raise them.
  const limited = 'case $1 in run) shift; set -- run --ulimit nproc=4096:4096 --ulimit nofile=4096:4096 "$@" ;; esac'
  const lines = ['#!/bin/sh', `export ${variables.join(' ')}`, limited, `exec ${podman} ${options} "$@"`, '']
  writeFileSync(path, lines.join('\n'), { mode: 0o755 })
  const call = async (...args: readonly string[]) => (await promisify(execFile)(path, args)).stdout.trim()
  const close = async () => {
    await call('rm', '--all', '--force', '--time', '0').catch(() => {})
    rmSync(folder, { recursive: true, force: true })
  }
  return { path, call, close }
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
  const folder = mkdtempSync('/var/tmp/fairlead-image-')
  const head = String.raw`Content-Type: text/plain\r\nConnection: close\r\n\r\n`
  for (const name of ['bin', 'www/cgi-bin']) mkdirSync(join(folder, name), { recursive: true })
  chmodSync(folder, 0o755)
  copyFileSync('/bin/busybox', join(folder, 'bin/busybox'))
  writeFileSync(join(folder, 'www/health'), 'well\n')
  writeFileSync(join(folder, 'www/cgi-bin/env'), `#!/bin/busybox sh\nprintf '${head}'; exec /bin/busybox env\n`)
  chmodSync(join(folder, 'www/cgi-bin/env'), 0o755)
  const layer = await buffer(create({ cwd: folder, portable: true }, ['.']))
  rmSync(folder, { recursive: true })
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

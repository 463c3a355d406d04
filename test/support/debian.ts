/** Programs that tests start but npm does not bring: a directory, Redis, PostgreSQL, MariaDB, a browser, nginx, etcd, sshd, buildah, Podman, Docker, Prometheus, systemd. */
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** `scripts/install-test-packages.sh` installs the packages that hold them, except for the whole Chromium. */
export type Program =
  | 'buildah'
  | 'podman'
  | 'runc'
  | 'slirp4netns'
  | 'busybox'
  | 'docker'
  | 'dockerd'
  | 'ip'
  | 'prometheus'
  | 'slapd'
  | 'ldapadd'
  | 'redis-server'
  | 'pg_ctlcluster'
  | 'mariadbd'
  | 'chromium-headless-shell'
  | 'chromium'
  | 'nginx'
  | 'caddy'
  | 'oauth2-proxy'
  | 'etcd'
  | 'sshd'
  | 'python3'
  | 'systemd-notify'
  | 'systemd-analyze'
  | 'dpkg-deb'

/**
 * The path of a program that the test cannot do without, or of another one that will do. Where it is missing the test is skipped and must return; in CI
 * nothing may be skipped, so it fails.
 *
 * @throws {Error} in CI, when the program is missing.
 */
export function needs(
  t: Pick<TestContext, 'skip'>,
  program: Program,
  other = program,
): string | undefined {
  const path = findProgram(program) ?? findProgram(other)
  if (path !== undefined) return path
  if (process.env['CI'] === 'true')
    throw new Error(`${program} is missing: run npm run test:setup as root`)
  t.skip(`${program} is not installed (npm run test:setup)`)
  return undefined
}

/** Daemons live in `sbin`, which the PATH of an ordinary user does not name. */
export function findProgram(program: string): string | undefined {
  const folders = [
    ...(process.env['PATH'] ?? '').split(':'),
    '/usr/local/sbin',
    '/usr/sbin',
    '/sbin',
  ]
  return folders.map((folder) => join(folder, program)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

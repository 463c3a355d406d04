/** The build cache of this machine's Go in the place of that of bakes: compiling Go's own library takes longer than all else. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** What the sandbox must show for it, for `local.readable`. */
export const goCache: readonly string[] = findCache()

function findCache(): string[] {
  const { status, stdout } = spawnSync('go', ['env', 'GOCACHE'], { encoding: 'utf8' })
  return status === 0 ? [stdout.trim()] : []
}

/** As the next bakes find it: with a link for each file, so that they add theirs to it. */
export function linkGoCache(dataDir: string, account: string): void {
  const cache = join(dataDir, 'bake-caches', `account-${account}`)
  for (const folder of goCache) {
    mkdirSync(cache, { recursive: true, mode: 0o700 })
    execFileSync('cp', ['-rs', folder, join(cache, 'go-build')])
    rmSync(join(cache, 'go-build', 'trim.txt'), { force: true })
  }
}

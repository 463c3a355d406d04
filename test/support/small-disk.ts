/** Mounts a small file system in memory, for tests of full disks. */
import { execFileSync, spawnSync } from 'node:child_process'
import type { TestContext } from 'node:test'
import { createFolder, removeFolder } from './temporary-folder.ts'

/**
 * @param size Such as `16k`
 * @param over A folder whose content it hides until the end of the test; a new one unless given
 * @returns its folder; undefined where the test is skipped, since only root may mount
 */
export function mountSmallDisk(t: TestContext, size: string, over?: string): string | undefined {
  const skip = (reason: string): undefined => {
    t.skip(reason)
    return undefined
  }
  if (process.getuid?.() !== 0) return skip('only root may mount a small disk')
  const disk = over ?? createFolder('disk')
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', disk])
  t.after(() => {
    if (mounted.status === 0) execFileSync('umount', ['-l', disk])
    if (over === undefined) removeFolder(disk)
  })
  return mounted.status === 0 ? disk : skip('this machine allows no mounts')
}

/** Mounts a small file system in memory, for tests of full disks. */
import { execFileSync, spawnSync } from 'node:child_process'
import type { TestContext } from 'node:test'
import { createFolder, removeFolder } from './temporary-folder.ts'

/** @param size Such as `16k`. @returns its folder; undefined where the test is skipped, since only root may mount */
export function mountSmallDisk(t: TestContext, size: string): string | undefined {
  const skip = (reason: string): undefined => {
    t.skip(reason)
    return undefined
  }
  if (process.getuid?.() !== 0) return skip('only root may mount a small disk')
  const disk = createFolder('disk')
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', disk])
  t.after(() => {
    if (mounted.status === 0) execFileSync('umount', ['-l', disk])
    removeFolder(disk)
  })
  return mounted.status === 0 ? disk : skip('this machine allows no mounts')
}

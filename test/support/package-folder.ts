/** The built package: what `npm test` has built, or a build for this test alone. */
import { copyFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildPackage } from '../../scripts/build.ts'
import { createFolder, removeFolder } from './temporary-folder.ts'
import type { TestEnd } from './test-end.ts'

/** A folder with `package.json` and `dist/`, which no test may change. */
export async function packageFolder(t: TestEnd): Promise<string> {
  const built = process.env['TESTED_BUNDLE']
  if (built !== undefined) return built
  const folder = createFolder('package')
  t.after(() => removeFolder(folder))
  await buildPackage(join(folder, 'dist'))
  copyFileSync(resolve(import.meta.dirname, '../../package.json'), join(folder, 'package.json'))
  return folder
}

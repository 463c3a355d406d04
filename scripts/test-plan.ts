/** Which test files `npm test` runs, and what it says before and after about the others. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { costs, essential, nameOf } from './test-costs.ts'

export interface TestPlan {
  readonly files: readonly string[]
  /** What will be done, and how long it takes. */
  readonly announcement: string
  /** What was left out; empty: nothing. */
  readonly omission: string
}

/** Written by `scripts/set-up-tests.sh`. */
const marker = join(
  process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'),
  'fairlead/tests-are-set-up',
)
const unchanged = 'Compiles no program, and installs nothing.'

/**
 * The whole run where the programs of the tests are there, `npm run test:setup` was called, or CI says so; otherwise the short one, without the
 * dearest files.
 */
export function planRun(files: readonly string[]): TestPlan {
  const missing = findMissing()
  const isWhole = missing.length === 0 || process.env['CI'] === 'true' || existsSync(marker)
  const lacks =
    missing.length === 0
      ? ''
      : `\nTests that need a missing program are skipped, and named at the end. Missing: ${missing.join(', ')}.`
  if (isWhole) {
    const what = `Runs the whole suite: types, lint and ${files.length} test files, in about half an hour on two idle cores.`
    return { files, announcement: `${what} ${unchanged}${lacks}`, omission: '' }
  }
  const [chosen, left] = [isShort, (file: string) => !isShort(file)].map((holds) =>
    files.filter(holds),
  ) as [string[], string[]]
  const what = `Runs the short suite: types, lint and ${chosen.length} of ${files.length} test files, in about 6 minutes on two idle cores.`
  const whole = 'npm run test:setup installs the programs; from then on npm test runs everything.'
  return {
    files: chosen,
    announcement: `${what} ${unchanged}${lacks}\n${left.length} files that take long are left out. ${whole}`,
    omission: `Left out, since they take long (npm run test:setup, then npm test, runs them):\n${left.map((file) => `  ${file}`).join('\n')}`,
  }
}

function isShort(file: string): boolean {
  return costs[nameOf(file)] === undefined || essential.has(nameOf(file))
}

/** Packages and programs; elsewhere than on Linux nothing is brought. */
function findMissing(): string[] {
  return ['packages', 'kubernetes'].flatMap((what) =>
    execFileSync('bash', [join(import.meta.dirname, `install-test-${what}.sh`), '--missing'], {
      cwd: resolve(import.meta.dirname, '..'),
      encoding: 'utf8',
    })
      .split('\n')
      .filter(Boolean),
  )
}

/** Shell commands of guides and of the README, run by bash. */
import { type ExecFileOptions, execFile } from 'node:child_process'
import type { TestContext } from 'node:test'

export interface BashResult {
  readonly code: number
  readonly output: string
  readonly errors: string
}

/** The shell ends with the test. */
export function runInBash(
  t: TestContext,
  commands: string,
  options: ExecFileOptions,
): Promise<BashResult> {
  return new Promise((done) => {
    const child = execFile(
      'bash',
      ['-c', commands],
      { timeout: 300_000, ...options },
      (_error, output, errors) =>
        done({ code: child.exitCode ?? 1, output: String(output), errors: String(errors) }),
    )
    t.after(() => child.kill('SIGKILL'))
  })
}

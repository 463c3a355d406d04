/** What a build leaves: archived files, counted tests, and folders for the next build. */
import {
  copyFileSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { BuilderError, resolveWithin, run } from '@fairlead/base/outside/builder-process.ts'
import type { TestCounts } from './build-report.ts'
import { archiveFolder, type BuildPlan } from './plan.ts'
import type { RunnerLog } from './runner-log.ts'
import { addCounts, countJunit, countTap, noTests } from './test-reports.ts'

interface BuildFolders {
  readonly work: string
  /** The checkout. */
  readonly source: string
  readonly log: RunnerLog
}

/** Values of secrets are masked in files up to this size; larger ones are no property files or reports. */
const maskedBytes = 1024 * 1024
const maxReportBytes = 32 * 1024 * 1024

/** Regular files of the checkout; those of Git, and of places that links lead to, are left out. */
function filesFor(patterns: readonly string[], source: string): string[] {
  const found = globSync([...patterns], {
    cwd: source,
    exclude: (path) => path === '.git' || path.startsWith('.git/'),
  })
  return [...new Set(found)].sort().filter((path) => {
    if (lstatSync(join(source, path), { throwIfNoEntry: false })?.isFile() !== true) return false
    try {
      resolveWithin(source, path)
      return true
    } catch {
      return false
    }
  })
}

/** @throws {BuilderError} beyond the bounds */
export function archiveFiles(
  { archive, bounds }: BuildPlan,
  { work, source, log }: BuildFolders,
): void {
  const paths = filesFor(archive, source)
  for (const pattern of archive) {
    if (filesFor([pattern], source).length === 0) log.say(`Archive: no file is ${pattern}.`)
  }
  if (paths.length > bounds.maxFiles) {
    throw new BuilderError(
      `${paths.length} files are to be archived, and ${bounds.maxFiles} may be (builds.local.archive-files).`,
    )
  }
  const bytes = paths.reduce((sum, path) => sum + lstatSync(join(source, path)).size, 0)
  if (bytes > bounds.maxFileBytes) {
    throw new BuilderError(
      `${bytes} bytes are to be archived, and ${bounds.maxFileBytes} may be (builds.local.archive-size).`,
    )
  }
  for (const path of paths) archiveFile(join(source, path), join(work, archiveFolder, path), log)
  if (paths.length > 0)
    log.say(`Archived ${paths.length} ${paths.length === 1 ? 'file' : 'files'}.`)
}

function archiveFile(from: string, to: string, log: RunnerLog): void {
  mkdirSync(dirname(to), { recursive: true })
  if (lstatSync(from).size <= maskedBytes) {
    const bytes = readFileSync(from)
    const text = bytes.toString('utf8')
    const masked = bytes.includes(0) ? text : log.mask(text)
    if (masked !== text) {
      writeFileSync(to, masked)
      return
    }
  }
  copyFileSync(from, to)
}

/** Undefined where the job has no reports. @throws {BuilderError} when a report cannot be read */
export function countTests(
  { tests }: BuildPlan,
  { source, log }: BuildFolders,
): TestCounts | undefined {
  if (tests.junit.length + tests.tap.length === 0) return undefined
  const kinds = [
    [tests.junit, countJunit, 'JUnit'],
    [tests.tap, countTap, 'TAP'],
  ] as const
  let sum = noTests
  for (const [patterns, count, format] of kinds) {
    for (const path of filesFor(patterns, source)) {
      const file = join(source, path)
      const found =
        lstatSync(file).size > maxReportBytes ? undefined : count(readFileSync(file, 'utf8'))
      if (found === undefined)
        throw new BuilderError(`${path} is no complete report of ${format}, or too large.`)
      sum = addCounts(sum, found)
    }
  }
  log.say(
    `Tests: ${sum.totalCount}, of which ${sum.failCount} failed and ${sum.skipCount} were skipped.`,
  )
  return sum
}

/** Copies: another build may use the cache at the same time. */
export async function restoreFolders(
  { cache, cachedFolders }: BuildPlan,
  { source, work, log }: BuildFolders,
): Promise<void> {
  for (const path of cachedFolders) {
    const kept = cache === undefined ? undefined : join(cache, 'folders', encodeURIComponent(path))
    const place = join(source, path)
    if (kept === undefined || !existsSync(kept) || existsSync(place)) continue
    mkdirSync(dirname(place), { recursive: true })
    await run(['cp', '-a', kept, place], { cwd: work, env: process.env as Record<string, string> })
    log.say(`Cache: ${path} is restored.`)
  }
}

export async function keepFolders(
  { cache, cachedFolders }: BuildPlan,
  { source, work }: BuildFolders,
): Promise<void> {
  for (const path of cache === undefined ? [] : cachedFolders) {
    const place = join(source, path)
    if (lstatSync(place, { throwIfNoEntry: false })?.isDirectory() !== true) continue
    const kept = join(cache as string, 'folders', encodeURIComponent(path))
    const fresh = `${kept}.new-${process.pid}`
    mkdirSync(dirname(kept), { recursive: true })
    await run(['cp', '-a', resolveWithin(source, path), fresh], {
      cwd: work,
      env: process.env as Record<string, string>,
    })
    const old = `${kept}.old-${process.pid}`
    if (existsSync(kept)) renameSync(kept, old)
    renameSync(fresh, kept)
    rmSync(old, { recursive: true, force: true })
  }
}

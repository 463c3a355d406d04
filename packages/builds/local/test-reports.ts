/** Counts the tests in reports of JUnit and of the Test Anything Protocol. */
import type { TestCounts } from './build-report.ts'

export const noTests: TestCounts = { failCount: 0, skipCount: 0, totalCount: 0 }

export function addCounts(one: TestCounts, other: TestCounts): TestCounts {
  return {
    failCount: one.failCount + other.failCount,
    skipCount: one.skipCount + other.skipCount,
    totalCount: one.totalCount + other.totalCount,
  }
}

/** Elements of a test case that say how it ended. */
const failures: ReadonlySet<string> = new Set(['failure', 'error', 'rerunFailure', 'rerunError'])

/** Test cases of a report in XML; undefined when it has no test suite, or ends within a test case. */
export function countJunit(text: string): TestCounts | undefined {
  let counts = noTests
  let outcome: 'passed' | 'failed' | 'skipped' | undefined
  let hasSuite = false
  const close = () => {
    if (outcome === undefined) return
    counts = addCounts(counts, {
      failCount: outcome === 'failed' ? 1 : 0,
      skipCount: outcome === 'skipped' ? 1 : 0,
      totalCount: 1,
    })
    outcome = undefined
  }
  for (const { name, isClosing, isEmpty } of tagsOf(text)) {
    if (name === 'testsuite' || name === 'testsuites') hasSuite = true
    else if (name === 'testcase') {
      close()
      outcome = isClosing ? undefined : 'passed'
      if (isEmpty) close()
    } else if (outcome !== undefined && failures.has(name)) outcome = 'failed'
    else if (outcome === 'passed' && name === 'skipped') outcome = 'skipped'
  }
  return hasSuite && outcome === undefined ? counts : undefined
}

interface ReportTag {
  readonly name: string
  readonly isClosing: boolean
  readonly isEmpty: boolean
}

/** Sections that contain no tags, whatever stands in them. */
const sections = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const

function* tagsOf(text: string): Generator<ReportTag, void> {
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at)) {
    const section = sections.find(([begin]) => text.startsWith(begin, at))
    if (section !== undefined) {
      const [begin, end] = section
      const found = text.indexOf(end, at + begin.length)
      if (found === -1) return
      at = found + end.length
      continue
    }
    const end = endOfTag(text, at)
    if (end === -1) return
    const inner = text.slice(at + 1, end)
    const isClosing = inner.startsWith('/')
    yield {
      name: nameOf(isClosing ? inner.slice(1) : inner),
      isClosing,
      isEmpty: inner.endsWith('/'),
    }
    at = end + 1
  }
}

/** The `>` that closes a tag: values of attributes may contain it. */
function endOfTag(text: string, from: number): number {
  let quote = ''
  for (let at = from; at < text.length; at++) {
    const character = text[at] as string
    if (quote !== '') {
      if (character === quote) quote = ''
    } else if (character === '>') return at
    else if (character === '"' || character === "'") quote = character
  }
  return -1
}

/** Without the prefix of a namespace. */
function nameOf(inner: string): string {
  const [word = ''] = inner.slice(0, 100).split(/[\s/]/, 1)
  return word.slice(word.indexOf(':') + 1)
}

/** Points at the left margin of a report; those of subtests are summed up there. Undefined without a plan and points. */
export function countTap(text: string): TestCounts | undefined {
  let [planned, points, failed, skipped] = [undefined as number | undefined, 0, 0, 0]
  let isBailedOut = false
  for (const line of text.split(/\r?\n/)) {
    const plan = /^1\.\.(\d{1,7})/.exec(line)?.[1]
    if (plan !== undefined) planned = Number(plan)
    if (line.startsWith('Bail out!')) isBailedOut = true
    const isOk = line.startsWith('ok')
    if (!isOk && !line.startsWith('not ok')) continue
    if (!/^(?:not )?ok\b/.test(line)) continue
    points += 1
    const directive = /#\s{0,10}(skip|todo)/i.exec(line)?.[1]?.toLowerCase()
    if (directive !== undefined) skipped += 1
    else if (!isOk) failed += 1
  }
  if (planned === undefined && points === 0) return undefined
  // Points that are planned and missing have failed.
  const missing = Math.max(0, (planned ?? points) - points, isBailedOut ? 1 : 0)
  return { failCount: failed + missing, skipCount: skipped, totalCount: points + missing }
}

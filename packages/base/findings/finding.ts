/** Findings about an installation, and concurrent checks with timeouts. */
import { within } from '../concurrency/within.ts'

export type Verdict = 'ok' | 'warning' | 'problem'

/** Never holds a secret. */
export interface Finding {
  /** What was looked at: `Redis`, `LDAP ldaps://directory.example.com:636`. */
  readonly subject: string
  readonly verdict: Verdict
  readonly tried: string
  readonly found: string
  /** What to do; undefined when there is nothing to do. */
  readonly advice?: string
  /** Path of the guide in the documentation, such as `docs/guides/tls.md`. */
  readonly guide?: string
}

type Findings = readonly Finding[]

export interface Check {
  readonly subject: string
  readonly run: () => Promise<Findings> | Findings
}

/** How long the doctor waits, in milliseconds: for one answer, and for one check as a whole. */
export interface Timeouts {
  readonly answerMs: number
  readonly checkMs: number
}

export const usualTimeouts: Timeouts = { answerMs: 3000, checkMs: 9000 }

/** Findings about one subject, in few words. */
export function findingsOn(subject: string) {
  return {
    ok: (tried: string, found: string): Finding => ({ subject, verdict: 'ok', tried, found }),
    warning: (tried: string, found: string, advice: string): Finding => ({
      subject,
      verdict: 'warning',
      tried,
      found,
      advice,
    }),
    problem: (tried: string, found: string, advice: string): Finding => ({
      subject,
      verdict: 'problem',
      tried,
      found,
      advice,
    }),
  }
}
export type Reporter = ReturnType<typeof findingsOn>

export function createCheck(
  subject: string,
  check: (report: Reporter) => Promise<Findings> | Findings,
): Check {
  return { subject, run: () => check(findingsOn(subject)) }
}

/** All findings, in the order of the checks. */
export async function runChecks(
  checks: readonly Check[],
  { checkMs }: Timeouts,
): Promise<Finding[]> {
  return (await Promise.all(checks.map((check) => runCheck(check, checkMs)))).flat()
}

async function runCheck({ subject, run }: Check, limitMs: number): Promise<Findings> {
  const { problem } = findingsOn(subject)
  try {
    return await within(limitMs, Promise.resolve().then(run), () => [
      problem(
        'everything about it',
        `no result within ${limitMs / 1000} s`,
        'see whether it answers at all, and how fast',
      ),
    ])
  } catch (error) {
    return [
      problem('everything about it', (error as Error).message, 'correct what the message names'),
    ]
  }
}

/** The worst of all; nothing is worse than a problem. */
export function worstOf(findings: Findings): Verdict {
  const verdicts = findings.map(({ verdict }) => verdict)
  return verdicts.includes('problem') ? 'problem' : verdicts.includes('warning') ? 'warning' : 'ok'
}

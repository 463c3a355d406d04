/** Thread that checks SAML responses. */
import { serveJobs } from '@fairlead/base/concurrency/side-thread.ts'
import type { StepVerdict } from '../trace.ts'
import { SamlRefused } from './refusal.ts'
import { type AcceptedAssertion, checkContent, type Expectation } from './response.ts'

export interface ResponseJob {
  readonly text: string
  readonly expected: Expectation
}

export interface ResponseReply {
  readonly result:
    | { readonly kind: 'accepted'; readonly assertion: AcceptedAssertion }
    /** `isDefect`: the check failed, and not the response. */
    | { readonly kind: 'refused'; readonly reason: string; readonly isDefect: boolean }
  readonly steps: readonly (readonly [StepVerdict, string])[]
}

serveJobs(({ text, expected }: ResponseJob) => {
  const steps: [StepVerdict, string][] = []
  return {
    reply: { result: check(text, { ...expected, trace: (...step) => steps.push(step) }), steps },
    transfer: [],
  }
})

function check(text: string, expected: Expectation): ResponseReply['result'] {
  try {
    return { kind: 'accepted', assertion: checkContent(text, expected) }
  } catch (error) {
    const isDefect = !(error instanceof SamlRefused)
    return {
      kind: 'refused',
      reason: isDefect ? String((error as Error).stack) : error.message,
      isDefect,
    }
  }
}

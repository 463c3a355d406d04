/** Checks SAML responses in a thread: one with thousands of groups takes a second, most of it in the libraries for signatures. */
import { SideThread, SideThreadError } from '@fairlead/base/concurrency/side-thread.ts'
import { tooManyLogins } from '../too-many-logins.ts'
import type { Trace } from '../trace.ts'
import { SamlRefused } from './refusal.ts'
import {
  type AcceptedAssertion,
  checkSigners,
  type Expectation,
  type ReceivedResponse,
} from './response.ts'
import type { ResponseJob, ResponseReply } from './response-worker.ts'

const thread = new SideThread<ResponseJob, ResponseReply>({
  name: 'saml',
  file: new URL(
    import.meta.url.endsWith('.ts') ? './response-worker.ts' : './response-worker.js',
    import.meta.url,
  ),
  maxOldGenerationSizeMb: 256,
  maxJobMs: 20_000,
  maxWaiting: 100,
})

/**
 * Every check but two, which need a memory: that the request was ours, and that the assertion is new.
 *
 * @param trace Follows the checks.
 * @throws {SamlRefused}
 * @throws {GatewayError} RATE_LIMITED
 * @see docs/contracts/authentication.md#saml; SAML 2.0 Profiles, section 4.1.4.3
 */
export async function checkResponse(
  { text, outline }: ReceivedResponse,
  expected: Expectation,
  trace?: Trace,
): Promise<AcceptedAssertion> {
  // What strangers send is refused here, before anything but its outline is looked at.
  checkSigners(outline, expected)
  const { result, steps } = await checkAside({ text, expected })
  for (const [verdict, step] of steps) trace?.(verdict, step)
  if (result.kind === 'accepted') return result.assertion
  throw result.isDefect ? new Error(result.reason) : new SamlRefused(result.reason)
}

async function checkAside(job: ResponseJob): Promise<ResponseReply> {
  try {
    return await thread.run(job)
  } catch (cause) {
    if (!(cause instanceof SideThreadError)) throw cause
    if (cause.reason !== 'full') throw new SamlRefused(`checking the response: ${cause.message}`)
    throw tooManyLogins(cause)
  }
}

/** The choice of an instance for one request: after a failure another one, the same after a pause, or the next that is healthy. */
import type { ConnectionFailure } from '@fairlead/proxy/connection.ts'
import type { ForwardProgress, RetryDecision, Wait } from '@fairlead/proxy/forward.ts'
import type { ListenerContext } from './listener-context.ts'
import type { Member } from './member.ts'

export function chooseInstance(
  { balancer, bounds }: ListenerContext,
  { tried, last, waits }: ForwardProgress<Member>,
): Member | Wait<Member> | undefined {
  const member = balancer.pick(tried, last)
  if (member !== undefined) return member
  if (balancer.hasInstance) {
    // All have lost it. They may be about to end, which shows when they refuse connections.
    return (proceed) => {
      const timer = setTimeout(proceed, bounds.firstRepeatMs * 2 ** waits).unref()
      return () => clearTimeout(timer)
    }
  }
  if (!balancer.mayWait) return undefined
  return (proceed) => {
    const waiter = { onTurn: () => proceed() }
    balancer.wait(waiter)
    return () => balancer.stopWaiting(waiter)
  }
}

/** Tells the instance's health about the failure. @param mayRepeat Another attempt does nothing twice */
export function decideRetry(
  { bounds }: ListenerContext,
  { health }: Member,
  { error, wasConnected, wasKept }: ConnectionFailure,
  { number, mayRepeat }: { readonly number: number; readonly mayRepeat: boolean },
): RetryDecision {
  // A refusal costs nothing, and every instance refuses once at most until it is healthy again.
  const isFree = !wasConnected && error.code === 'ECONNREFUSED'
  if (isFree) health.noteRefused()
  else health.probeSoon()
  const isWithinBounds = (isFree ? number - 1 : number) < bounds.maxAttempts
  // A new connection to the same instance may not fail.
  return { retryMs: mayRepeat && isWithinBounds ? 0 : undefined, isFree, mayBeSame: wasKept }
}

/** Opens a login with passwords: page, HTTP Basic, and what slows guessing down. */
import { type Guesses, GuessLimit } from './form/guess-limit.ts'
import { KnownBrowsers } from './known-browsers.ts'
import type { MethodContext } from './method-type.ts'
import { PasswordLogin, type PasswordSource } from './password-login.ts'
import { TypedName } from './typed-name.ts'
import { Unlocks } from './unlocks.ts'

/** @param source Knows the passwords */
export async function openPasswordLogin(
  source: PasswordSource,
  context: MethodContext,
): Promise<PasswordLogin> {
  const { page, secrets: keys, log, keep, now } = context
  const { contextPath } = page
  return new PasswordLogin(source, {
    ...context,
    browsers: new KnownBrowsers({ keys, contextPath, log, now }),
    typedName: new TypedName({ keys, contextPath, log }),
    unlocks: keep(new Unlocks(context)),
    guesses: await openGuesses(context),
  })
}

/** Counted by all replicas together where they share Redis. */
async function openGuesses({ redis, log, now }: MethodContext): Promise<Guesses> {
  const fallback = new GuessLimit(now)
  if (redis === undefined) return fallback
  const { RedisGuesses } = await import('./form/redis-guesses.ts')
  return new RedisGuesses({ redis, fallback, log, now })
}

/** The store of API tokens of a configuration, for commands that run beside the gateway. */

import type { Config } from '@fairlead/app/config/config.ts'
import { createDataDir } from '@fairlead/app/hosting/lock.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { openRedis } from '@fairlead/base/redis/open-redis.ts'
import { openLog } from '@fairlead/base/telemetry/log.ts'
import { openUsers, type StoredUser } from '@fairlead/gateway/login/form/users.ts'
import { openTokens, type Tokens } from '@fairlead/gateway/login/tokens/tokens.ts'

/** In Redis where replicas share it. @throws {GatewayError} NOT_FOUND while tokens are switched off */
export async function openConfiguredTokens({
  login,
  backends,
  redis: settings,
}: Config): Promise<{ tokens: Tokens; close: () => Promise<void> }> {
  if (login.tokens === undefined) {
    throw new GatewayError(
      'NOT_FOUND',
      'API tokens are switched off. Set api-tokens.enabled: true, and no anonymous access.',
    )
  }
  createDataDir(backends.dataDir)
  const { log } = openLog('silent')
  const redis = settings && (await openRedis(settings, log))
  const eraOf = (username: string) => findUser(backends.dataDir, username)?.tokenEra
  const tokens = openTokens({
    settings: login.tokens,
    dataDir: backends.dataDir,
    redis,
    log,
    eraOf,
  })
  const close = async () => {
    await tokens.close()
    await redis?.close()
  }
  return { tokens, close }
}

export function findUser(dataDir: string, username: string): StoredUser | undefined {
  const users = openUsers(dataDir)
  try {
    return users.find(username)
  } finally {
    users.close()
  }
}

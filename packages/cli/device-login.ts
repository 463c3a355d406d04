/** Login with a browser, here or elsewhere: the user confirms a code there, and this machine gets a token. */
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from './client.ts'
import type { CommandContext } from './command.ts'
import { exitCodes, Failure } from './failure.ts'
import { openInBrowser } from './open-in-browser.ts'

export interface IssuedToken {
  readonly token: string
  readonly id?: string | undefined
  readonly expiresAt?: string | undefined
}

interface DeviceLogin {
  readonly deviceCode: string
  readonly userCode: string
  /** Where the user confirms, with the code in it. */
  readonly verificationUrl: string
  readonly expiresAt: string
  readonly intervalSeconds: number
}

/** @throws {Failure} with 4 when the user rejects it or the code ends */
export async function logInByDevice(
  client: Client,
  { output, env }: CommandContext,
  wanted: { readonly name: string; readonly expiresAt?: string },
): Promise<IssuedToken> {
  const started = await start(client, wanted)
  output.stderr.write(
    `Open ${started.verificationUrl}\nand confirm the code ${output.paint('bold', started.userCode, output.stderr)}\n`,
  )
  if (output.stderr.isTTY && !env['CI']) openInBrowser(started.verificationUrl, env)
  const endMs = Date.parse(started.expiresAt)
  while (Date.now() < endMs) {
    await sleep(started.intervalSeconds * 1000)
    const answer = await take(client, started.deviceCode)
    if (answer?.token !== undefined) return answer
  }
  throw new Failure(
    exitCodes.denied,
    'DEVICE_LOGIN_EXPIRED',
    'The code was not confirmed in time.',
    {
      remedy: 'Start again: fairlead login',
    },
  )
}

/** @returns without a token until the user has confirmed */
async function take(client: Client, deviceCode: string): Promise<IssuedToken | undefined> {
  try {
    return await client.post('/auth/device/token', { deviceCode })
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'NOT_FOUND') throw error
    throw new Failure(exitCodes.denied, 'DEVICE_LOGIN_REJECTED', error.message, { cause: error })
  }
}

async function start(client: Client, wanted: object): Promise<DeviceLogin> {
  try {
    return await client.post<DeviceLogin>('/auth/device', { ...wanted, device: hostname() })
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'OPERATION_UNKNOWN') throw error
    throw new Failure(
      error.exit,
      error.code,
      `${client.url} offers no login by browser and code.`,
      {
        remedy: 'Log in with --user NAME, or with --token-stdin and an API token.',
        cause: error,
      },
    )
  }
}

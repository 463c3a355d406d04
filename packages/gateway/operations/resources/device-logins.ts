/** Logins of programs that a user confirms in a browser: the command line on a machine without one, or with one. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { maybeText, model, nonEmpty } from '@fairlead/base/json/schemas.ts'
import { z } from 'zod'
import { createPage, escapeHtml, type Site } from '../../http/page.ts'
import type { DeviceLogins, DeviceRequest } from '../../login/tokens/device-logins.ts'
import type { Tokens } from '../../login/tokens/tokens.ts'
import { get, operationsWith } from '../declare.ts'
import { open } from '../demands.ts'
import { parseMoment } from '../moment.ts'
import { DirectAnswer, type Operation, type OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { IssuedApiToken, mayMintTokens, toIssuedToken } from './api-tokens.ts'

const dayMs = 86_400_000
const intervalSeconds = 2

const line = z.string().regex(/^[^\p{Cc}\p{Cs}]{1,64}$/u, 'has up to 64 visible characters')

const StartDeviceLogin = model('DeviceLoginRequest', {
  name: line.describe('Of the API token.'),
  device: line.describe('Name of the machine, which the user is shown.'),
  expiresAt: maybeText.describe('End of the token, ISO 8601. Default: as late as allowed.'),
})
type StartDeviceLogin = z.infer<typeof StartDeviceLogin>

const StartedDeviceLogin = model('DeviceLogin', {
  deviceCode: z.string().describe('Proves who asks for the token. Not to be shown.'),
  userCode: z.string().describe('What the user confirms.'),
  verificationUrl: z.string().describe('Where the user confirms it.'),
  expiresAt: z.string().describe('ISO 8601, UTC.'),
  intervalSeconds: z.int().describe('Pause between two questions for the token.'),
})

const TakeDeviceToken = model('DeviceTokenRequest', { deviceCode: nonEmpty })

const switchedOff = 'API tokens are switched off.'
const device = operationsWith({
  demands: open('caller only'),
  errors: { 404: switchedOff },
})

export const deviceLoginOperations: Operation[] = [
  device.post('startDeviceLogin', '/auth/device', 'Start a login with a code', {
    description:
      'Starts a login that a user confirms in a browser within ten minutes. Needs no login.',
    body: { schema: StartDeviceLogin, required: true },
    handle: start,
    success: 201,
    answer: StartedDeviceLogin,
  }),
  device.post('takeDeviceToken', '/auth/device/token', 'Take the token of a login', {
    description:
      'The API token of a confirmed login, once; 202 until it is confirmed. Needs no login but the code of the device.',
    body: { schema: TakeDeviceToken, required: true },
    handle: take,
    answer: IssuedApiToken,
    errors: { 404: 'The code has expired, was rejected or was used already.' },
  }),
  get('showDeviceLogin', '/auth/device', 'Show a login to confirm', {
    demands: open('caller only'),
    description: 'The page on which a logged-in user confirms or rejects the login of a program.',
    query: { code: maybeText.describe('The code that the program shows.') },
    handle: async ({ query, state }, platform) => {
      const code = String(query['code'] ?? '')
      const { devices } = devicesOf(platform)
      const request = code === '' ? undefined : await devices.find(code)
      const page =
        request === undefined
          ? askCode(platform.site, code !== '')
          : askConsent(platform.site, code, request, state.user?.username ?? '')
      return new DirectAnswer(200, page.html, page.headers)
    },
    answer: z.string(),
    answerType: 'text/html',
    errors: { 404: switchedOff },
  }),
  device.post('decideDeviceLogin', '/auth/device/decision', 'Confirm or reject a login', {
    description: 'What the page sends: `code`, and `decision`, which is `allow` or `reject`.',
    body: {
      schema: z.unknown(),
      required: true,
      raw: true,
      mediaType: 'application/x-www-form-urlencoded',
    },
    handle: decide,
    answer: z.string(),
    answerType: 'text/html',
    errors: {
      403: 'The caller may not create API tokens, or is a program with a token.',
      404: switchedOff,
    },
  }),
]

function devicesOf({ login }: Platform): { devices: DeviceLogins; tokens: Tokens } {
  const { devices, tokens } = login
  if (devices !== undefined && tokens !== undefined) return { devices, tokens }
  throw new GatewayError(
    'NOT_FOUND',
    'API tokens are switched off here. An operator may set api-tokens.enabled: true.',
  )
}

async function start({ body, state }: OperationRequest, platform: Platform) {
  const { devices, tokens } = devicesOf(platform)
  const { name, device: machine, expiresAt } = body as StartDeviceLogin
  const expiresAtMs = parseMoment('expiresAt', expiresAt)
  const { maxUserDays } = tokens.settings
  if (expiresAtMs !== undefined && expiresAtMs > Date.now() + maxUserDays * dayMs)
    throw new GatewayError('BAD_ARGUMENT', `A token lives ${maxUserDays} days at most.`)
  const { clientAddress: address } = state
  const started = await devices.start({ name, device: machine, address, expiresAtMs })
  return {
    deviceCode: started.deviceCode,
    userCode: started.userCode,
    verificationUrl: `${state.baseUrl}/auth/device?code=${started.userCode}`,
    expiresAt: new Date(started.endsAtMs).toISOString(),
    intervalSeconds,
  }
}

async function take({ body }: OperationRequest, platform: Platform) {
  const { devices, tokens } = devicesOf(platform)
  const taken = await devices.take((body as { deviceCode: string }).deviceCode)
  if (taken === 'pending') return new DirectAnswer(202, { status: 'pending' })
  const { name, expiresAtMs, by } = taken
  return toIssuedToken(
    await tokens.create({
      name,
      principal: { type: 'USER', id: by.username },
      method: by.method,
      createdBy: by.username,
      expiresAtMs,
      limits: { readOnly: false },
    }),
  )
}

async function decide(
  { body, state }: OperationRequest,
  platform: Platform,
): Promise<DirectAnswer> {
  const { devices } = devicesOf(platform)
  if (!(await mayMintTokens(state, platform))) {
    throw new GatewayError(
      'PERMISSION_DENIED',
      'You may not create API tokens. Ask for a role named in api-tokens.allowed-minting-roles.',
    )
  }
  const form = new URLSearchParams(Buffer.isBuffer(body) ? body.toString('utf8') : '')
  const decision = form.get('decision')
  if (decision !== 'allow' && decision !== 'reject')
    throw new GatewayError('BAD_ARGUMENT', '"decision" is allow or reject.')
  const user = state.user as NonNullable<typeof state.user>
  const by = decision === 'allow' ? { username: user.username, method: user.method } : undefined
  const isDone = await devices.decide(form.get('code') ?? '', by)
  const page = isDone ? showDecision(platform.site, decision) : askCode(platform.site, true)
  return new DirectAnswer(isDone ? 200 : 409, page.html, page.headers)
}

function askCode({ brand, contextPath }: Site, isUnknown: boolean) {
  const notice = isUnknown
    ? '<p class="notice alert" role="alert">There is no such code, or it was used or has expired.</p>'
    : ''
  return createPage(
    'Confirm a login',
    `
    <h1>Confirm a login</h1>
    <p class="lead">Type the code that the command line shows.</p>
    <form method="get" action="${escapeHtml(contextPath)}/auth/device">
      <label for="code">Code</label>
      <input id="code" name="code" autocomplete="off" autocapitalize="characters" spellcheck="false" required autofocus>
      <button type="submit">Continue</button>
    </form>
    <div class="below">${notice}</div>`,
    '',
    brand,
  )
}

function askConsent(
  { brand, contextPath }: Site,
  code: string,
  { name, device: machine, address, expiresAtMs }: DeviceRequest,
  username: string,
) {
  const end =
    expiresAtMs === undefined
      ? 'as late as allowed'
      : new Date(expiresAtMs).toISOString().slice(0, 10)
  return createPage(
    'Confirm a login',
    `
    <h1>Log in a command line?</h1>
    <p class="lead">The machine <b>${escapeHtml(machine)}</b> at ${escapeHtml(address)} asks for an API token of
    ${escapeHtml(username)}, with which it may do all that you may.</p>
    <p>Token: ${escapeHtml(name)}<br>Ends: ${end}</p>
    <p>Allow it only if you have started it, and it shows the code <b>${escapeHtml(code.toUpperCase())}</b>.</p>
    <form method="post" action="${escapeHtml(contextPath)}/auth/device/decision">
      <input type="hidden" name="code" value="${escapeHtml(code)}">
      <button type="submit" name="decision" value="allow">Allow</button>
      <button type="submit" name="decision" value="reject">Reject</button>
    </form>`,
    '',
    brand,
  )
}

function showDecision({ brand }: Site, decision: 'allow' | 'reject') {
  const text =
    decision === 'allow'
      ? 'The command line is logged in. You may close this page.'
      : 'The login is rejected. You may close this page.'
  return createPage(
    'Confirm a login',
    `\n    <h1>Done</h1>\n    <p class="lead">${text}</p>`,
    '',
    brand,
  )
}

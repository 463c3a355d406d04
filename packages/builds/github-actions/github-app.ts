/** Credentials for Actions: a token, or that of an installation of a GitHub App. */
import { createPrivateKey } from 'node:crypto'
import { sharedWork } from '@fairlead/base/concurrency/shared-work.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { createServerCalls } from '../server-calls.ts'
import type { ActionsHost, ActionsKind, GithubApp } from './actions-kind.ts'

type CredentialHeaders = () => Promise<Readonly<Record<string, string>>>

/** Tokens of installations live for an hour; a new one is fetched before. */
const renewBeforeMs = 5 * 60_000
/** Clocks differ. */
const skewMs = 60_000
const jwtLifeMs = 9 * 60_000

const toToken = shape({ token: textOf, expires_at: textOf })

export function createCredentials(
  kind: ActionsKind,
  host: ActionsHost,
  context: BackendContext,
): CredentialHeaders {
  const { token, app } = host
  if (app !== undefined) return installationCredentials(app, host, kind, context)
  const headers = {
    ...kind.headers,
    ...(token !== undefined && { authorization: `${kind.scheme} ${token}` }),
  }
  return async () => headers
}

function installationCredentials(
  app: GithubApp,
  { name, address, tls }: ActionsHost,
  { headers, prefix, basePath }: ActionsKind,
  context: BackendContext,
): CredentialHeaders {
  const settingKey = `${prefix}.hosts`
  const credentials = async () => ({
    ...headers,
    authorization: `Bearer ${await createJwt(app, context.now())}`,
  })
  const advice =
    'The app needs an installation with the repository permission "Actions: read and write".'
  const calls = createServerCalls(
    { name, address: address + basePath, settingKey, advice, credentials, tls },
    context,
  )
  let current: { readonly token: string; readonly untilMs: number } | undefined
  const load = sharedWork(async () => {
    const answer = await calls.send(
      pathTo`/app/installations/${app.installationId}/access_tokens`,
      { method: 'POST', json: {} },
    )
    const { token, expires_at: end = '' } = toToken(JSON.parse(answer.text))
    if (token === undefined)
      throw new PortError(
        502,
        `The build server "${name}" gave no token for the app of ${settingKey}.`,
      )
    current = { token, untilMs: Date.parse(end) || 0 }
    return token
  })
  return async () => {
    const isFresh = current !== undefined && current.untilMs - renewBeforeMs > context.now()
    const token = isFresh && current !== undefined ? current.token : await load()
    return { ...headers, authorization: `Bearer ${token}` }
  }
}

/** @see https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app */
async function createJwt({ id, privateKey }: GithubApp, nowMs: number): Promise<string> {
  const { SignJWT } = await import('jose')
  return new SignJWT()
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(id)
    .setIssuedAt(new Date(nowMs - skewMs))
    .setExpirationTime(new Date(nowMs + jwtLifeMs))
    .sign(createPrivateKey(privateKey))
}

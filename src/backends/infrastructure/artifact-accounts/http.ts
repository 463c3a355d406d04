/** Artifacts that an address names: `http/file`, as clouddriver has them. */
import { z } from 'zod'
import { type JsonObject, textOf } from '../../../json/values.ts'
import { off, type SettingsReport, setting, settings } from '../../../settings/setting.ts'
import { type BackendContext, BackendError } from '../../backend.ts'
import { type CallOutside, createOutsideCalls, type OutsideAnswer } from '../../outside/call-outside.ts'
import { defaultOutsideSettings } from '../../outside/settings.ts'
import { type ArtifactAccountType, fetchTimeoutMs, maxArtifactBytes } from './account-type.ts'
import type { ArtifactAccount } from './artifact-account.ts'
import { type AccountCredentials, authorizationFor, checkArtifactAccounts, credentialKeys } from './credentials.ts'
import { toFetchError } from './fetch-error.ts'

const accountsKey = 'artifacts.http.accounts'

const httpKeys = settings({
  enabled: setting('artifacts.http.enabled', off).describe(
    'Fetch artifacts of type `http/file`. The account `no-auth-http-account` needs no settings.',
  ),
  accounts: setting(accountsKey, z.array(z.strictObject(credentialKeys)).default([])).describe(
    'Accounts for artifacts that need a login.',
  ),
})

type HttpSettings = readonly AccountCredentials[]

const maxRedirects = 5

export const httpArtifacts: ArtifactAccountType = {
  id: 'http',
  keys: httpKeys.keys,
  toSettings(keys: object, report: SettingsReport): HttpSettings | undefined {
    const { enabled, accounts } = httpKeys.read(keys)
    if (!enabled) return undefined
    checkArtifactAccounts(accountsKey, accounts, report)
    return accounts
  },
  open: (accounts, context) => openHttpAccounts(accounts as HttpSettings, context),
}

function openHttpAccounts(accounts: HttpSettings, { settings: { outside } }: BackendContext): ArtifactAccount[] {
  const call = createOutsideCalls(outside ?? defaultOutsideSettings, {
    maxAnswerBytes: maxArtifactBytes,
    timeoutMs: fetchTimeoutMs,
    caller: 'Artifact accounts',
  })
  const open = (account: AccountCredentials): ArtifactAccount => ({
    name: account.name,
    types: ['http/file'],
    fetch: (artifact) => fetchFile(artifact, account, call),
  })
  return [{ name: 'no-auth-http-account' }, ...accounts].map(open)
}

/** Follows redirects, each of which the restrictions must allow; another host gets no credentials. */
async function fetchFile(artifact: JsonObject, account: AccountCredentials, call: CallOutside): Promise<Buffer> {
  const reference = textOf(artifact['reference'])
  if (reference === undefined) throw new BackendError(400, 'An artifact of type http/file needs its address as "reference".')
  let url = reference
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const answer = await callOnce(url, { reference, account, call })
    const location = answer.headers['location']
    if (answer.status < 300 || answer.status >= 400 || typeof location !== 'string') return contentOf(answer, url)
    url = URL.parse(location, url)?.href ?? location
  }
  throw new BackendError(502, `${reference} redirects more than ${maxRedirects} times.`)
}

interface FileFetch {
  readonly reference: string
  readonly account: AccountCredentials
  readonly call: CallOutside
}

async function callOnce(url: string, { reference, account, call }: FileFetch): Promise<OutsideAnswer> {
  const [target, first] = [URL.parse(url), URL.parse(reference)]
  const authorization = target?.origin === first?.origin ? await authorizationFor(account, target?.hostname ?? '') : undefined
  const headers = { 'user-agent': 'fairlead', accept: '*/*', ...(authorization !== undefined && { authorization }) }
  try {
    return await call({ method: 'GET', url, headers, body: undefined })
  } catch (error) {
    throw toFetchError(error)
  }
}

/** @throws {BackendError} 404 for a file that does not exist, else 502 */
function contentOf({ status, bytes }: OutsideAnswer, url: string): Buffer {
  if (status >= 200 && status < 300) return bytes
  const place = URL.parse(url)
  const advice = status === 401 || status === 403 ? ' Choose an artifact account whose credentials allow it.' : ''
  const text = `The artifact cannot be fetched: ${place?.host}${place?.pathname} answered with ${status}.${advice}`
  throw new BackendError(status === 404 || status === 410 ? 404 : 502, text)
}

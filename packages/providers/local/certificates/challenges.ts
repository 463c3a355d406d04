/** Proofs that a host is this machine's: chosen, shown by the front or by DNS, and taken away again. */

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { AcmeProblem } from './acme-authority.ts'
import { createAlpnCertificate } from './certificate-request.ts'
import type { ShownProof } from './certificate-store.ts'
import type { CertificateFront } from './front.ts'
import { type AcmeSettings, type ChallengeType, challengeTypes } from './settings.ts'

interface Challenge {
  readonly type: ChallengeType
  readonly url: string
  readonly token: string
  /** The authority looks at it already. */
  readonly isAnswered: boolean
}

/**
 * The next one where several are offered and the last attempts have failed: a proxy that ends TLS lets HTTP through.
 *
 * @throws {AcmeProblem} when none of the offered ones can be met
 */
export function chooseChallenge(
  authorization: JsonObject,
  {
    failures,
    challenge: only,
    dnsHook,
  }: Pick<AcmeSettings, 'challenge' | 'dnsHook'> & { failures: number },
): Challenge {
  const offered = (authorization['challenges'] as JsonObject[]).filter(isObject)
  const usable = challengeTypes.flatMap((type) => {
    if (
      only !== undefined
        ? type !== only && authorization['wildcard'] !== true
        : isHookMissing(type, dnsHook)
    )
      return []
    const found = offered.find((challenge) => challenge['type'] === type)
    if (found === undefined) return []
    const isAnswered = found['status'] === 'processing'
    return { type, url: String(found['url']), token: String(found['token']), isAnswered }
  })
  const chosen = usable.find(({ isAnswered }) => isAnswered) ?? usable[failures % usable.length]
  if (chosen !== undefined) return chosen
  const names = offered.map(({ type }) => String(type)).join(', ')
  throw new AcmeProblem(
    authorization['wildcard'] === true
      ? 'A wildcard needs the challenge DNS-01: set local.front.acme.dns.hook to a program that sets TXT records.'
      : `The authority offers the challenges ${names}, and none of them can be used here; correct local.front.acme.challenge.`,
    { type: 'challenge' },
  )
}

function isHookMissing(type: ChallengeType, hook: string | undefined): boolean {
  return type === 'dns-01' && hook === undefined
}

/** What the front or a TXT record shows. @see RFC 8555, sections 8.3 and 8.4; RFC 8737 */
export function toProof(
  host: string,
  { type, token }: Challenge,
  keyAuthorization: string,
): ShownProof {
  if (type !== 'dns-01') return { type, name: type === 'http-01' ? token : host }
  const value = createHash('sha256').update(keyAuthorization).digest('base64url')
  return { type, name: `_acme-challenge.${host}`, value }
}

interface ChallengeParts {
  readonly front: CertificateFront
  readonly settings: AcmeSettings
  readonly now: () => number
}

/** Resolves once the authority can see it. @throws {AcmeProblem} */
export async function showProof(
  proof: ShownProof,
  keyAuthorization: string,
  { front, settings, now }: ChallengeParts,
): Promise<void> {
  if (proof.type === 'dns-01') return callDnsHook(settings, 'set', proof)
  if (proof.type === 'http-01') front.setHttpChallenge(proof.name, keyAuthorization)
  else {
    const { certificate, key } = await createAlpnCertificate(proof.name, keyAuthorization, now())
    front.setTlsChallenge(proof.name, certificate, key)
  }
  if (await front.isTaken()) return
  throw new AcmeProblem(
    'The front does not answer challenges, because the agent of this machine has not taken them over; see its log.',
    { type: 'front' },
  )
}

/** @throws {AcmeProblem} */
export async function clearProof(
  proof: ShownProof,
  { front, settings }: Pick<ChallengeParts, 'front' | 'settings'>,
): Promise<void> {
  if (proof.type === 'dns-01') await callDnsHook(settings, 'clear', proof)
  else front.clearChallenge(proof.type, proof.name)
}

const maxErrorLength = 300

/**
 * The operator's program that sets and clears TXT records. Called as `HOOK set NAME VALUE` and `HOOK clear NAME VALUE`, with no more of Fairlead's environment than where programs are.
 *
 * @throws {AcmeProblem} when it fails, or does not end in time: then it is killed with all that it has started
 */
async function callDnsHook(
  { dnsHook, dnsHookMs }: Pick<AcmeSettings, 'dnsHook' | 'dnsHookMs'>,
  verb: 'set' | 'clear',
  { name, value }: { readonly name: string; readonly value: string },
): Promise<void> {
  if (dnsHook === undefined)
    throw new AcmeProblem(
      'The challenge DNS-01 needs a program that sets TXT records: set local.front.acme.dns.hook.',
      { type: 'dnsHook' },
    )
  const fail = (what: string) =>
    new AcmeProblem(`${dnsHook} ${verb} ${name} ${what}`, { type: 'dnsHook' })
  const { PATH, HOME, LANG } = process.env
  const child = spawn(dnsHook, [verb, name, value], {
    cwd: '/',
    env: { PATH, HOME, LANG },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-maxErrorLength)
  })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    killGroup(child.pid)
  }, dnsHookMs)
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
    if (isLate) throw fail(`did not end within ${dnsHookMs / 1000} seconds.`)
    if (code !== 0) throw fail(`failed with ${signal ?? `exit code ${code}`}: ${errors.trim()}`)
  } catch (error) {
    if (error instanceof AcmeProblem) throw error
    throw fail(`cannot be started: ${(error as Error).message}`)
  } finally {
    clearTimeout(timer)
    killGroup(child.pid)
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of it has ended.
  }
}

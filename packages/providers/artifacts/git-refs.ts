/** Branches and tags of Git repositories, as their servers list them: over HTTP without a process, over SSH by Git. */

import { createHash } from 'node:crypto'
import { authorizationFor } from '@fairlead/base/outside/account-credentials.ts'
import {
  type CallOutside,
  createOutsideCalls,
  type OutsideAnswer,
} from '@fairlead/base/outside/call-outside.ts'
import { type GitAccount, repositoryUrl, withGit } from '@fairlead/base/outside/git-access.ts'
import { withoutUserinfo } from '@fairlead/base/outside/git-repository.ts'
import { ProgramError } from '@fairlead/base/outside/run-program.ts'
import type { OutsideSettings } from '@fairlead/base/outside/settings.ts'
import { toFetchError } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { LRUCache } from 'lru-cache'

/** Ends a section, and a message. */
const flush = '0000'
/** Separates the capabilities of a request from its arguments. */
const delimiter = '0001'

function formatCommand(capabilities: readonly string[], args: readonly string[]): string {
  return [...capabilities.map(formatLine), delimiter, ...args.map(formatLine), flush].join('')
}

function formatLine(line: string): string {
  return `${(Buffer.byteLength(line) + 5).toString(16).padStart(4, '0')}${line}\n`
}

/**
 * All lines of a message without their line ends; flushes and delimiters are left out.
 *
 * @throws {RangeError} when it is no such message
 */
function parsePktLines(message: Buffer): string[] {
  const lines: string[] = []
  for (let at = 0; at < message.length; ) {
    const digits = message.toString('latin1', at, at + 4)
    const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : Number.NaN
    if (Number.isNaN(length) || length === 3 || at + length > message.length)
      throw new RangeError('It is no message of Git.')
    if (length >= 4) lines.push(message.toString('utf8', at + 4, at + length).replace(/\n$/, ''))
    at += Math.max(length, 4)
  }
  return lines
}

/** Commits by the names of branches and tags; of a tag with a message, the commit that it leads to. */
type GitRefs = Readonly<Record<string, string>>

export interface GitRepository {
  readonly url: string
  readonly account: GitAccount
}

const maxBytes = 32 * 1024 * 1024
const gitTimeoutMs = 20_000
const prefixes = ['refs/heads/', 'refs/tags/']
/** Servers that list only some refs, on request: what they need is known from their first answer. */
const mostServers = 1000

export class GitRefReader {
  readonly #outside: OutsideSettings
  readonly #call: CallOutside
  /** Object formats of repositories whose server knows version 2, by address. */
  readonly #formats = new LRUCache<string, string>({ max: mostServers })

  constructor(outside: OutsideSettings) {
    this.#outside = outside
    this.#call = createOutsideCalls(outside, {
      maxAnswerBytes: maxBytes,
      timeoutMs: gitTimeoutMs,
      caller: 'Git triggers',
    })
  }

  /** @throws {PortError} 400, 404, 502 or 504, saying what failed and what to do */
  async read(repository: GitRepository): Promise<GitRefs> {
    const { protocol } = repositoryUrl(repository.url)
    return protocol !== 'ssh:' ? this.#readHttp(repository) : readByGit(repository, this.#outside)
  }

  async #readHttp({ url, account }: GitRepository): Promise<GitRefs> {
    const base = url.endsWith('/') ? url.slice(0, -1) : url
    const host = URL.parse(base)?.hostname ?? ''
    const authorization = await authorizationFor(account, host)
    const headers = {
      'user-agent': 'git/fairlead',
      'git-protocol': 'version=2',
      ...(authorization && { authorization }),
    }
    let format = this.#formats.get(base)
    if (format === undefined) {
      const lines = parse(
        await this.#get(`${base}/info/refs?service=git-upload-pack`, headers),
        base,
      )
      const hasService = lines[0]?.startsWith('# service=git-upload-pack') === true
      // Git's own server leaves out the service in version 2.
      const isVersion2 = lines[hasService ? 1 : 0] === 'version 2'
      if (!hasService && !isVersion2) throw noGit(base)
      if (!isVersion2) return refsOf(lines.map(parseAdvertised))
      format =
        lines.find((line) => line.startsWith('object-format='))?.slice('object-format='.length) ??
        'sha1'
    }
    try {
      const refs = refsOf(
        parse(await this.#post(`${base}/git-upload-pack`, headers, format), base).map(parseListed),
      )
      this.#formats.set(base, format)
      return refs
    } catch (error) {
      this.#formats.delete(base)
      throw error
    }
  }

  async #get(url: string, headers: Record<string, string>): Promise<OutsideAnswer> {
    return check(
      await this.#ask({
        method: 'GET',
        url,
        headers: { ...headers, accept: '*/*' },
        body: undefined,
      }),
      url,
    )
  }

  async #post(
    url: string,
    headers: Record<string, string>,
    format: string,
  ): Promise<OutsideAnswer> {
    const capabilities = [
      'command=ls-refs',
      'agent=fairlead',
      ...(format === 'sha1' ? [] : [`object-format=${format}`]),
    ]
    const body = formatCommand(capabilities, [
      'peel',
      ...prefixes.map((prefix) => `ref-prefix ${prefix}`),
    ])
    const types = {
      'content-type': 'application/x-git-upload-pack-request',
      accept: 'application/x-git-upload-pack-result',
    }
    return check(
      await this.#ask({ method: 'POST', url, headers: { ...headers, ...types }, body }),
      url,
    )
  }

  async #ask(request: Parameters<CallOutside>[0]): Promise<OutsideAnswer> {
    try {
      return await this.#call(request)
    } catch (error) {
      throw toRepositoryError(toFetchError(error))
    }
  }
}

/** Known refs need not be sent again. */
export function digestOf(refs: GitRefs): string {
  return createHash('sha256').update(JSON.stringify(refs)).digest('base64url')
}

function toRepositoryError(error: unknown): unknown {
  if (!(error instanceof PortError)) return error
  return new PortError(
    error.status,
    error.message.replace(/^The artifact cannot be fetched: /, 'The repository cannot be read: '),
  )
}

/** @throws {PortError} */
function check(answer: OutsideAnswer, url: string): OutsideAnswer {
  const { status, headers } = answer
  if (status === 200) return answer
  const place = placeOf(url)
  const text = `The repository cannot be read: ${place} answered with ${status}.`
  if (status === 401 || status === 403)
    throw new PortError(
      502,
      `${text} Choose an artifact account for Git whose credentials allow it, as "artifactAccount".`,
    )
  if (status === 404)
    throw new PortError(
      404,
      `${text} Correct the address, or choose an artifact account that may read it.`,
    )
  const target =
    typeof headers['location'] === 'string' ? headers['location'].split('/info/refs')[0] : undefined
  if (status > 300 && status < 400 && target !== undefined)
    throw new PortError(
      502,
      `${text} It has moved to ${withoutUserinfo(target)}: use that address.`,
    )
  throw new PortError(502, text)
}

function parse({ bytes }: OutsideAnswer, url: string): string[] {
  try {
    return parsePktLines(bytes)
  } catch {
    throw noGit(url)
  }
}

function noGit(url: string): PortError {
  return new PortError(
    502,
    `The repository cannot be read: ${placeOf(url)} did not answer as Git does. Correct the address.`,
  )
}

function placeOf(url: string): string {
  const { host = '', pathname = '' } = URL.parse(url) ?? {}
  return `${host}${pathname.replace(/\/(?:info\/refs|git-upload-pack)$/, '')}`
}

/** A ref and its commit; `peeled` follows the one before. */
type Listed = readonly [name: string, commit: string, peeled?: string | undefined] | undefined

/** Version 2: `commit name peeled:commit`. */
function parseListed(line: string): Listed {
  const [, commit, name, peeled] =
    /^([0-9a-f]{40,64}) (\S+)(?:.* peeled:([0-9a-f]{40,64}))?/.exec(line) ?? []
  return commit === undefined || name === undefined ? undefined : [name, commit, peeled]
}

/** Older versions, and the output of Git: `commit name`, and `name^{}` for what a tag leads to. Capabilities follow a NUL. */
function parseAdvertised(line: string): Listed {
  const [, commit, name] = /^([0-9a-f]{40,64})[ \t]([^\s\0]+)/.exec(line) ?? []
  return commit === undefined || name === undefined ? undefined : [name, commit]
}

function refsOf(listed: readonly Listed[]): GitRefs {
  const refs: Record<string, string> = {}
  for (const [name, commit, peeled] of listed.filter((each) => each !== undefined)) {
    if (prefixes.some((prefix) => name.startsWith(prefix)))
      refs[name.replace(/\^\{\}$/, '')] = peeled ?? commit
  }
  return refs
}

async function readByGit(
  { url, account }: GitRepository,
  outside: OutsideSettings,
): Promise<GitRefs> {
  const run = { account, outside, timeLimitMs: gitTimeoutMs, maxOutputBytes: maxBytes }
  try {
    const list = ['ls-remote', '--heads', '--tags', '--end-of-options']
    const output = await withGit(url, run, (git, address) => git(...list, address))
    return refsOf(output.toString('utf8').split('\n').map(parseAdvertised))
  } catch (error) {
    throw toRepositoryError(toGitFailure(error, url))
  }
}

/** A failure of Git, as an answer. */
export function toGitFailure(error: unknown, url: string): unknown {
  if (!(error instanceof ProgramError)) return error
  const { fault, message, errors } = error
  if (fault === 'missing')
    return new PortError(500, 'Git is not installed on this machine. Install it to poll over SSH.')
  if (fault === 'machine') return new PortError(500, `Git ${message}`)
  const text =
    `The repository ${withoutUserinfo(url)} cannot be read: git ${message}. ${withoutUserinfo(errors)}`.trim()
  return new PortError(fault === 'timeout' ? 504 : 502, text.slice(0, 1000))
}

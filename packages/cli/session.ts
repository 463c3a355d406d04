/** Who and where: instance, token, application and environment of a command, by flag, variable, app file and context. */

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { nearestName } from '@fairlead/base/names/edit-distance.ts'
import { ConfigFile, type Context, type StoredConfig } from './config-file.ts'
import { exitCodes, Failure, misuse } from './failure.ts'

/** Flags that every command has. */
export interface GlobalFlags {
  readonly app?: string | undefined
  readonly env?: string | undefined
  readonly context?: string | undefined
  readonly url?: string | undefined
  readonly output?: 'text' | 'json' | undefined
  readonly yes?: boolean | undefined
  readonly verbose?: boolean | undefined
}

/** An instance to talk to. The token was stored or given for exactly this address. */
export interface Target {
  /** Without a trailing slash. */
  readonly url: string
  readonly token: string | undefined
  /** Name of the context, if the configuration file selected the instance. */
  readonly context?: string
  /** ISO 8601. */
  readonly expiresAt?: string | undefined
}

interface FoundAppFile {
  readonly path: string
  /** The folder that holds `.fairlead`. */
  readonly folder: string
}

const appFileName = '.fairlead/app.yml'

export class Session {
  readonly flags: GlobalFlags
  readonly #env: NodeJS.ProcessEnv
  readonly #cwd: string
  readonly file: ConfigFile

  constructor(flags: GlobalFlags, env: NodeJS.ProcessEnv, cwd: string) {
    this.flags = flags
    this.#env = env
    this.#cwd = cwd
    this.file = new ConfigFile(env)
  }

  /** The configuration file is read only if neither flag nor variable gives the address. @throws {Failure} */
  target(): Target {
    const { url, context } = this.flags
    if (url !== undefined && context !== undefined)
      throw misuse('--url and --context both select the instance.', 'Give one of them.')
    if (url !== undefined) return this.#given(toInstanceUrl(url, '--url'))
    if (context !== undefined) return this.#known(context)
    const { FAIRLEAD_URL: fromVariable, FAIRLEAD_CONTEXT: contextOfVariable } = this.#env
    if (fromVariable) return this.#given(toInstanceUrl(fromVariable, 'FAIRLEAD_URL'))
    if (this.#env['FAIRLEAD_TOKEN'])
      throw misuse(
        'FAIRLEAD_TOKEN is set, and nothing says for which instance.',
        'Set FAIRLEAD_URL as well.',
      )
    return this.#known(contextOfVariable || undefined)
  }

  /** The application. @throws {Failure} with 3 when nothing names it */
  app(): string {
    const given = this.flags.app ?? (this.#env['FAIRLEAD_APP'] || undefined)
    if (given !== undefined) return given
    const found = this.appFile()
    if (found === undefined)
      throw misuse(
        'No application is named, and there is no .fairlead/app.yml here or above.',
        'Name one with --app, or write the file: fairlead init',
      )
    const text = readFileSync(found.path, 'utf8')
    const name = /^application:[ \t]*(["']?)([\w-]+)\1[ \t]*(?:#.*)?$/m.exec(text)?.[2]
    if (name !== undefined) return name
    const keys = [...text.matchAll(/^([\w-]+):/gm)].map(([, key = '']) => key)
    const nearest = nearestName(keys, 'application')
    throw misuse(
      `${found.path} names no application${nearest === undefined ? '' : `: "${nearest}" is not a known key`}.`,
      'Begin it with: application: NAME. All that is wrong with it: fairlead validate',
    )
  }

  /** The environment if a flag or variable names one; else the command takes the first of the app file. */
  environment(): string | undefined {
    return this.flags.env ?? (this.#env['FAIRLEAD_ENV'] || undefined)
  }

  /** The nearest app file, from the working directory upwards to the root of the repository. */
  appFile(): FoundAppFile | undefined {
    for (let folder = this.#cwd; ; folder = dirname(folder)) {
      const path = join(folder, appFileName)
      if (existsSync(path)) return { path, folder }
      if (existsSync(join(folder, '.git')) || dirname(folder) === folder) return undefined
    }
  }

  /** A token of the variable belongs to the address of the variable, one of the file to its own. */
  #given(url: string): Target {
    const { FAIRLEAD_TOKEN: token, FAIRLEAD_URL: urlOfToken } = this.#env
    if (token) {
      const belongs = !urlOfToken || toInstanceUrl(urlOfToken, 'FAIRLEAD_URL') === url
      return { url, token: belongs ? token : undefined }
    }
    const stored = Object.entries(this.file.load().contexts).find(([, each]) => each.url === url)
    return stored === undefined ? { url, token: undefined } : toTarget(...stored)
  }

  #known(name: string | undefined): Target {
    const config = this.file.load()
    const chosen = name ?? config.current
    if (chosen === undefined)
      throw new Failure(
        exitCodes.denied,
        'NOT_LOGGED_IN',
        'You are not logged in to any instance.',
        {
          remedy: 'Log in with: fairlead login URL',
        },
      )
    return toTarget(chosen, findContext(config, chosen))
  }
}

/** @throws {Failure} with 3 for an unknown name */
export function findContext({ contexts }: StoredConfig, name: string): Context {
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined
  if (found !== undefined) return found
  const known = Object.keys(contexts).join(', ') || 'none'
  throw misuse(
    `There is no context "${name}"; known: ${known}.`,
    'Add one with: fairlead login URL',
  )
}

function toTarget(name: string, { url, token, expiresAt }: Context): Target {
  return { url, token, context: name, expiresAt }
}

/** @returns without trailing slash, query and fragment. @throws {Failure} with 3 */
export function toInstanceUrl(text: string, source: string): string {
  const complete = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `${assumedScheme(text)}://${text}`
  const url = URL.parse(complete)
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '')
    throw misuse(`${source} is no address: "${text}".`, 'Write it as https://fairlead.example')
  if (url.username !== '' || url.password !== '')
    throw misuse(`${source} holds a user or password.`, 'Leave it out; log in with: fairlead login')
  return `${url.origin}${url.pathname}`.replace(/(?<!\/)\/+$/, '')
}

/** A name without a scheme is a server on the internet, unless it is this machine. */
function assumedScheme(text: string): 'http' | 'https' {
  return /^(localhost|127\.|\[::1\])/.test(text) ? 'http' : 'https'
}

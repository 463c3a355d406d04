/** `fairlead login` and `logout`: an API token made for this machine, kept for the user alone. */
import { hostname } from 'node:os'
import { text as readText } from 'node:stream/consumers'
import type { Client } from '../client.ts'
import { type CommandContext, defineCommand } from '../command.ts'
import type { Context, StoredConfig } from '../config-file.ts'
import { connectTo } from '../connect-to.ts'
import { type IssuedToken, logInByDevice } from '../device-login.ts'
import { exitCodes, Failure, misuse } from '../failure.ts'
import { toInstanceUrl } from '../session.ts'

/** Where `npm start` serves. */
const defaultUrl = 'http://localhost:8084'
const dayMs = 86_400_000

interface CurrentUser {
  readonly username?: string
}

interface LoginValues {
  readonly user: string | undefined
  readonly name: string | undefined
  readonly days: number | undefined
  readonly 'token-stdin': boolean
}

export const login = defineCommand({
  name: 'login',
  summary: 'log in to an instance, and keep a token for it',
  group: 'login',
  words: '[url]',
  options: {
    user: { type: 'text', value: 'NAME', summary: 'log in with this user and a password' },
    name: { type: 'text', value: 'CONTEXT', summary: 'name of the context; else the host' },
    days: {
      type: 'number',
      value: 'N',
      summary: 'life of the token; as long as allowed, at most 90',
    },
    'token-stdin': {
      type: 'switch',
      summary: 'keep an API token that is read from standard input',
    },
  },
  help: `Without --user, the browser opens, or an address and a code are printed to be opened elsewhere.
The token is kept in $XDG_CONFIG_HOME/fairlead/config.json (~/.config), for you alone. Scripts set FAIRLEAD_URL and
FAIRLEAD_TOKEN instead.`,
  run: async (context, values) => {
    const { session, output, words } = context
    const config = session.file.load()
    const url = chooseUrl(words[0] ?? session.flags.url, context, config)
    const client = await connectTo({ url, token: undefined }, output)
    try {
      const issued = await obtainToken(client, context, values)
      const user = await findUser(client, issued?.token, context)
      const name = values.name ?? nameOf(config, url)
      const stored: Context = {
        url,
        user,
        token: issued?.token,
        tokenId: issued?.id,
        expiresAt: issued?.expiresAt,
      }
      session.file.save({ current: name, contexts: { ...config.contexts, [name]: stored } })
      const { expiresAt } = stored
      output.result({ context: name, url, user, expiresAt }, [
        `Logged in to ${url} as ${user}.`,
        `context  ${name}`,
        ...(expiresAt === undefined ? [] : [`token ends ${expiresAt.slice(0, 10)}`]),
      ])
    } finally {
      client.close()
    }
  },
})

function chooseUrl(
  given: string | undefined,
  { env, session }: CommandContext,
  config: StoredConfig,
) {
  if (given !== undefined) return toInstanceUrl(given, 'The address')
  const { context = config.current } = session.flags
  const known = context === undefined ? undefined : config.contexts[context]
  return env['FAIRLEAD_URL']
    ? toInstanceUrl(env['FAIRLEAD_URL'], 'FAIRLEAD_URL')
    : (known?.url ?? defaultUrl)
}

/** @returns undefined where the instance asks for no login */
async function obtainToken(
  client: Client,
  context: CommandContext,
  values: LoginValues,
): Promise<IssuedToken | undefined> {
  if (values['token-stdin']) {
    const token = (await readText(process.stdin)).trim()
    if (token === '' || /\s/.test(token))
      throw misuse('Standard input holds no API token.', 'Pipe the token, and nothing else.')
    return { token }
  }
  const current = await client.get<CurrentUser | undefined>('/auth/user')
  if (current?.username === 'anonymous') return undefined
  const days = values.days
  if (days !== undefined && days < 1) throw misuse('--days is at least 1.')
  const wanted = {
    name: `${hostname()} ${new Date().toISOString().slice(0, 19)}`.slice(-64),
    ...(days !== undefined && { expiresAt: new Date(Date.now() + days * dayMs).toISOString() }),
  }
  return values.user === undefined
    ? logInByDevice(client, context, wanted)
    : logInByPassword(client, context, values.user, wanted)
}

/** The password goes to the instance once, and is not kept. */
async function logInByPassword(
  client: Client,
  { questions }: CommandContext,
  user: string,
  wanted: object,
): Promise<IssuedToken> {
  const password = await questions.secret({
    message: `Password of ${user}:`,
    flag: '--token-stdin, and an API token',
  })
  const credentials = Buffer.from(`${user}:${password}`).toString('base64')
  try {
    return await client.post<IssuedToken>('/auth/apiTokens', wanted, {
      headers: { authorization: `Basic ${credentials}` },
    })
  } catch (error) {
    if (!(error instanceof Failure) || !/^(CREDENTIALS_REFUSED|HTTP_401)$/.test(error.code))
      throw error
    throw new Failure(error.exit, error.code, 'User name or password is wrong.', {
      remedy: 'Try again, or log in with the browser: fairlead login without --user',
    })
  }
}

/** @throws {Failure} with 4 when the token does not count there */
async function findUser(client: Client, token: string | undefined, { output }: CommandContext) {
  const own = await connectTo({ url: client.url, token }, output)
  try {
    const user = await own.get<CurrentUser | undefined>('/auth/user')
    if (user?.username !== undefined) return user.username
    throw new Failure(
      exitCodes.denied,
      'TOKEN_REFUSED',
      `${client.url} does not accept this token.`,
      {
        remedy: 'Check that it belongs to this instance and has not ended.',
      },
    )
  } finally {
    own.close()
  }
}

/** The context of the address if there is one, else the host and, where that is taken, its port. */
function nameOf({ contexts }: StoredConfig, url: string): string {
  const same = Object.entries(contexts).find(([, each]) => each.url === url)
  if (same !== undefined) return same[0]
  const { hostname: host, host: withPort } = new URL(url)
  return [host, withPort].find((name) => contexts[name] === undefined) ?? url
}

export const logout = defineCommand({
  name: 'logout',
  summary: 'revoke the token of an instance and forget it',
  group: 'login',
  run: async ({ session, output }) => {
    const config = session.file.load()
    const name = session.flags.context ?? config.current
    const known = name === undefined ? undefined : config.contexts[name]
    if (name === undefined || known === undefined)
      throw new Failure(exitCodes.denied, 'NOT_LOGGED_IN', 'You are not logged in.', {
        remedy: 'Known instances: fairlead context list',
      })
    const { url, token, tokenId } = known
    const client = await connectTo({ url, token }, output)
    let isRevoked = false
    try {
      if (token !== undefined && tokenId !== undefined) {
        await client.delete(`/auth/apiTokens/${encodeURIComponent(tokenId)}`)
        isRevoked = true
      }
    } catch (error) {
      // A token that has ended needs no revocation.
      if (!(error instanceof Failure) || error.exit !== exitCodes.denied) throw error
    } finally {
      client.close()
    }
    const { [name]: _removed, ...contexts } = config.contexts
    session.file.save({ current: config.current === name ? undefined : config.current, contexts })
    const outcome = isRevoked
      ? 'the token is revoked and forgotten'
      : token === undefined
        ? 'there was no token'
        : 'the token is forgotten'
    output.result({ context: name, url, revoked: isRevoked }, `Logged out of ${url}: ${outcome}.`)
    if (token !== undefined && tokenId === undefined)
      output.note('The token came from standard input: revoke it where it was made.')
  },
})

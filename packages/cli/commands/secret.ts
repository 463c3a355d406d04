/** `fairlead secret` and `env`: variables of an app and where they come from; no value of a secret is ever shown. */
import { readFileSync } from 'node:fs'
import { text as readText } from 'node:stream/consumers'
import { type CommandContext, defineCommand } from '../command.ts'
import { misuse } from '../failure.ts'
import { pathOf } from '../path-of.ts'

interface SecretUse {
  readonly name: string
  readonly usedBy?: readonly string[]
  readonly runs?: readonly { readonly id?: string; readonly environment?: string }[]
}

const set = defineCommand({
  name: 'set',
  summary: 'set a secret; the value is typed hidden, or read from standard input or a file',
  words: '<name>',
  options: {
    file: { type: 'text', value: 'FILE', summary: 'file that holds the value' },
    stage: { type: 'switch', summary: 'start nothing anew: the next deployment takes the value' },
  },
  run: async (context, { file, stage }) => {
    const { session, output, connect, words } = context
    const [name = ''] = words
    const client = await connect()
    const application = session.app()
    const value = await readValue(name, file, context)
    const use = await client.put<SecretUse>(pathOf`/apps/${application}/secrets/${name}`, {
      value,
      stage,
    })
    const { usedBy = [], runs = [] } = use
    const restarts = runs.flatMap(({ id }) => id ?? [])
    output.result({ name, usedBy, runs: restarts }, [
      `${name} is set. ${usedBy.length === 0 ? 'Nothing uses it yet.' : `Used by: ${usedBy.join(', ')}.`}`,
      ...(stage
        ? ['The next deployment takes the value.']
        : restarts.map((id) => `These are started anew: fairlead watch ${id}`)),
    ])
  },
})

/** @throws {Failure} with 3 for an empty value, with 7 where it cannot be asked for */
async function readValue(
  name: string,
  file: string | undefined,
  { questions }: CommandContext,
): Promise<string> {
  const given =
    file !== undefined
      ? readFileSync(file, 'utf8')
      : process.stdin.isTTY
        ? await questions.secret({
            message: `Value of ${name}:`,
            flag: '--file, or standard input',
          })
        : await readText(process.stdin)
  const value = given.replace(/\r?\n$/, '')
  if (value !== '') return value
  throw misuse(`The value of ${name} is empty.`, 'Remove a secret with: fairlead secret unset NAME')
}

const list = defineCommand({
  name: 'list',
  summary: 'list the names of secrets',
  run: async ({ session, output, connect }) => {
    const client = await connect()
    const found = await client.get<{ name: string; version?: number }[]>(
      pathOf`/applications/${session.app()}/secrets`,
    )
    output.result(found, found.length === 0 ? 'No secret is set.' : found.map(({ name }) => name))
  },
})

const unset = defineCommand({
  name: 'unset',
  summary: 'remove a secret',
  words: '<name>',
  run: async ({ session, output, questions, connect, words: [name = ''] }) => {
    const client = await connect()
    const application = session.app()
    if (!(await questions.confirm(`Remove the secret ${name} of ${application}?`))) return 1
    await client.delete(pathOf`/applications/${application}/secrets/${name}`)
    output.result({ name, removed: true }, `${name} is removed.`)
    return 0
  },
})

export const secret = defineCommand({
  name: 'secret',
  summary: 'set, list or remove secrets of the application: set, list, unset',
  group: 'app',
  actions: [set, list, unset],
  run: async () => {
    throw misuse('The command is incomplete.', 'Use: fairlead secret set|list|unset')
  },
})

interface Variables {
  readonly environment: string
  readonly variables: readonly {
    readonly name: string
    readonly value: string | null
    readonly source: string
  }[]
}

export const env = defineCommand({
  name: 'env',
  summary: 'list the variables of the services, with their sources',
  group: 'app',
  run: async ({ session, output, connect }) => {
    const client = await connect()
    const found = await client.get<Variables>(pathOf`/apps/${session.app()}/variables`, {
      query: { environment: session.environment() },
    })
    const rows = found.variables.map(({ name, value, source }) => [
      name,
      value ?? '(differs)',
      source,
    ])
    output.result(found, output.table([['NAME', 'VALUE', 'SOURCE'], ...rows]))
  },
})

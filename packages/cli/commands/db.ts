/** `fairlead db`: databases beside an app. */
import { runAttached } from '../attached-program.ts'
import { type CommandContext, defineCommand } from '../command.ts'
import { exitCodes, misuse } from '../failure.ts'
import { pathOf } from '../path-of.ts'
import { followRun, reportEnd } from '../runs.ts'

interface Database {
  readonly environment: string
  readonly name: string
  readonly type: string
  readonly state: string
  readonly address: string | null
  readonly variable: string | null
  readonly backups: readonly string[]
}

const detach = {
  detach: { type: 'switch', summary: 'print the id of the run, and do not follow it' },
} as const
const confirmation = {
  confirm: { type: 'text', value: 'NAME', summary: 'answers the question for the name' },
} as const

const list = defineCommand({
  name: 'list',
  summary: 'list databases, with their addresses and newest backups',
  run: async ({ session, output, connect }) => {
    const found = await loadDatabases(await connect(), session.app())
    const rows = found.map(({ environment, name, type, state, address, variable, backups }) => [
      ...[environment, name, type, state, address ?? '-', variable ?? '(not in the file)'],
      backups[0] ?? '(none)',
    ])
    const titles = ['ENVIRONMENT', 'NAME', 'TYPE', 'STATE', 'ADDRESS', 'VARIABLE', 'LAST BACKUP']
    output.result(found, found.length === 0 ? 'No database.' : output.table([titles, ...rows]))
  },
})

const backup = defineCommand({
  name: 'backup',
  summary: 'back a database up, besides its schedule',
  words: '[name]',
  options: detach,
  run: (context, options) => startRun(context, 'backups', {}, options),
})

const restore = defineCommand({
  name: 'restore',
  summary: 'replace what is in a database by a backup',
  words: '[name]',
  options: {
    at: { type: 'text', value: 'BACKUP', summary: 'its name; the newest unless given' },
    ...confirmation,
    ...detach,
  },
  run: async (context, { at, confirm, ...options }) => {
    const application = context.session.app()
    const confirmed = await typeName(context, application, confirm, 'What is in the database goes')
    return startRun(context, 'restore', { from: at, confirm: confirmed }, options)
  },
})

const upgrade = defineCommand({
  name: 'upgrade',
  summary:
    'back a database up, and restart it with the installed programs, or move PostgreSQL to a major version',
  words: '[name]',
  options: {
    to: { type: 'text', value: 'MAJOR', summary: 'by a dump into a new folder, such as 17' },
    ...detach,
  },
  run: async (context, { to, ...options }) => {
    if (!(await context.questions.confirm('The database does not answer meanwhile. Upgrade it?')))
      return exitCodes.done
    return startRun(context, 'upgrade', { to }, options)
  },
})

const rotate = defineCommand({
  name: 'rotate',
  summary: 'give the services another password, and make the database refuse the former one',
  words: '[name]',
  options: detach,
  run: async (context, options) => {
    const message =
      'The services start anew, and then the database, which does not answer for some seconds. Rotate its password?'
    if (!(await context.questions.confirm(message))) return exitCodes.done
    return startRun(context, 'rotation', {}, options)
  },
})

const connect = defineCommand({
  name: 'connect',
  summary: 'open psql, redis-cli or mariadb in a database',
  words: '[name]',
  run: async (context) => {
    const { session, rest } = context
    const { name, environment } = await chooseDatabase(context)
    return runAttached(context, {
      application: session.app(),
      kind: 'exec',
      body: { environment, service: name, command: ['sh', './database', 'connect', ...rest] },
    })
  },
})

const remove = defineCommand({
  name: 'remove',
  summary: 'delete a database that is not in the file any more; its last backup stays',
  words: '<name>',
  options: { ...confirmation, ...detach },
  run: async (context, { confirm, ...options }) => {
    const [name = ''] = context.words
    const confirmed = await typeName(context, name, confirm, 'The database and its data go')
    return startRun(context, 'removal', { confirm: confirmed }, options)
  },
})

export const db = defineCommand({
  name: 'db',
  summary: 'databases of the app: list, backup, restore, upgrade, rotate, connect, remove',
  group: 'app',
  actions: [list, backup, restore, upgrade, rotate, connect, remove],
  run: async () => {
    throw misuse(
      'The command is incomplete.',
      'Use: fairlead db list|backup|restore|upgrade|rotate|connect|remove',
    )
  },
})

async function loadDatabases(
  client: Awaited<ReturnType<CommandContext['connect']>>,
  application: string,
): Promise<readonly Database[]> {
  const path = pathOf`/apps/${application}/databases`
  return (await client.get<{ databases: readonly Database[] }>(path)).databases
}

/** The one that is named, else the only one of the environment. @throws {Failure} with 3 */
async function chooseDatabase({ session, words, connect }: CommandContext): Promise<Database> {
  const all = await loadDatabases(await connect(), session.app())
  const environment = session.environment() ?? all[0]?.environment
  const here = all.filter((each) => each.environment === environment)
  const found = words[0] === undefined ? here : here.filter(({ name }) => name === words[0])
  const [first] = found
  if (first !== undefined && found.length === 1) return first
  const names = here.map(({ name }) => name).join(', ')
  throw misuse(
    words[0] === undefined && here.length > 1
      ? 'There are several databases.'
      : `There is no database${words[0] === undefined ? '' : ` "${words[0]}"`}.`,
    names === '' ? 'Write attach in the app file, and deploy it.' : `Name one of: ${names}`,
  )
}

/** `--yes` does not answer it. @throws {Failure} with 3 for another name, with 7 where nobody can be asked */
async function typeName(
  { questions }: CommandContext,
  name: string,
  given: string | undefined,
  what: string,
): Promise<string> {
  const message = `${what}. Type ${name} to go on:`
  const typed = given ?? (await questions.text({ message, flag: `--confirm ${name}` }))
  if (typed === name) return typed
  throw misuse(`"${typed}" is not ${name}: nothing was changed.`, `Type ${name}.`)
}

async function startRun(
  context: CommandContext,
  action: 'backups' | 'restore' | 'upgrade' | 'rotation' | 'removal',
  body: Readonly<Record<string, string | undefined>>,
  { detach: isDetached }: { readonly detach: boolean },
): Promise<number> {
  const { session, output } = context
  const { name, environment } = await chooseDatabase(context)
  const client = await context.connect()
  const { id } = await client.post<{ readonly id: string }>(
    pathOf`/apps/${session.app()}/databases/${name}/${action}`,
    { environment, ...body },
  )
  if (isDetached) {
    output.result({ id, environment, name }, id)
    return exitCodes.done
  }
  output.event({ type: 'started', id, environment, name }, id)
  return reportEnd(await followRun(client, id, context), output)
}

#!/usr/bin/env node
/** The command line: picks the command and hands it its arguments. */
import { enableCompileCache } from 'node:module'

// Compiled code is kept between starts, which halves the time of the second one.
enableCompileCache()

const usage = `Usage: fairlead <command> [options]

  serve                      start the gateway (what npm start runs)
  check                      check the configuration without starting
  doctor                     examine the installation: addresses to register, services, logins, certificates, balancer
  explain login              say step by step why somebody would be let in, or not
  explain access             say whether somebody may use an operation, and by which rule
  openapi                    print the OpenAPI document of everything that is served
  user add|passwd|roles|list|remove [NAME]   manage the users of the login form
  token create|list|rotate|revoke            manage API tokens of users and service accounts
  audit verify               examine the audit log: whether a record was altered or is missing
  version                    print the version

Options
  --config FILE              another configuration file; may be repeated, later wins
  --help                     this text, or the options of a command: fairlead token --help

Settings come from spinnaker.yml, gate.yml and fairlead.yml in config/ and ~/.spinnaker, and from the environment:
SERVER_PORT=8084 fairlead serve. The directory docs/ describes all of them.
`

/** Each command answers with the exit status of the process; undefined while it goes on working. */
export type Command = (args: readonly string[]) => Promise<number | undefined>

interface Loaded {
  readonly run: Command
  /** Of a command with options of its own. */
  readonly usage?: string
}

const commands: Readonly<Record<string, () => Promise<Loaded>>> = {
  serve: async () => ({ run: (await import('./serve.ts')).serve }),
  check: async () => ({ run: (await import('./check.ts')).check }),
  doctor: async () => import('./doctor.ts').then(({ doctor: run, usage }) => ({ run, usage })),
  explain: async () => import('./explain.ts').then(({ explain: run, explainUsage: usage }) => ({ run, usage })),
  openapi: async () => ({ run: (await import('./openapi.ts')).openapi }),
  user: async () => import('./user.ts').then(({ user: run, usage }) => ({ run, usage })),
  token: async () => import('./token.ts').then(({ token: run, usage }) => ({ run, usage })),
  audit: async () => import('./audit.ts').then(({ audit: run, usage }) => ({ run, usage })),
  version: async () => ({ run: (await import('./version.ts')).version }),
}

// Who pipes into `head` has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

async function main([name = '', ...args]: readonly string[]): Promise<number | undefined> {
  if (name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(usage)
    return 0
  }
  const wanted = name === '--version' ? 'version' : name
  const load = Object.hasOwn(commands, wanted) ? commands[wanted] : undefined
  if (load === undefined) {
    process.stderr.write(name === '' ? usage : `There is no command "${name}".\n\n${usage}`)
    return 2
  }
  const command = await load()
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(command.usage ?? usage)
    return 0
  }
  return command.run(args)
}

const status = await main(process.argv.slice(2))
if (status !== undefined) process.exitCode = status

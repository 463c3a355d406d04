/** `fairlead connect`: lets pushes to the repository of the folder deploy the app. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { defineCommand } from '../command.ts'
import { misuse } from '../failure.ts'
import { pathOf } from '../path-of.ts'

interface Connection {
  readonly repository: string
  readonly branch: string
  /** Path on the instance. */
  readonly webhook: string
  readonly secret: string
  readonly problem?: string
}

const hosts = ['github', 'gitlab', 'bitbucket', 'gitea', 'forgejo', 'gogs', 'git'] as const
const execute = promisify(execFile)

export const connect = defineCommand({
  name: 'connect',
  summary: 'deploy what is pushed to the branch of the repository',
  group: 'app',
  help: 'The repository is the remote "origin" of the folder unless given. Where the app file has "preview", other branches get environments of their own.',
  options: {
    repository: { type: 'text', value: 'URL', summary: 'address of the Git repository' },
    branch: { type: 'text', value: 'BRANCH', summary: 'the branch; main unless given' },
    provider: {
      type: 'text',
      value: 'HOST',
      choices: hosts,
      summary: 'host that sends webhooks; found by the address unless given',
    },
    account: { type: 'text', value: 'NAME', summary: 'artifact account, for private repositories' },
    remove: { type: 'switch', summary: 'disconnect it' },
  },
  run: async ({ session, output, cwd, connect: open }, { remove, account, ...given }) => {
    const client = await open()
    const path = pathOf`/apps/${session.app()}/connection`
    if (remove) {
      await client.delete(path)
      output.result({ disconnected: true }, 'Pushes deploy nothing any more.')
      return
    }
    const repository = given.repository ?? toAddress(await findRemote(cwd), account)
    const source = given.provider ?? hosts.find((host) => repository.includes(host)) ?? 'git'
    const made = await client.put<Connection>(path, {
      ...{ repository, source, account },
      branch: given.branch,
    })
    output.result(made, [
      `A push to ${made.branch} of ${made.repository} deploys ${session.app()}, within a minute or so.`,
      'To deploy at once, add a webhook for pushes to the repository:',
      `  address       ${client.url}${made.webhook}`,
      '  content type  application/json',
      `  secret        ${made.secret}`,
    ])
    if (made.problem !== undefined) output.note(made.problem)
  },
})

/** @throws {Failure} with 3 where the folder has none */
async function findRemote(cwd: string): Promise<string> {
  try {
    return (await execute('git', ['remote', 'get-url', 'origin'], { cwd })).stdout.trim()
  } catch {
    throw misuse('The folder has no Git remote "origin".', 'Name the repository with --repository.')
  }
}

/** SSH needs the key of an account; most hosts have the repository at the same place by HTTPS. */
function toAddress(remote: string, account: string | undefined): string {
  const [, host, path] = /^(?:ssh:\/\/)?[^@/]+@([^:/]+)[:/](.+)$/.exec(remote) ?? []
  return account === undefined && host !== undefined ? `https://${host}/${path}` : remote
}

/** `fairlead open`: the page of the application, or the console of the instance. */
import { pathOf } from '../client.ts'
import { defineCommand } from '../command.ts'
import { Failure } from '../failure.ts'
import { openInBrowser } from '../open-in-browser.ts'

interface AppStatus {
  readonly services?: readonly {
    readonly addresses?: readonly string[]
    readonly hosts?: readonly string[]
  }[]
}

export const open = defineCommand({
  name: 'open',
  summary: 'open the address of the application, and print it',
  group: 'app',
  options: { console: { type: 'switch', summary: 'the console of the instance instead' } },
  run: async ({ session, output, env, connect }, values) => {
    const client = await connect()
    const url = values.console
      ? `${client.url}/console/`
      : await findAddress(() =>
          client.get<AppStatus>(pathOf`/apps/${session.app()}/status`, {
            query: { environment: session.environment() },
          }),
        )
    output.result({ url }, url)
    if (output.stdout.isTTY && !output.json) openInBrowser(url, env)
  },
})

async function findAddress(ask: () => Promise<AppStatus>): Promise<string> {
  const { services = [] } = await ask()
  const [address] = services.flatMap(({ addresses = [], hosts = [] }) => [
    ...addresses,
    ...hosts.map((host) => `https://${host}`),
  ])
  if (address !== undefined) return address
  throw new Failure(1, 'NO_ADDRESS', 'No service of the application has an address.', {
    remedy:
      'Give one a host in .fairlead/app.yml and deploy, or open the console: fairlead open --console',
  })
}

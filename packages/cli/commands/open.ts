/** `fairlead open`: the page of the application, or the console of the instance. */
import { defineCommand } from '../command.ts'
import { exitCodes, Failure } from '../failure.ts'
import { openInBrowser } from '../open-in-browser.ts'
import { type AppStatus, addressesOf, loadStatus } from './status.ts'

export const open = defineCommand({
  name: 'open',
  summary: 'open the address of the application, and print it',
  group: 'app',
  options: { console: { type: 'switch', summary: 'the console of the instance instead' } },
  run: async ({ session, output, env, connect }, values) => {
    const client = await connect()
    const url = values.console
      ? `${client.url}/console/`
      : addressOf(await loadStatus(client, session.app()), session.environment())
    output.result({ url }, url)
    if (output.stdout.isTTY && !output.json) openInBrowser(url, env)
  },
})

/** Address of the first host. @throws {Failure} when there is none */
function addressOf({ application, environments }: AppStatus, wanted: string | undefined): string {
  const [address] = environments
    .filter(({ name }) => wanted === undefined || name === wanted)
    .flatMap(({ services }) => services.flatMap(addressesOf))
  if (address !== undefined) return address
  throw new Failure(exitCodes.failed, 'NO_ADDRESS', `No service of ${application} has a host.`, {
    remedy:
      'Give one a host in .fairlead/app.yml and deploy, or open the console: fairlead open --console',
  })
}

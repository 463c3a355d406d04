/** `fairlead dashboards`: prints the Grafana dashboards and the alerts for Prometheus that come with Fairlead. */
import { readdirSync, readFileSync } from 'node:fs'
import { Misuse, readArguments } from './arguments.ts'
import { command } from './command-name.ts'

/** One folder above this file, in the repository and in the published package. */
const folder = new URL('../deploy/monitoring/', import.meta.url)

export async function run(args: readonly string[]): Promise<number> {
  const { positionals } = readArguments(args, { command: 'dashboards', options: {}, words: 1 })
  const names = readdirSync(folder).sort()
  const [name] = positionals
  if (name === undefined) {
    process.stdout.write(
      `${names.map((each) => `${each}\n`).join('')}\nPrint one: ${command(`dashboards ${names[0]}`)}\n`,
    )
    return 0
  }
  const found = names.find((each) => each === name || each === `${name}.json`)
  if (found === undefined)
    throw new Misuse('dashboards', `There is no dashboard "${name}". There is ${names.join(', ')}.`)
  process.stdout.write(readFileSync(new URL(found, folder), 'utf8'))
  return 0
}

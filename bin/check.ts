/** `fairlead check`: reports whether the gateway would start, and summarises the configuration. */
import { checkOutsideAccounts } from '@fairlead/app/doctor/check-outside-accounts.ts'
import { checkProviders } from '@fairlead/app/doctor/check-providers.ts'
import { checkUsers } from '@fairlead/app/doctor/check-users.ts'
import { findStartObstacles } from '@fairlead/app/doctor/start-obstacles.ts'
import { runChecks, usualTimeouts } from '@fairlead/base/findings/finding.ts'
import { readArguments } from './arguments.ts'
import { readConfig, settingsHint, startOptions } from './read-config.ts'

export const usage = `Usage: fairlead check [options]

  --config FILE   another configuration file; may be repeated, later wins
  --strict        every unknown key of the configuration prevents the start

Reads the configuration, opens every file that it names, and checks the data directory, the ports and the clusters of accounts. Starts and changes nothing; a
gateway may run meanwhile. Exits with 1 if a start would fail; a port or a data directory in use is a note only.
`

export async function run(args: readonly string[]): Promise<number> {
  readArguments(args, { command: 'check', options: startOptions, hint: settingsHint })
  const loaded = await readConfig(args)
  const obstacles = await findStartObstacles(loaded.config)
  const lasting = obstacles.filter(({ passing }) => !passing)
  if (lasting.length > 0) {
    for (const { text } of lasting) process.stderr.write(`${text}\n`)
    process.stderr.write('The settings are correct, but the gateway could not start.\n')
    return 1
  }
  for (const notice of loaded.notices) {
    process.stdout.write(
      notice.startsWith('Warning: ') ? `w${notice.slice(1)}\n` : `note: ${notice}\n`,
    )
  }
  for (const { subject, verdict, found, advice } of await runChecks(
    [
      ...checkProviders(loaded.config, usualTimeouts),
      ...checkUsers(loaded.config),
      ...checkOutsideAccounts(loaded.config),
    ],
    usualTimeouts,
  )) {
    const mark = verdict === 'ok' ? 'note' : 'warning'
    process.stdout.write(
      `${mark}: ${subject}: ${found}${advice === undefined ? '' : `; ${advice}`}\n`,
    )
  }
  // Most often it is the gateway that will be restarted with this configuration.
  for (const { text } of obstacles)
    process.stdout.write(`note: a start would fail at the moment. ${text}\n`)
  process.stdout.write(`${loaded.summary}\n`)
  return 0
}

/** `fairlead check`: reports whether the gateway would start, and summarises the configuration; or what a save of files would find. */
import type { Config } from '@fairlead/app/config/config.ts'
import { checkOutsideAccounts } from '@fairlead/app/doctor/check-outside-accounts.ts'
import { checkProviders } from '@fairlead/app/doctor/check-providers.ts'
import { checkUsers } from '@fairlead/app/doctor/check-users.ts'
import { findStartObstacles } from '@fairlead/app/doctor/start-obstacles.ts'
import { findingsOfFiles } from '@fairlead/app/moves/findings-of-files.ts'
import { openCopy } from '@fairlead/app/moves/open-definitions.ts'
import { formatFinding } from '@fairlead/base/findings/document-finding.ts'
import { runChecks, usualTimeouts } from '@fairlead/base/findings/finding.ts'
import { openLog } from '@fairlead/base/telemetry/log.ts'
import { readArguments } from './arguments.ts'
import { readConfig, settingsHint, startOptions } from './read-config.ts'

export async function run(args: readonly string[]): Promise<number> {
  const { positionals: files, values } = readArguments(args, {
    command: 'check',
    options: startOptions,
    words: Number.POSITIVE_INFINITY,
    hint: settingsHint,
  })
  const loaded = await readConfig(args)
  if (files.length > 0) return checkFiles(files, loaded.config, values.strict)
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

async function checkFiles(
  files: readonly string[],
  config: Config,
  isStrict: boolean,
): Promise<number> {
  const opened = openCopy(config, openLog('silent').log, { withHistory: false })
  try {
    const checked = await findingsOfFiles(opened, files)
    for (const { file, title, findings } of checked)
      for (const finding of findings)
        process.stdout.write(`${finding.severity}: ${file}: ${title}: ${formatFinding(finding)}\n`)
    const doubted = checked.flatMap(({ findings }) => findings)
    process.stdout.write(`${count(checked, 'definition')}, ${count(doubted, 'finding')}.\n`)
    return isStrict && doubted.some(({ severity }) => severity !== 'note') ? 1 : 0
  } finally {
    opened.close()
  }
}

function count({ length }: readonly unknown[], noun: string): string {
  return `${length} ${noun}${length === 1 ? '' : 's'}`
}

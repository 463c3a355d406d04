/** `fairlead check`: says whether the gateway would start, and what the configuration means, without starting anything. */
import { findStartObstacles } from '../src/doctor/start-obstacles.ts'
import { findMisuse, readConfig } from './read-config.ts'

export async function check(args: readonly string[]): Promise<number> {
  const misuse = findMisuse(args)
  if (misuse !== undefined) {
    process.stderr.write(`${misuse}\n`)
    return 2
  }
  const loaded = await readConfig(args)
  if (loaded === undefined) return 1
  const obstacles = await findStartObstacles(loaded.config)
  const lasting = obstacles.filter(({ passing }) => !passing)
  if (lasting.length > 0) {
    for (const { text } of lasting) process.stderr.write(`${text}\n`)
    process.stderr.write('The settings are in order, and the gateway could not start.\n')
    return 1
  }
  for (const notice of loaded.notices) {
    process.stdout.write(notice.startsWith('Warning: ') ? `w${notice.slice(1)}\n` : `note: ${notice}\n`)
  }
  // Most often it is the gateway that will be restarted with this configuration.
  for (const { text } of obstacles) process.stdout.write(`note: a start would fail at the moment. ${text}\n`)
  process.stdout.write(`${loaded.summary}\n`)
  return 0
}

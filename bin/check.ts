/** `fairlead check`: says whether the configuration is sound and what it means, without starting anything. */
import { findMisuse, readConfig } from './read-config.ts'

export async function check(args: readonly string[]): Promise<number> {
  const misuse = findMisuse(args)
  if (misuse !== undefined) {
    process.stderr.write(`${misuse}\n`)
    return 2
  }
  const loaded = await readConfig(args)
  if (loaded === undefined) return 1
  for (const notice of loaded.notices) {
    process.stdout.write(notice.startsWith('Warning: ') ? `w${notice.slice(1)}\n` : `note: ${notice}\n`)
  }
  process.stdout.write(`${loaded.summary}\n`)
  return 0
}

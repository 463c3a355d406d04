/** Loads a configuration of the corpus, as a start does, and says what its operator reads. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ConfigError, loadConfig } from '../../packages/app/config/config.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import type { ConfigurationSet } from './configurations.ts'

export interface Tried {
  readonly outcome: 'starts' | 'one sentence' | 'wrong'
  /** Keys that it names as without effect, or as unknown. */
  readonly named: number
  /** What went otherwise than stated. */
  readonly faults: readonly string[]
}

export async function tryConfiguration(set: ConfigurationSet): Promise<Tried> {
  const cwd = createFolder('corpus')
  try {
    for (const [name, text] of Object.entries(set.files ?? {})) {
      const file = join(cwd, 'config', name)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    }
    const places = {
      cwd,
      env: set.env ?? {},
      homeDir: join(cwd, 'home'),
      systemDir: join(cwd, 'system'),
    }
    const { notices } = await loadConfig(places)
    if (set.says !== undefined) return wrong(['it starts'])
    const said = notices.join('\n')
    const silent = (set.names ?? []).filter((name) => !said.includes(name))
    if (silent.length > 0)
      return wrong(
        silent.map((name) => `not named: ${name}`),
        said,
      )
    return { outcome: 'starts', named: set.names?.length ?? 0, faults: [] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const { problems, message } = error
    if (set.says === undefined || problems.length !== 1 || !set.says.test(message))
      return wrong([message])
    return { outcome: 'one sentence', named: 0, faults: [] }
  } finally {
    removeFolder(cwd)
  }
}

function wrong(faults: readonly string[], said = ''): Tried {
  return { outcome: 'wrong', named: 0, faults: said === '' ? faults : [...faults, said] }
}

/** The commands, in the order of the help. */
import type { CommandEntry } from '../command.ts'
import { completion, createComplete } from './completion.ts'
import { context } from './context.ts'
import { init } from './init.ts'
import { approve, cancel, reject } from './judge.ts'
import { login, logout } from './login.ts'
import { open } from './open.ts'
import { runs, start, watch } from './runs.ts'
import { validate } from './validate.ts'
import { version } from './version.ts'

export const commands: readonly CommandEntry[] = [
  init,
  validate,
  open,
  approve,
  reject,
  cancel,
  runs,
  watch,
  start,
  login,
  logout,
  context,
  completion,
  version,
  createComplete(() => commands),
]

/** The commands, in the order of the help. */
import type { CommandEntry } from '../command.ts'
import { apply } from './apply.ts'
import { completion, createComplete } from './completion.ts'
import { connect } from './connect.ts'
import { context } from './context.ts'
import { db } from './db.ts'
import { deploy } from './deploy.ts'
import { diff } from './diff.ts'
import { domains } from './domains.ts'
import { eject } from './eject.ts'
import { exec, run } from './exec.ts'
import { exportCommand } from './export.ts'
import { init } from './init.ts'
import { approve, cancel, reject } from './judge.ts'
import { login, logout } from './login.ts'
import { logs } from './logs.ts'
import { open } from './open.ts'
import { leave, promote, rollback, scale } from './releases.ts'
import { runs, start, watch } from './runs.ts'
import { env, secret } from './secret.ts'
import { status } from './status.ts'
import { validate } from './validate.ts'
import { version } from './version.ts'

export const commands: readonly CommandEntry[] = [
  init,
  validate,
  deploy,
  status,
  open,
  logs,
  exec,
  run,
  rollback,
  promote,
  approve,
  reject,
  cancel,
  scale,
  leave,
  secret,
  env,
  domains,
  db,
  runs,
  watch,
  start,
  diff,
  apply,
  exportCommand,
  connect,
  eject,
  login,
  logout,
  context,
  completion,
  version,
  createComplete(() => commands),
]

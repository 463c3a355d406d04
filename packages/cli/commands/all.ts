/** The commands, in the order of the help. */
import type { CommandEntry } from '../command.ts'
import { init } from './init.ts'
import { validate } from './validate.ts'
import { version } from './version.ts'

export const commands: readonly CommandEntry[] = [init, validate, version]

/** The commands, in the order of the help. */
import type { CommandEntry } from '../command.ts'
import { version } from './version.ts'

export const commands: readonly CommandEntry[] = [version]

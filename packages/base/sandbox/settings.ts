/** Setting of the sandbox of programs that read what authors wrote. */
import { z } from 'zod'

export const SandboxChoice = z.enum(['auto', 'bwrap', 'unshare', 'none'])

/** Means of isolation; `auto` takes the first one that works on this machine. */
export type SandboxChoice = z.infer<typeof SandboxChoice>

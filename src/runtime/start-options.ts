/**
 * Options that Node and the C library read when they start, as a running process cannot change them. They save memory and time under
 * load; docs/performance.md has the measurements.
 */
import { isOn } from './without.ts'

/** Without it, the young generation is twice 32 MB after some minutes of load. */
const options = { '--max-semi-space-size': '16' }

/** Bytes. The C library otherwise raises the limit with the largest buffer so far, and keeps freed ones between small ones that live. */
const variables = { MALLOC_MMAP_THRESHOLD_: '131072' }

/**
 * Replaces this process by one with the same arguments, and with what is missing of the above; what the user has set stays. Returns
 * if nothing is missing, and where this cannot be done, so that the process runs as it is and takes more memory: Windows has no `execve`, the
 * permissions of Node may forbid it, and a debugger or the channel to a parent would be lost.
 */
export function useStartOptions(): void {
  const { execArgv, env, execPath, argv, execve } = process
  const given = [...execArgv, env['NODE_OPTIONS'] ?? ''].join(' ').replaceAll('_', '-')
  const missingOptions = Object.entries(options).filter(([name]) => !given.includes(name))
  const missingVariables = Object.entries(variables).filter(([name]) => env[name] === undefined)
  if (!isOn('start-options') || missingOptions.length + missingVariables.length === 0) return
  if (execve === undefined || process.channel != null || given.includes('--inspect')) return
  const added = missingOptions.map(([name, value]) => `${name}=${value}`)
  try {
    const args = [execPath, ...added, ...execArgv, ...argv.slice(1)]
    execve.call(process, execPath, args, { ...env, ...Object.fromEntries(missingVariables) })
  } catch {
    // It runs as it is.
  }
}

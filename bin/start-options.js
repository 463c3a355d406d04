/**
 * Options that Node and the C library read when they start, as a running process cannot change them. They save memory and time under
 * load; docs/performance.md has the measurements.
 */

const options = {
  /** Without it, the young generation is twice 32 MB after some minutes of load. */
  '--max-semi-space-size': '16',
  /** Threads of the collector and the compiler, which compete with the program for processors. */
  '--v8-pool-size': '2',
}

const variables = {
  /** Bytes. The C library otherwise raises the limit with the largest buffer so far, and keeps freed ones between small ones that live. */
  MALLOC_MMAP_THRESHOLD_: '131072',
}

/**
 * Replaces this process by one with the same arguments, and with what is missing of the above; what the user has set stays. Returns
 * if nothing is missing, and where this cannot be done: Windows has no `execve`, the permissions of Node may forbid it, and a
 * debugger or the channel to a parent would be lost.
 */
export function useStartOptions() {
  const { execArgv, env, execPath, argv } = process
  const given = execArgv
    .concat(env['NODE_OPTIONS'] || '')
    .join(' ')
    .replace(/_/g, '-')
  const missingOptions = Object.entries(options).filter(([name]) => !given.includes(name))
  const missingVariables = Object.entries(variables).filter(([name]) => env[name] === undefined)
  if (missingOptions.length + missingVariables.length === 0) return
  if (process.execve === undefined || process.channel !== undefined || given.includes('--inspect')) return
  const added = missingOptions.map(([name, value]) => `${name}=${value}`)
  try {
    process.execve(execPath, [execPath, ...added, ...execArgv, ...argv.slice(1)], {
      ...env,
      ...Object.fromEntries(missingVariables),
    })
  } catch {
    // It runs as it is, and takes more memory.
  }
}

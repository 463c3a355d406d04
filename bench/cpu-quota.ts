/** Bounds on the processor time of one process, by a control group of Linux (version 1). */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = '/sys/fs/cgroup/cpu'
/** Short, so that a process that has used up its part waits for milliseconds only. */
const periodUs = 20_000

export class CpuQuota {
  readonly #dir: string

  /**
   * @param share Of one core, for all threads of the process together.
   * @throws {Error} where control groups cannot be written
   */
  constructor(pid: number, share: number) {
    this.#dir = join(root, `fairlead-bench-${pid}`)
    mkdirSync(this.#dir)
    try {
      writeFileSync(join(this.#dir, 'cpu.cfs_period_us'), String(periodUs))
      writeFileSync(join(this.#dir, 'cpu.cfs_quota_us'), String(Math.round(periodUs * share)))
      writeFileSync(join(this.#dir, 'cgroup.procs'), String(pid))
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Ends the bound. */
  close(): void {
    const pids = readFileSync(join(this.#dir, 'cgroup.procs'), 'utf8').trim().split('\n')
    for (const pid of pids) if (pid !== '') writeFileSync(join(root, 'cgroup.procs'), pid)
    rmdirSync(this.#dir)
  }
}

/** One for each process; undefined where control groups cannot be written. */
export function openQuotas(pids: readonly number[], share: number): CpuQuota[] | undefined {
  const quotas: CpuQuota[] = []
  try {
    for (const pid of pids) quotas.push(new CpuQuota(pid, share))
    return quotas
  } catch {
    for (const quota of quotas) quota.close()
    return undefined
  }
}

/**
 * Loaded into a measured process before its program. Between two signals SIGUSR2 it notes how much processor time each iteration of
 * the event loop takes: so long any other request waits, and this does not depend on what else the machine does.
 */
import { writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const minUs = 500

function usedUs(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

if (isMainThread) {
  let iterations: number[] | undefined
  let beganUs = 0
  const step = () => {
    if (iterations === undefined) return
    const us = usedUs() - beganUs
    if (us > minUs) iterations.push(us)
    beganUs = usedUs()
    setImmediate(step)
  }
  process.on('SIGUSR2', () => {
    if (iterations === undefined) {
      iterations = []
      beganUs = usedUs()
      setImmediate(step)
    } else {
      writeFileSync(process.env['LOOP_PROBE_FILE'] ?? 'loop.json', JSON.stringify(iterations))
      iterations = undefined
    }
  })
}

/** Notifications to systemd: states of this process, and signs of life for its watchdog. */
import { spawn } from 'node:child_process'

/** Node has no datagram sockets of Unix. The program waits until systemd has read the message, so the sender is known to it. */
const program = 'systemd-notify'

/**
 * Does nothing where no service manager has started this process.
 *
 * @see sd_notify(3), sd_watchdog_enabled(3)
 */
export class ServiceManager {
  /** A service manager waits for notifications. */
  readonly isPresent = process.env['NOTIFY_SOCKET'] !== undefined
  readonly #onFault: (error: Error) => void
  /** Messages arrive in the order in which they were sent. */
  #last: Promise<void> = Promise.resolve()
  #unsent = 0
  #watchdog: NodeJS.Timeout | undefined

  constructor(onFault: (error: Error) => void) {
    this.#onFault = onFault
  }

  /** Also after a reload. From the first time on, the watchdog hears of this event loop, and no more when that hangs. */
  ready(status: string): Promise<void> {
    const expectedMs = watchdogMs()
    if (expectedMs !== undefined)
      this.#watchdog ??= setInterval(() => this.#live(), expectedMs / 3).unref()
    return this.#send('READY=1', `STATUS=${status}`)
  }

  reloading(): Promise<void> {
    return this.#send('RELOADING=1', 'STATUS=reading the configuration')
  }

  stopping(): Promise<void> {
    return this.#send('STOPPING=1', 'STATUS=finishing what is in flight')
  }

  /** Another process of the unit is its main process from now on; this one may end. */
  yieldTo(pid: number, status: string): Promise<void> {
    return this.#send(`MAINPID=${pid}`, 'READY=1', `STATUS=${status}`)
  }

  #live(): void {
    if (this.#unsent === 0) void this.#send('WATCHDOG=1')
  }

  #send(...message: readonly string[]): Promise<void> {
    if (!this.isPresent) return this.#last
    this.#unsent += 1
    this.#last = this.#last
      .then(() => notify(message))
      .catch(this.#onFault)
      .finally(() => {
        this.#unsent -= 1
      })
    return this.#last
  }
}

/** Faults are logged: without notifications, systemd ends the process as failed. */
export function reportTo(log: { error(fault: object, text: string): void }): ServiceManager {
  return new ServiceManager((err) =>
    log.error({ err }, 'systemd cannot be notified and may end this process as failed'),
  )
}

function watchdogMs(): number | undefined {
  const { WATCHDOG_USEC: micros, WATCHDOG_PID: pid = String(process.pid) } = process.env
  return micros === undefined || pid !== String(process.pid) ? undefined : Number(micros) / 1000
}

function notify(message: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, message, { stdio: 'ignore' })
    child.once('error', (cause) =>
      reject(new Error(`${program} cannot be run; it comes with systemd`, { cause })),
    )
    child.once('exit', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`${program} ended with ${code ?? signal}`))
    })
  })
}

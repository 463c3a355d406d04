/** The log of a runner: its own lines and the output of programs, without the values of secrets. */
import { spawn } from 'node:child_process'
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { BuilderError, run } from '@fairlead/base/outside/builder-process.ts'
import { Masking } from '@fairlead/model/secrets/masking.ts'

interface RunOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** A program that a step has left in the background keeps the output open: what it writes later follows later. */
const quietMs = 300
/** Pause before a full pipe is tried again. */
const fullPauseMs = 2

export class RunnerLog {
  readonly #secrets: readonly string[]

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets
  }

  say(line: string): void {
    writeOut(Buffer.from(`${this.mask(line)}\n`))
  }

  mask(text: string): string {
    const masking = new Masking(this.#secrets)
    return Buffer.concat([masking.feed(Buffer.from(text)), masking.end()]).toString()
  }

  /** Its output is written as it comes. @throws {BuilderError} unless the program ends with 0 */
  async run(command: readonly string[], options: RunOptions): Promise<void> {
    if (this.#secrets.length === 0) return run(command, options)
    const { promise: ended, resolve } = Promise.withResolvers<string | undefined>()
    // One pipe keeps the order of standard output and standard error.
    const child = spawn('/bin/sh', ['-c', 'exec "$@" 2>&1', 'sh', ...command], {
      ...options,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const masking = new Masking(this.#secrets)
    let heardMs = performance.now()
    let isOpen = true
    child.stdout.on('data', (piece: Buffer) => {
      heardMs = performance.now()
      writeOut(masking.feed(piece))
    })
    child.once('close', () => {
      isOpen = false
    })
    child.once('error', ({ message }) => resolve(message))
    child.once('exit', (code, signal) =>
      resolve(code === 0 ? undefined : (signal ?? `exit code ${code}`)),
    )
    const failure = await ended
    while (isOpen && performance.now() - heardMs < quietMs) await sleep(5)
    writeOut(masking.end())
    if (failure !== undefined)
      throw new BuilderError(`"${this.mask(command.join(' '))}" failed with ${failure}.`)
  }
}

/**
 * Waits until there is room, so that a fast program fills no memory, and nothing is lost at the end of this process. Programs that
 * inherit the output may have changed it so that it does not wait.
 */
export function writeOut(bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fullPauseMs)
    }
  }
}

/** Containers of instances: podman or docker runs one in the foreground; stopped and removed by their names. */
import { execFile } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import type { FileUser } from '../storage/directory-trees.ts'

/** What calls a container runtime: Fairlead for images, and the agent for containers. */
export interface RuntimeCaller {
  /** Path of podman or docker. */
  readonly runtime: string
  /** Complete; without `HOME`, both look up the home of their user. */
  readonly environment: Readonly<Record<string, string>>
  /** Undefined: the user of this process. */
  readonly user: FileUser | undefined
}

export interface ContainerIdentity extends RuntimeCaller {
  readonly name: string
}

interface CallOptions {
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** File that it reads as its standard input, and that its user may not open. */
  readonly input?: string
}

const answerMs = 60_000
const maxAnswerBytes = 16 * 1024 ** 2
const maxErrorLength = 500
/** In the words of Docker and of podman. */
const isNoContainer = /no such container|no container with name/i

/** @returns what it prints @throws {Error} with the last words of its error output */
export async function callRuntime(
  { runtime, environment, user }: RuntimeCaller,
  args: readonly string[],
  { timeoutMs = answerMs, signal, input }: CallOptions = {},
): Promise<string> {
  try {
    const limits = { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: maxAnswerBytes } as const
    const options = {
      ...limits,
      cwd: '/',
      env: environment,
      ...(signal !== undefined && { signal }),
      ...user,
    }
    const called = promisify(execFile)(runtime, args, options)
    const { stdin } = called.child
    // One that reads only a part says so itself.
    if (input !== undefined && stdin !== null)
      pipeline(createReadStream(input), stdin).catch(passOver)
    return (await called).stdout
  } catch (error) {
    signal?.throwIfAborted()
    const { stderr = '', message } = error as Error & { stderr?: string }
    throw new Error(stderr.trim().slice(-maxErrorLength) || message, { cause: error })
  }
}

/** Sends the stop signal of its image. Resolves when it has ended, or the runtime has killed it after `graceMs`. */
export async function stopContainer(container: ContainerIdentity, graceMs: number): Promise<void> {
  const args = ['stop', '-t', String(Math.ceil(graceMs / 1000)), container.name]
  await callRuntime(container, args, { timeoutMs: graceMs + answerMs }).catch(passOver)
}

/** Kills it if it runs. @returns Why the runtime could not remove it: the container may run on */
export async function removeContainer(container: ContainerIdentity): Promise<string | undefined> {
  // Without the first one, podman would ask it to stop, and wait.
  await callRuntime(container, ['kill', container.name]).catch(passOver)
  try {
    await callRuntime(container, ['rm', '--force', '--volumes', container.name])
  } catch (error) {
    const { message, cause } = error as Error
    const isInstalled = (cause as NodeJS.ErrnoException).code !== 'ENOENT'
    if (isInstalled && !isNoContainer.test(message)) return message
  }
  return undefined
}

/** Whether its program has been started, and not ended. */
export async function isRunning(container: ContainerIdentity): Promise<boolean> {
  const args = ['container', 'inspect', '--format', '{{.State.Running}}', container.name]
  return (await callRuntime(container, args).catch(() => '')).trim() === 'true'
}

/** What it has written beside its volumes; 0 while the runtime does not say. */
export async function writtenBytes(container: ContainerIdentity): Promise<number> {
  const args = ['container', 'inspect', '--size', '--format', '{{.SizeRw}}', container.name]
  return Number.parseInt(await callRuntime(container, args).catch(() => ''), 10) || 0
}

/** What is called, or its next start, says why. */
function passOver(): void {}

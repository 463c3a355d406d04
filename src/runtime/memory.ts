/** Memory that V8 and the C library keep: collected and given back when Fairlead says so. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isOn } from './without.ts'

type Collect = (options?: { type: 'major'; flavor: 'last-resort' }) => void

/**
 * Collects garbage once, thoroughly, in the calling thread, which takes some tens of milliseconds. V8 shows the function to new contexts only.
 * Where it does not, V8 collects when it likes, and an idle process keeps the garbage of its start and of the last load.
 */
export function collectGarbage(): void {
  if (!isOn('collection')) return
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('globalThis.gc') as Collect | undefined
  collect?.({ type: 'major', flavor: 'last-resort' })
}

type MallocTrim = (pad: bigint) => unknown

let mallocTrim: MallocTrim | undefined = isOn('malloc-trim') ? undefined : () => {}

/**
 * Gives whole free pages of all threads back to the system, which takes about 0.1 ms per megabyte. Only glibc needs it and has it;
 * does nothing elsewhere, and where Node cannot or may not call it: the process keeps those pages.
 */
export function trimMalloc(): void {
  try {
    mallocTrim ??= loadMallocTrim()
    mallocTrim(0n)
  } catch {
    mallocTrim = () => {}
  }
}

/** @throws {Error} if there is no such function */
function loadMallocTrim(): MallocTrim {
  const ffi = loadQuietly()
  if (ffi === undefined) throw new Error('This Node has no node:ffi')
  return ffi.dlopen(null, { malloc_trim: { arguments: ['uint64'], return: 'int32' } }).functions.malloc_trim
}

/** The module warns that it is experimental, without a code by which users could disable only this warning. */
function loadQuietly(): typeof import('node:ffi') | undefined {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule('node:ffi')
  } finally {
    process.emitWarning = emitWarning
  }
}

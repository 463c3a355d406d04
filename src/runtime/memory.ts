/** Memory that V8 and the C library keep: collected and given back when Fairlead says so. */
import { readFileSync } from 'node:fs'
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
  // Otherwise V8 would not take compiled code any more.
  setFlagsFromString('--no-expose-gc')
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
    mallocTrim ??= findFunction('malloc_trim', ['uint64'])
    mallocTrim(0n)
  } catch {
    mallocTrim = () => {}
  }
}

interface MemoryRange {
  readonly start: bigint
  readonly end: bigint
}

type Advise = (start: bigint, length: bigint, advice: number) => unknown

/** Of `madvise(2)` on Linux: the pages are read from the file again when they are used. */
const dontNeed = 4

let advise: Advise | undefined = isOn('program-pages') ? undefined : () => {}

/** Found once: a program stays where it is. */
let programPages: readonly MemoryRange[] | undefined

/**
 * Unmaps the pages of Node's own program, most of which only the start needs. Those in use come back from the page cache of the system, a
 * microsecond each. Linux only; does nothing elsewhere, and where Node cannot or may not call it: the process keeps those pages.
 */
export function dropProgramPages(): void {
  try {
    advise ??= findFunction('madvise', ['uint64', 'uint64', 'int32'])
    programPages ??= [...findProgramPages()]
    for (const { start, end } of programPages) advise(start, end - start, dontNeed)
  } catch {
    advise = () => {}
  }
}

/** Ranges of the program that are as in its file: read-only, and no page of them was ever written, not even by the loader. */
function* findProgramPages(): Generator<MemoryRange> {
  for (const mapping of readFileSync('/proc/self/smaps', 'utf8').split(/^(?=[\da-f]+-)/m)) {
    const [, start, end, file] = /^([\da-f]+)-([\da-f]+) r-[x-]p \S+ \S+ \S+ +(\/.*)$/m.exec(mapping) ?? []
    if (file !== process.execPath || !/^Anonymous: +0 kB$/m.test(mapping)) continue
    yield { start: BigInt(`0x${start}`), end: BigInt(`0x${end}`) }
  }
}

/** A function of the C library. @throws {Error} if there is none of this name, or Node cannot or may not call it */
function findFunction(name: string, parameters: readonly ('uint64' | 'int32')[]): (...args: (bigint | number)[]) => unknown {
  const found = loadQuietly()?.dlopen(null, { [name]: { arguments: parameters, return: 'int32' } }).functions[name]
  if (found === undefined) throw new Error('This Node has no node:ffi')
  return found
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

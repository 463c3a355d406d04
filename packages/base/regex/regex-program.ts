/** Compiler of a regular expression's tree into a program of instructions. */
import type { CharacterTest } from './character-classes.ts'
import { type RegexAnchor, RegexError, type RegexNode } from './regex-syntax.ts'

export type Instruction =
  | { kind: 'characters'; test: CharacterTest; cost: number }
  | { kind: 'position'; what: RegexAnchor }
  | { kind: 'look'; program: RegexProgram; isNegated: boolean; longest: number | undefined }
  /** Follows both; the first is preferred. */
  | { kind: 'fork'; first: number; second: number }
  | { kind: 'jump'; to: number }
  | { kind: 'save'; slot: number }
  | { kind: 'match' }

export type RegexProgram = readonly Instruction[]

/** Instructions that cost as much as one step of a meter. */
export const instructionsPerStep = 2
const mostParts = 20_000

/** What of a pattern has been emitted, with all repetitions and what it looks ahead to; also what has no instructions. */
interface Parts {
  count: number
}

/** @throws {RegexError} when it would be too large */
export function toRegexProgram(root: RegexNode): { program: RegexProgram; size: number } {
  const parts = { count: 0 }
  const program = programOf(root, parts)
  return { program, size: parts.count }
}

function programOf(root: RegexNode, parts: Parts): RegexProgram {
  const program: Instruction[] = []
  emit({ kind: 'group', inner: root, number: 0 }, program, parts)
  program.push({ kind: 'match' })
  return program
}

function emit(node: RegexNode, program: Instruction[], parts: Parts): void {
  parts.count++
  if (parts.count > mostParts)
    throw new RegexError('unsupported', 'The regular expression is too large.')
  switch (node.kind) {
    case 'characters':
      program.push({ kind: 'characters', test: node.test, cost: node.cost })
      return
    case 'sequence':
      for (const part of node.parts) emit(part, program, parts)
      return
    case 'choice':
      emitChoice(node.options, program, parts)
      return
    case 'repeat':
      emitRepeat(node, program, parts)
      return
    case 'group':
      if (node.number !== undefined) program.push({ kind: 'save', slot: 2 * node.number })
      emit(node.inner, program, parts)
      if (node.number !== undefined) program.push({ kind: 'save', slot: 2 * node.number + 1 })
      return
    case 'look':
      program.push({
        kind: 'look',
        program: programOf(node.inner, parts),
        isNegated: node.isNegated,
        longest: node.longest,
      })
      return
    default:
      program.push({ kind: 'position', what: node.kind })
  }
}

function emitChoice(options: readonly RegexNode[], program: Instruction[], parts: Parts): void {
  const jumps: { kind: 'jump'; to: number }[] = []
  for (const [index, option] of options.entries()) {
    if (index === options.length - 1) emit(option, program, parts)
    else {
      const fork = emitFork(program)
      fork.first = program.length
      emit(option, program, parts)
      const jump = { kind: 'jump' as const, to: 0 }
      program.push(jump)
      jumps.push(jump)
      fork.second = program.length
    }
  }
  for (const jump of jumps) jump.to = program.length
}

function emitRepeat(
  node: Extract<RegexNode, { kind: 'repeat' }>,
  program: Instruction[],
  parts: Parts,
): void {
  for (let count = 0; count < node.least; count++) emit(node.inner, program, parts)
  if (node.most === Infinity) {
    const start = program.length
    const fork = emitFork(program)
    emit(node.inner, program, parts)
    program.push({ kind: 'jump', to: start })
    direct(fork, start + 1, program.length, node.greedy)
    return
  }
  const forks: [fork: Extract<Instruction, { kind: 'fork' }>, inner: number][] = []
  for (let count = node.least; count < node.most; count++) {
    forks.push([emitFork(program), program.length])
    emit(node.inner, program, parts)
  }
  for (const [fork, inner] of forks) direct(fork, inner, program.length, node.greedy)
}

function emitFork(program: Instruction[]): Extract<Instruction, { kind: 'fork' }> {
  const fork = { kind: 'fork' as const, first: 0, second: 0 }
  program.push(fork)
  return fork
}

function direct(
  fork: Extract<Instruction, { kind: 'fork' }>,
  inner: number,
  past: number,
  greedy: boolean,
): void {
  fork.first = greedy ? inner : past
  fork.second = greedy ? past : inner
}

/** Names that users have given, made safe to read: nothing in them can hide, reorder or pretend. */

/** Controls, and characters that change the direction of what follows them; those that join emoji are no danger. */
const hidden = /(?!\u200d)[\p{Cc}\p{Cf}\u2028\u2029]/gu
/** The same without controls, among which are the ends of lines. */
const disguising = /(?!\u200d)[\p{Cf}\u2028\u2029]/gu

/** In one line, with each hidden character as its number. */
export function showHidden(text: string): string {
  // Ends of lines are no attack, and frequent in messages.
  return markHidden(text.trimEnd().replace(/\r?\n/g, ' ↵ '))
}

/** A part of a text. */
export function markHidden(text: string): string {
  return text.replace(hidden, toMark)
}

/** A text of any kind in which a name may stand: nothing in it changes the direction of what follows. */
export function showDisguised(text: string): string {
  return text.replace(disguising, toMark)
}

function toMark(character: string) {
  return `\u2423${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
}

/** Beginning and end, which tell names apart. */
export function cutMiddle(text: string, max = 80): string {
  const characters = [...text]
  if (characters.length <= max) return text
  const end = Math.floor(max / 3)
  return `${characters.slice(0, max - end - 1).join('')}…${characters.slice(-end).join('')}`
}

/** `waitForUpInstances` as people say it. */
export function stepWords(name: string): string {
  const text = name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const stageWords: Readonly<Record<string, string>> = {
  manualJudgment: 'judgment',
  jenkins: 'build',
  runCommand: 'command',
  runJob: 'job',
  runJobManifest: 'job',
  restrictExecutionDuringTimeWindow: 'execution window',
  createServerGroup: 'new server group',
}

/** Reason of a failure, without what the stage says as well: operation, head of a bake's log, end of a job. */
export function toReason(message: string): string {
  return message
    .replace(/^[a-z]+[A-Z][A-Za-z]*: /, '')
    .replace(/^Exception in child pipeline stage \(([^()]*)\): /, '$1: ')
    .replace(/( failed with exit code \d+)\. It ended with exit code \d+,/, '$1,')
    .replace(/^The bake failed: The bake begins\.\nSource: [^\n]*\n/, 'The bake failed: ')
}

/** The type of a stage as people say it: `checkPreconditions` is "check preconditions". */
export function stageWord(type: string): string {
  return stageWords[type] ?? stepWords(type).toLowerCase()
}

/** The name itself, or with the first number that makes it another one. */
export function freeName(
  name: string,
  isTaken: (name: string) => boolean,
  separator = ' ',
): string {
  let free = name
  for (let number = 2; isTaken(free); number++) free = `${name}${separator}${number}`
  return free
}

/** `loadBalancer` as people write it. */
export function toWords(name: string): string {
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** Splits the text of a field whose values are separated by commas. */
export function splitList(text: string): string[] {
  return [...new Set(text.split(',').map((part) => part.trim()))].filter(Boolean)
}

/** Processes of a Procfile. */
import { type DetectedService, DetectionError } from './detected.ts'
import { toExecutable } from './shell.ts'

interface Procfile {
  readonly services: readonly DetectedService[]
  readonly release: string | undefined
}

const line = /^([A-Za-z][\w-]*)\s*:\s*(\S.*)$/

/** @throws {DetectionError} */
export function parseProcfile(text: string): Procfile {
  const processes = new Map<string, string>()
  text.split(/\r?\n/).forEach((each, index) => {
    if (/^\s*(?:#|$)/.test(each)) return
    const [, name, command] = line.exec(each.trim()) ?? []
    if (name === undefined || command === undefined)
      throw new DetectionError(
        `Line ${index + 1} of Procfile is not "name: command".`,
        'Correct it, for example: web: node server.js',
      )
    processes.set(
      name
        .toLowerCase()
        .replaceAll('_', '-')
        .replace(/(?<!-)-+$/, ''),
      toExecutable(command),
    )
  })
  const release = processes.get('release')
  processes.delete('release')
  if (processes.size === 0)
    throw new DetectionError(
      'Procfile has no process.',
      'Add one, for example: web: node server.js',
    )
  const services = [...processes].map(([name, command]) => ({
    name,
    command,
    isWeb: name === 'web',
  }))
  return { services, release }
}

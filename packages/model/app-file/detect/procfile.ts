/** Processes of a Procfile. */
import { names } from '../values.ts'
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
    const service = name
      .toLowerCase()
      .replaceAll('_', '-')
      .replace(/(?<!-)-+$/, '')
    if (processes.has(service) || !names.service.test(service))
      throw new DetectionError(
        `Line ${index + 1} of Procfile names "${name}", which ${processes.has(service) ? 'a line before has, too' : 'is no name of a service'}.`,
        'Choose another name, of at most 30 letters, digits and hyphens.',
      )
    processes.set(service, toExecutable(command))
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

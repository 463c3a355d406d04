/** The program under test: the bundle that `npm test` has built of these sources, which starts faster, or the sources themselves. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { agentProgram } from '../../packages/agent/start-agent.ts'
import { unpackerProgram } from '../../packages/providers/images/unpack-beside.ts'

const sources = resolve(import.meta.dirname, '../..')
const bundle = process.env['TESTED_BUNDLE']

/** The command line. */
export const program =
  bundle === undefined ? resolve(sources, 'bin/fairlead.js') : resolve(bundle, 'dist/fairlead.js')

/** The thread of the embedded back ends. */
export const worker = pathToFileURL(
  bundle === undefined
    ? resolve(sources, 'packages/app/hosting/worker.ts')
    : resolve(bundle, 'dist/worker.js'),
)

/** The processes that gateways and back ends in the process of the test start most often. */
if (bundle !== undefined) {
  agentProgram.file = pathToFileURL(resolve(bundle, 'dist/agent.js'))
  unpackerProgram.file = pathToFileURL(resolve(bundle, 'dist/unpacker.js'))
}

/** The built web console. */
export const consoleDir = pathToFileURL(`${resolve(bundle ?? sources, 'dist/console')}/`)

/** @param name Of a program of the tests' own, as `scripts/test.ts` lists it. */
export function testProgram(name: string): string {
  return bundle === undefined
    ? resolve(sources, 'test', `${name}.ts`)
    : resolve(bundle, 'test', `${name}.js`)
}

/** What every process of the program needs of the environment: the tools, the modules that others have compiled, and time on a busy machine. */
export const sharedEnvironment = {
  PATH: process.env['PATH'],
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
  HTTP_OVERLOAD_MAXEVENTLOOPDELAY: '10m',
}
